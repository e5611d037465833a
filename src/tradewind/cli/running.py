"""Run a workflow for `tradewind run`: load it, run it to its end, and report the result."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from tradewind.cli import codes, giving
from tradewind.cli.terminal import visible
from tradewind.cli.watching import Watching, counted, say
from tradewind.cli.wish import UsageError, Wish
from tradewind.core.log import SinkFor
from tradewind.formats.present import check_present
from tradewind.live.ahead import Ahead
from tradewind.live.engines.keeper import Newborn
from tradewind.live.engines.played import Leases
from tradewind.live.folder import RUNS
from tradewind.live.host import this_host
from tradewind.live.jobs import Document, Job
from tradewind.live.port import Failure
from tradewind.live.session import Result, Session, Settings
from tradewind.model.errors import TradewindError
from tradewind.model.machine import MachineType
from tradewind.model.parameters import bind
from tradewind.model.program import Program
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, SECOND, Duration, parse_duration, parse_money, show_duration, show_money
from tradewind.model.workflow import Workflow
from tradewind.policies.baseline import fixed
from tradewind.policies.compose import roles
from tradewind.policies.protocol import Policy

_EXIT = {
    "done": codes.DONE,
    "nothing": codes.DONE,
    "failed": codes.FAILED,
    "cancelled": codes.FAILED,
    "refused": codes.NEVER,
    "interrupted": codes.INTERRUPTED,
}
FOLDER = Wish().folder
_TAIL = 20
"""Number of last lines shown for a failed step."""


class _HopelessError(TradewindError):
    """Nothing was started, because the run could not succeed."""

    def __init__(self, reason: str, code: int) -> None:
        super().__init__(reason)
        self.code = code


def carry_out(wish: Wish, ahead: Ahead | None = None, keeper: Newborn | None = None) -> int:
    """Run a request and return the exit code. The workflow may already be loading, and a keeper starting."""
    try:
        return _carry_out(wish, ahead, keeper)
    except _HopelessError as error:
        say(f"error: {error}")
        return error.code


def _carry_out(wish: Wish, ahead: Ahead | None, keeper: Newborn | None) -> int:
    types = _machines(wish.machines) if wish.machines else (this_host(),)
    settings = _settings(wish, types)
    document: Document | None = None
    parameters: dict[str, Any] = {}
    if wish.file is not None:
        document = (ahead.take() if ahead is not None else None) or _load(wish, wish.file, types)
        if wish.deadline is not None:
            document = replace(document, deadline=_positive(wish.deadline))
        parameters = _parameters(document, wish.parameters, wish.params_file)
        if isinstance(document, Program):
            check_present(document, parameters, file=str(wish.file))
        if wish.dry_run:
            _show_plan(document, parameters, settings)
            return 0
    _check_budget(settings)
    if isinstance(document, Workflow) and not any(task.command for task in document.tasks):
        say("no task has a command to `run`, so nothing is done; use --replay to wait for the recorded run times")
    with ExitStack() as stack:
        watching = stack.enter_context(Watching())
        sinks: list[SinkFor] = [watching.sink_for]
        if wish.events:
            from tradewind.sim.logfile import log_to  # noqa: PLC0415 - seldom needed

            sinks.append(stack.enter_context(log_to(wish.events)))
        session = Session(settings, sinks, say, keeper)
        try:
            if document is None:
                result = session.retry(wish.retry) if wish.retry else session.resume()
            else:
                result = session.run(document, parameters, keeps_going=wish.keep_going, uses_cache=wish.uses_cache)
        except KeyboardInterrupt:  # a second Ctrl-C: everything was reported at the first
            return codes.INTERRUPTED
    home = wish.file.parent if wish.file is not None else Path()
    return _report(result, watching, wish.folder, home, as_json=wish.json)


def _settings(wish: Wish, types: tuple[MachineType, ...]) -> Settings:
    length = parse_duration(wish.interval) if wish.interval else (MINUTE if wish.budget else SECOND)
    if length <= 0:
        raise UsageError("--interval must be greater than zero")
    tenant = Tenant(
        "default", None if wish.budget is None else parse_money(wish.budget), length if wish.budget else MINUTE
    )
    modules = (str((wish.file.parent if wish.file else Path()).resolve()),)
    return Settings(
        *(wish.folder.resolve(), types, tenant, _policy(wish, types), length, modules),
        leases=_leases(types),
        store=_store(wish.store),
    )


def _store(named: str | None) -> str | None:
    if named is not None and named.startswith("memory:"):
        raise UsageError("--store takes a path or postgresql://HOST/DATABASE: a run in memory cannot be resumed")
    return named


def _leases(types: tuple[MachineType, ...]) -> Mapping[str, Leases]:
    """Return the lease players of machine types with a trace."""
    if not any(type.trace for type in types):
        return {}
    from tradewind.sim.traces.playing import leases_of  # noqa: PLC0415 - seldom needed

    return leases_of(types)


def _policy(wish: Wish, types: tuple[MachineType, ...]) -> Policy:
    given = dict(_split(text) for text in wish.policy_parameters)
    given |= roles(wish.placer, wish.balancer)
    is_one_machine = wish.policy is None and len(types) == 1 and types[0].limit == 1
    if is_one_machine and not given:
        return fixed.OFFER.build(fixed.Parameters(machines=1))
    from tradewind.policies.registry import build  # noqa: PLC0415 - slow

    return build("fixed", {"machines": 1, **given}) if is_one_machine else build(wish.policy or "demand", given)


def _machines(file: Path) -> tuple[MachineType, ...]:
    from tradewind.formats.load import load_machines  # noqa: PLC0415 - slow

    return load_machines(file)


def _load(wish: Wish, file: Path, types: tuple[MachineType, ...]) -> Document:
    from tradewind.formats.load import load  # noqa: I001, PLC0415 - slow
    from tradewind.formats.errors import FormatError  # noqa: PLC0415
    from tradewind.formats.feasible import check_feasible, check_runnable  # noqa: PLC0415

    document = load(file, services=wish.services or None)
    if wish.services and document.format != "steep":
        raise UsageError(f"--services is for workflows of Steep, and {file} is none")
    if wish.replay is not None:
        return _replayed(document.content, types, wish.replay, burns=wish.burns)
    if not isinstance(document.content, Workflow | Program):
        raise UsageError(f"{file} contains {document.kind}, not a workflow")
    check_runnable(document.content, file=document.file, line_of=document.line_of)
    try:
        check_feasible(document.content, types, file=document.file, line_of=document.line_of, only_certain=True)
    except FormatError as error:
        raise _HopelessError(str(error), codes.NEVER) from None
    return document.content


def _replayed(content: object, types: tuple[MachineType, ...], speed: float, *, burns: bool) -> Program:
    from tradewind.live.replay import replayed  # noqa: PLC0415 - seldom needed

    if not isinstance(content, Workflow):
        raise UsageError("--replay takes a workflow with recorded run times, such as a WfFormat trace")
    if without := sum(task.runtime is None for task in content.tasks):
        say(f"warning: {counted(without, 'task')} of {len(content.tasks)} declare no run time, and will take no time")
    return replayed(content, types, speed, burns=burns)


def _positive(deadline: str) -> Duration:
    length = parse_duration(deadline)
    if length <= 0:
        raise UsageError("--deadline must be greater than zero")
    return length


def _parameters(document: Document, given: Sequence[str], file: Path | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if file is not None:
        import yaml  # noqa: PLC0415 - seldom needed

        loaded = yaml.safe_load(file.read_text())
        if not isinstance(loaded, dict):
            raise UsageError(f"{file} does not contain parameters by name")
        found |= loaded
    found |= dict(_split(text) for text in given)
    if isinstance(document, Workflow):
        if found:
            raise UsageError("this workflow takes no parameters")
        return {}
    return dict(bind(document, found, folder=str(Path.cwd())))


def _split(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"{text!r} is not of the form key=value")
    return key, value


def _show_plan(document: Document, parameters: dict[str, Any], settings: Settings) -> None:
    workflow, is_open = Job("dry-run", document, parameters, settings.folder / RUNS).begin()
    for task in workflow.tasks:
        sys.stdout.write(visible(f"{task.id}: {task.requirement}\n"))
    more = ", and more when their results are known" if is_open else ""
    sys.stdout.write(f"{counted(len(workflow.tasks), 'chain')}{more}\n")


def _check_budget(settings: Settings) -> None:
    budget = settings.tenant.budget
    if budget is not None and all(kind.price > budget for kind in settings.machines):
        raise _HopelessError(f"a budget of {show_money(budget)} cannot pay for any machine", codes.BUDGET)


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


def _astray(failure: Failure, home: Path) -> Iterator[str]:
    """Yield files next to the workflow that a command apparently did not find, because it ran in another folder."""
    folder = Path(failure.folder)
    scripts = (*folder.glob("command.sh"), *folder.glob("*/command.sh"))
    words = dict.fromkeys(word for script in scripts for word in script.read_text(errors="replace").split())
    for word in words:
        with suppress(OSError, ValueError):
            if word in failure.report.tail and not Path(word).is_absolute() and (home / word).is_file():
                yield word


def _show_failure(failure: Failure, home: Path) -> None:
    report = failure.report
    say(f"{report.call or failure.chain} failed: {report.reason}", is_bad=True)
    for line in report.tail.rstrip().splitlines()[-_TAIL:]:
        say(f"    {line}")
    for name in _astray(failure, home):
        say(f"    {name} is next to the workflow, but steps run in other folders: make it a parameter of type `file`")
    say(f"    its files are in {failure.folder}")


def _report(result: Result, watching: Watching, folder: Path, home: Path, *, as_json: bool) -> int:
    code = _EXIT[result.status]
    if result.status == "nothing":
        say("there is nothing to resume")
        return code
    from tradewind.core.summary import summarise  # noqa: PLC0415 - not before work has begun

    figures = summarise(watching.meter)
    if code == codes.DONE and result.late > 0:
        code = codes.LATE
    if as_json:
        summary: dict[str, Any] = {
            "run": result.id,
            "status": result.status,
            "exit_code": code,
            "folder": str(folder / RUNS / result.id),
        }
        summary |= {
            "reasons": result.reasons,
            "failed": result.failed,
            "failures": _plain(result),
            "outputs": result.outputs,
        }
        sys.stdout.write(orjson.dumps(summary | {"figures": figures}, option=orjson.OPT_INDENT_2).decode() + "\n")
        return code
    for reason in result.reasons:
        say(f"error: {reason}")
    for failure in result.failures:
        _show_failure(failure, home)
    if more := result.failed - len(result.failures):
        where = "" if folder == FOLDER else f" --folder {folder}"
        say(f"and {more:,} more; `tradewind get {result.id} --tasks{where}` lists them")
    for line in giving.lines(result.outputs):
        sys.stdout.write(f"{visible(line) if sys.stdout.isatty() else line}\n")
    if result.status != "refused" or watching.meter.finished:  # otherwise it was rejected, and has no folder
        say(_words(result, watching, folder, figures["cost_total"]))
    return code


def _words(result: Result, watching: Watching, folder: Path, cost: float) -> str:
    """Describe how a run ended, in one line."""
    meter = watching.meter
    status = f"{result.status} {show_duration(result.late)} after its deadline" if result.late > 0 else result.status
    parts = [counted(meter.finished, "chain")]
    if result.status != "done":
        parts[0] += " done"
    if result.failures:
        parts.append(f"{result.failed:,} failed")
    if watching.recalled:
        parts.append(f"{watching.recalled} from the cache")
    if cost:
        parts.append(f"cost {cost:g}")
    took = f" in {show_duration(meter.end - meter.begin)}" if result.status != "interrupted" else ""
    where = "" if folder == FOLDER else f" --folder {folder}"
    then = {
        "interrupted": f"`tradewind run --resume{where}` resumes it; ",
        "failed": f"`tradewind retry {result.id}{where}` retries the failed tasks; " if result.failures else "",
    }.get(result.status, "")
    return (
        f"{status}: {parts[0]}{took}{''.join(f', {part}' for part in parts[1:])}; {then}see {folder / RUNS / result.id}"
    )
