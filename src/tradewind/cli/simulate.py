"""`tradewind simulate`: what would it cost, and how long would it take, under each policy."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console

from tradewind.cli import codes
from tradewind.cli.markets import ROOMY, report_markets
from tradewind.cli.output import refuse
from tradewind.cli.progress import following
from tradewind.cli.summary import summary_table
from tradewind.cli.work import pair, work_of
from tradewind.core.log import SinkFor
from tradewind.core.series import Series
from tradewind.core.state import State
from tradewind.formats.errors import FormatError
from tradewind.formats.load import Document, load, load_machines
from tradewind.model.machine import MachineType
from tradewind.model.scenario import Arrivals, Given, Scenario
from tradewind.model.tenant import Tenant
from tradewind.model.units import parse_duration, parse_money
from tradewind.pictures.timeline import draw_timeline
from tradewind.policies.registry import build
from tradewind.sim.defaults import MACHINES
from tradewind.sim.logfile import log_to
from tradewind.sim.simulate import Outcome
from tradewind.sim.simulate import simulate as run_scenario
from tradewind.sim.workload import submissions


def simulate(
    files: Annotated[list[Path], typer.Argument(help="A scenario, or workflows (YAML, WfFormat, DAX).")],
    policy: Annotated[
        list[str] | None, typer.Option("--policy", "-p", metavar="NAME", help="Policy; repeat to compare.")
    ] = None,
    parameter: Annotated[
        list[str] | None, typer.Option("-P", metavar="KEY=VALUE", help="Parameter of the policies; repeat for more.")
    ] = None,
    budget: Annotated[str | None, typer.Option(help="Budget per interval, for each tenant.")] = None,
    machines: Annotated[Path | None, typer.Option(help="Machine types; default: Small 1, Large 5, 32 each.")] = None,
    interval: Annotated[str | None, typer.Option(help="How often to decide, and what the budget is for.")] = None,
    every: Annotated[str | None, typer.Option(help="Submit workflow files so far apart; default: at once.")] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Parameter of a workflow with steps; repeat for more."),
    ] = None,
    assume: Annotated[
        list[str] | None,
        typer.Option(metavar="STEP.OUTPUT=JSON", help="What a step will leave behind; repeat for more."),
    ] = None,
    chains: Annotated[bool, typer.Option("--chains", help="Place chains of tasks, as `run` does.")] = False,
    market: Annotated[
        str | None, typer.Option(help="`harvest`: what spot and harvest machines would save; or harvest:C5.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Same seed, same result.")] = None,
    lenient: Annotated[bool, typer.Option("--lenient", help="Take negative times and sizes for zero.")] = False,
    json: Annotated[Path | None, typer.Option(help="Write the figures as JSON; - for standard output.")] = None,
    events: Annotated[Path | None, typer.Option(help="Write the event log: .jsonl, .jsonl.gz or .parquet.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw machines and money over time: .svg, .png, .pdf.")] = None,
) -> None:
    """Simulate a scenario or workflows under one or more policies.

    Examples:

    - `tradewind simulate montage.yaml --budget 60`
    - `tradewind simulate montage.yaml -p pfa -p plf -p scf --budget 60`
    - `tradewind simulate align.yaml --param sample=NA12878 --assume split.parts='["a", "b", "c"]'`
    - `tradewind simulate scenario.yaml --seed 7 --json figures.json --plot timeline.svg`
    - `tradewind simulate montage.yaml --market harvest`

    Exit codes: 0 simulated, 2 wrong use, 5 no machine can ever run it.
    """
    documents = [load(path, lenient=lenient) for path in files]
    types = MACHINES if market is None else (ROOMY,)
    base = _scenario(documents, machines, budget, interval, every, seed, param or (), assume or (), types)
    if chains:
        base = replace(base, chains=True)
    if market is not None:
        report_markets(submissions(base), market, base.seed, json)
        return
    parameters = dict(map(pair, parameter or ()))
    wanted = policy or [base.policy]
    if strange := next((name for name in wanted if "=" in name), None):
        raise typer.BadParameter(f"-p names a policy here; parameters of a workflow go with --param {strange}")
    scenarios = [
        replace(base, policy=name, parameters={**(base.parameters if name == base.policy else {}), **parameters})
        for name in wanted
    ]
    for scenario in scenarios:
        build(scenario.policy, scenario.parameters)  # wrong names and parameters come to light before any work
    if len(scenarios) > 1 and (events or plot):
        raise typer.BadParameter("--events and --plot take a single --policy")
    work = submissions(base)
    total = sum(len(submission.workflow.tasks) for submission in work)
    outcomes = []
    for scenario in scenarios:
        series: list[Series] = []

        def follow(state: State, series: list[Series] = series) -> Any:
            series.append(Series(state))
            return series[0].observe

        with ExitStack() as stack:
            sinks: list[SinkFor] = [stack.enter_context(following(f"simulating {scenario.policy}", total))]
            if events:
                sinks.append(stack.enter_context(log_to(events)))
            if plot:
                sinks.append(follow)
            outcomes.append(run_scenario(scenario, work, sinks))
        if plot:
            draw_timeline(series[0], plot)
    _report(outcomes, json, [path for path in (events, plot) if path])


def _scenario(
    documents: Sequence[Document],
    machines: Path | None,
    budget: str | None,
    interval: str | None,
    every: str | None,
    seed: int | None,
    parameters: Sequence[str],
    assumed: Sequence[str],
    types: tuple[MachineType, ...] = MACHINES,
) -> Scenario:
    found = [document.content for document in documents if isinstance(document.content, Scenario)]
    if found and len(documents) > 1:
        raise FormatError(documents[0].file, "a scenario is simulated alone", remedy="give one scenario, or workflows")
    scenario = found[0] if found else Scenario((), types, policy="pfa" if budget else "demand")
    if machines:
        scenario = replace(scenario, machines=load_machines(machines))
    if not found:
        workflows = [work_of(document, scenario.machines, parameters, assumed) for document in documents]
        arrivals = Arrivals("stable", {"every": every}) if every else Arrivals()
        scenario = replace(scenario, workload=(Given(tuple(workflows), arrivals),))
    if interval:
        length = parse_duration(interval)
        if length <= 0:
            raise typer.BadParameter("--interval must be above zero")
        scenario = replace(
            scenario, interval=length, tenants=tuple(replace(tenant, interval=length) for tenant in scenario.tenants)
        )
    if budget is not None:
        amount = parse_money(budget)
        scenario = replace(scenario, tenants=tuple(_with_budget(tenant, amount) for tenant in scenario.tenants))
    return scenario if seed is None else replace(scenario, seed=seed)


def _with_budget(tenant: Tenant, amount: int) -> Tenant:
    return replace(tenant, budget=amount)


def _report(outcomes: Sequence[Outcome], json: Path | None, written: Sequence[Path]) -> None:
    figures = [outcome.figures() for outcome in outcomes]
    text = orjson.dumps(figures[0] if len(figures) == 1 else {"runs": figures}, option=orjson.OPT_INDENT_2)
    is_printed = json is not None and str(json) == "-"
    if is_printed:
        typer.echo(text.decode())
    else:
        Console().print(summary_table(figures))
    if json and not is_printed:
        json.parent.mkdir(parents=True, exist_ok=True)
        json.write_bytes(text + b"\n")
        written = [*written, json]
    for path in written:
        typer.echo(f"wrote {path}", err=True)
    if refused := dict.fromkeys(reason for outcome in outcomes for reason in outcome.meter.refused):
        refuse("; ".join(refused), codes.NEVER)
