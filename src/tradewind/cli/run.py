"""`tradewind run`: run a workflow for real, on this host."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
import yaml
from rich.console import Console

from tradewind.cli.watching import Watching
from tradewind.core.log import SinkFor
from tradewind.core.summary import summarise
from tradewind.formats.feasible import check_feasible
from tradewind.formats.load import load, load_machines
from tradewind.live.driver import Failure
from tradewind.live.host import this_host
from tradewind.live.jobs import Document, Job
from tradewind.live.session import RUNS, Result, Session, Settings
from tradewind.model.errors import TradewindError
from tradewind.model.machine import MachineType
from tradewind.model.parameters import bind
from tradewind.model.program import Program
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, SECOND, parse_duration, parse_money, show_duration, show_money
from tradewind.model.workflow import Workflow
from tradewind.policies.registry import build
from tradewind.sim.logfile import log_to

_EXIT = {"done": 0, "nothing": 0, "failed": 1, "cancelled": 1, "refused": 5, "interrupted": 130}
_BUDGET, _LATE = 3, 4
_TAIL = 20
"""How many of the last lines of a failed step are shown."""


def run(
    file: Annotated[Path | None, typer.Argument(help="A workflow that does real work.")] = None,
    parameter: Annotated[list[str] | None, typer.Option("-p", help="Parameter of the workflow as key=value.")] = None,
    params_file: Annotated[Path | None, typer.Option(help="Parameters from a YAML or JSON file.")] = None,
    machines: Annotated[
        Path | None, typer.Option(help="Machine types to play; default: this host, used fully.")
    ] = None,
    policy: Annotated[str | None, typer.Option(help="What decides; see `tradewind policies`.")] = None,
    policy_parameter: Annotated[list[str] | None, typer.Option("-P", help="Policy parameter as key=value.")] = None,
    budget: Annotated[str | None, typer.Option(help="What may be spent per interval.")] = None,
    interval: Annotated[str | None, typer.Option(help="How often to decide; what the budget is for.")] = None,
    folder: Annotated[Path, typer.Option(help="Where results and the store are kept.")] = Path(".tradewind"),
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what was interrupted.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would run first, and run nothing.")] = False,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Go on with what does not depend on a failure.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
    events: Annotated[Path | None, typer.Option(help="Write the event log: .jsonl, .jsonl.gz or .parquet.")] = None,
) -> None:
    """Run a workflow on this host, durably; what was interrupted in any way can be resumed.

    Examples:

    - `tradewind run align.yaml -p sample=NA12878`
    - `tradewind run align.yaml --machines machines.yaml --policy pfa --budget 2 --interval 1m`
    - `tradewind run --resume`

    Exit codes: 0 done, 1 a task failed, 2 wrong use, 3 the budget pays for no machine, 4 deadline missed,
    5 no machine can ever run it, 130 interrupted.
    """
    if (file is None) != resume:
        raise typer.BadParameter("give a workflow, or --resume")
    types = load_machines(machines) if machines else (this_host(),)
    settings = _settings(types, folder, policy, policy_parameter, budget, interval, file)
    console = Console(stderr=True, highlight=False)
    document: Document | None = None
    parameters: dict[str, Any] = {}
    if file is not None:
        document = _load(file, types)
        parameters = _parameters(document, parameter or [], params_file)
        if dry_run:
            _show_plan(document, parameters, settings)
            return
    _check_budget(settings, console)
    with ExitStack() as stack:
        watching = stack.enter_context(Watching(console))
        sinks: list[SinkFor] = [watching.sink_for]
        if events:
            sinks.append(stack.enter_context(log_to(events)))
        session = Session(settings, sinks, lambda text: console.print(text, markup=False))
        result = session.resume() if document is None else session.run(document, parameters, keeps_going=keep_going)
    code = _report(result, watching, folder, console, as_json=json)
    raise typer.Exit(code)


def _settings(
    types: tuple[MachineType, ...],
    folder: Path,
    policy: str | None,
    policy_parameters: list[str] | None,
    budget: str | None,
    interval: str | None,
    file: Path | None,
) -> Settings:
    given = dict(_split(text) for text in policy_parameters or ())
    name = policy or ("fixed" if len(types) == 1 and types[0].limit == 1 else "demand")
    if name == "fixed" and policy is None:
        given = {"machines": "1"}
    length = parse_duration(interval) if interval else (MINUTE if budget else SECOND)
    if length <= 0:
        raise typer.BadParameter("--interval must be above zero")
    tenant = Tenant("default", None if budget is None else parse_money(budget), length if budget else MINUTE)
    modules = (str((file.parent if file else Path()).resolve()),)
    return Settings(folder.resolve(), types, tenant, build(name, given), length, modules)


def _load(file: Path, types: tuple[MachineType, ...]) -> Document:
    document = load(file)
    if isinstance(document.content, Workflow):
        try:
            check_feasible(document.content, types, file=document.file, line_of=document.line_of)
        except TradewindError as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(5) from None
        return document.content
    if isinstance(document.content, Program):
        return document.content
    raise typer.BadParameter(f"{file} holds {document.kind}, not a workflow")


def _parameters(document: Document, given: list[str], file: Path | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if file is not None:
        loaded = yaml.safe_load(file.read_text())
        if not isinstance(loaded, dict):
            raise typer.BadParameter(f"{file} does not hold parameters by name")
        found |= loaded
    found |= dict(_split(text) for text in given)
    if isinstance(document, Workflow):
        if found:
            raise typer.BadParameter("this workflow takes no parameters")
        return {}
    return dict(bind(document, found))


def _split(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise typer.BadParameter(f"{text!r} is not of the form key=value")
    return key, value


def _show_plan(document: Document, parameters: dict[str, Any], settings: Settings) -> None:
    workflow, is_open = Job("dry-run", document, parameters, settings.folder / RUNS).begin()
    for task in workflow.tasks:
        typer.echo(f"{task.id}: {task.requirement}")
    typer.echo(f"{len(workflow.tasks)} chains{', and more once their results are known' if is_open else ''}")


def _check_budget(settings: Settings, console: Console) -> None:
    budget = settings.tenant.budget
    if budget is not None and all(kind.price > budget for kind in settings.machines):
        console.print(f"error: a budget of {show_money(budget)} pays for no machine", markup=False)
        raise typer.Exit(_BUDGET)


def _plain(result: Result) -> list[dict[str, Any]]:
    return [
        {
            "chain": f.chain,
            "call": f.report.call,
            "cause": f.report.cause,
            "reason": f.report.reason,
            "folder": f.folder,
        }
        for f in result.failures
    ]


def _show_failure(failure: Failure, console: Console) -> None:
    report = failure.report
    console.print(f"{report.call or failure.chain} failed: {report.reason}", style="red", markup=False)
    for line in report.tail.rstrip().splitlines()[-_TAIL:]:
        console.print(f"    {line}", markup=False)
    console.print(f"    its files are in {failure.folder}", markup=False)


def _report(result: Result, watching: Watching, folder: Path, console: Console, *, as_json: bool) -> int:
    code = _EXIT[result.status]
    if result.status == "nothing":
        console.print("there is nothing to go on with")
        return code
    figures = summarise(watching.meter)
    if code == 0 and figures["deadline_misses"]:
        code = _LATE
    if as_json:
        summary = {
            "run": result.id,
            "status": result.status,
            "exit_code": code,
            "folder": str(folder / RUNS / result.id),
        }
        typer.echo(
            orjson.dumps(
                summary | {"reasons": result.reasons, "failures": _plain(result), "figures": figures},
                option=orjson.OPT_INDENT_2,
            )
        )
        return code
    for reason in result.reasons:
        console.print(f"error: {reason}", markup=False)
    for failure in result.failures:
        _show_failure(failure, console)
    meter = watching.meter
    took = meter.end - meter.begin
    cost = figures["cost_total"]
    console.print(
        f"{result.status}: {meter.finished} chains in {show_duration(took)}"
        + (f", cost {cost:g}" if cost else "")
        + f"; see {folder / RUNS / result.id}",
        markup=False,
    )
    return code
