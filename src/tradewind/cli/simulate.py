"""`tradewind simulate`: compare the cost and duration of work under different policies."""

from collections.abc import Mapping, Sequence
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
from tradewind.cli.summary import print_summary
from tradewind.cli.work import pair, work_of
from tradewind.core.log import SinkFor
from tradewind.core.series import Series
from tradewind.core.state import State
from tradewind.core.why import Cause
from tradewind.formats.errors import FormatError
from tradewind.formats.load import Document, load, load_machines
from tradewind.live.estimates import learned_in
from tradewind.model.machine import MachineType
from tradewind.model.scenario import Arrivals, Given, Scenario
from tradewind.model.tenant import Tenant
from tradewind.model.units import parse_duration, parse_money
from tradewind.pictures.timeline import draw_timeline
from tradewind.policies.compose import roles
from tradewind.policies.registry import build
from tradewind.sim.defaults import MACHINES
from tradewind.sim.logfile import log_to
from tradewind.sim.prospect import NO_TIME, untimed
from tradewind.sim.simulate import Outcome
from tradewind.sim.simulate import simulate as run_scenario
from tradewind.sim.timing import Timing
from tradewind.sim.workload import submissions

_CODES = {Cause.BUDGET: codes.BUDGET, Cause.LIMIT: codes.NEVER, Cause.IMPOSSIBLE: codes.NEVER}
"""Exit codes of a simulation that does not finish, by the cause that blocks the first run."""
_MOST = 10
"""Maximum number of unfinished or failed runs that are listed individually."""


def simulate(
    files: Annotated[list[Path], typer.Argument(help="A scenario, or workflows (YAML, WfFormat, DAX).")],
    policy: Annotated[
        list[str] | None, typer.Option("--policy", "-p", metavar="NAME", help="Policy; repeat to compare several.")
    ] = None,
    parameter: Annotated[
        list[str] | None, typer.Option("-P", metavar="KEY=VALUE", help="Parameter of the policies; repeat for more.")
    ] = None,
    placer: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Use the placer of another policy; parameters: -P placer.KEY=VALUE."),
    ] = None,
    balancer: Annotated[
        str | None, typer.Option(metavar="NAME", help="Balancer of divisible tasks: ruper, static, …")
    ] = None,
    budget: Annotated[str | None, typer.Option(help="Budget of each tenant per interval.")] = None,
    machines: Annotated[Path | None, typer.Option(help="Machine types; default: Small 1, Large 5, 32 each.")] = None,
    interval: Annotated[str | None, typer.Option(help="Time between two decisions, and period of the budget.")] = None,
    every: Annotated[
        str | None, typer.Option(help="Time between submissions of workflow files; default: all at once.")
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Parameter of a workflow with steps; repeat for more."),
    ] = None,
    assume: Annotated[
        list[str] | None,
        typer.Option(metavar="STEP.OUTPUT=JSON", help="Assumed output of a step; repeat for more."),
    ] = None,
    chains: Annotated[bool, typer.Option("--chains", help="Place chains of tasks, as `run` does.")] = False,
    market: Annotated[
        str | None, typer.Option(help="Compare with spot and harvest machines: harvest, or harvest:C5.")
    ] = None,
    folder: Annotated[Path, typer.Option(help="Folder with run times learned from earlier runs.")] = Path(".tradewind"),
    seed: Annotated[int | None, typer.Option(help="Random seed; the same seed gives the same result.")] = None,
    lenient: Annotated[bool, typer.Option("--lenient", help="Read negative times and sizes as zero.")] = False,
    json: Annotated[Path | None, typer.Option(help="Write the metrics as JSON; - for standard output.")] = None,
    events: Annotated[Path | None, typer.Option(help="Write the event log: .jsonl, .jsonl.gz or .parquet.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw machines and spending over time: .svg, .png, .pdf.")] = None,
) -> None:
    """Simulate a scenario or workflows under one or more policies.

    Examples:

    - `tradewind simulate montage.yaml --budget 60`
    - `tradewind simulate montage.yaml -p pfa -p plf -p scf --budget 60`
    - `tradewind simulate align.yaml --param sample=NA12878 --assume split.parts='["a", "b", "c"]'`
    - `tradewind simulate scenario.yaml --seed 7 --json figures.json --plot timeline.svg`
    - `tradewind simulate montage.yaml --market harvest`
    - `tradewind simulate scenario.yaml --policy scs+ --placer slacksched`

    If work never finishes under a policy, the command prints the reason and leaves the policy out of the comparison.
    Exit codes: 0 simulated, 1 failed or never finished, 2 invalid usage, 3 never finished because the budget cannot pay
    for a required machine, 5 no machine can ever run it.
    """
    if market is not None:
        _check_alone({"--machines": machines, "--policy": policy, "-P": parameter, "--budget": budget})
        _check_alone({"--interval": interval, "--events": events, "--plot": plot})
        _check_alone({"--placer": placer, "--balancer": balancer})
    documents = [load(path, lenient=lenient) for path in files]
    if market is not None and any(isinstance(document.content, Scenario) for document in documents):
        raise typer.BadParameter("--market takes workflows, not a scenario: it uses its own machines and policies")
    types = MACHINES if market is None else (ROOMY,)
    base = _scenario(documents, machines, budget, interval, every, seed, param or (), assume or (), types)
    if chains:
        base = replace(base, chains=True)
    timing = Timing(base.machines, learned_in(folder))
    if market is not None:
        report_markets(submissions(base, timing), market, base.seed, json, timing)
        return
    parameters = dict(map(pair, parameter or ())) | roles(placer, balancer)
    wanted = policy or [base.policy]
    if strange := next((name for name in wanted if "=" in name), None):
        raise typer.BadParameter(f"-p selects a policy here; pass workflow parameters with --param {strange}")
    scenarios = [
        replace(base, policy=name, parameters={**(base.parameters if name == base.policy else {}), **parameters})
        for name in wanted
    ]
    for scenario in scenarios:
        build(scenario.policy, scenario.parameters)  # reports wrong names and parameters before doing any work
    if len(scenarios) > 1 and (events or plot):
        raise typer.BadParameter("--events and --plot take a single --policy")
    work = submissions(base, timing)
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
            outcomes.append(run_scenario(scenario, work, sinks, prepare=timing))
        if plot:
            draw_timeline(series[0], plot)
    for note in timing.notes():
        typer.echo(note, err=True)
    _report(outcomes, json, [path for path in (events, plot) if path], [*timing.warnings(), *_in_chains(base, timing)])


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
        raise FormatError(
            documents[0].file, "a scenario must be simulated alone", remedy="give one scenario, or workflows"
        )
    for name, given in {"--param": parameters, "--assume": assumed, "--every": every}.items():
        if found and given:
            raise typer.BadParameter(f"{name} is for workflow files; a scenario defines what it submits, and when")
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
            raise typer.BadParameter("--interval must be greater than zero")
        scenario = replace(
            scenario, interval=length, tenants=tuple(replace(tenant, interval=length) for tenant in scenario.tenants)
        )
    if budget is not None:
        amount = parse_money(budget)
        scenario = replace(scenario, tenants=tuple(_with_budget(tenant, amount) for tenant in scenario.tenants))
    return scenario if seed is None else replace(scenario, seed=seed)


def _check_alone(given: Mapping[str, object]) -> None:
    """Reject options that have no effect when markets are compared."""
    for name, value in given.items():
        if value is not None:
            raise typer.BadParameter(f"--market uses its own machines and policies: leave out {name}")


def _in_chains(scenario: Scenario, timing: Timing) -> list[str]:
    """Return warnings about steps that declare no run time in chains where others do."""
    given = [work for source in scenario.workload if isinstance(source, Given) for work in source.workflows]
    return [
        NO_TIME.format(name) for name in dict.fromkeys(name for work in given for name in untimed(work, timing.names))
    ]


def _with_budget(tenant: Tenant, amount: int) -> Tenant:
    return replace(tenant, budget=amount)


def _report(outcomes: Sequence[Outcome], json: Path | None, written: Sequence[Path], warnings: Sequence[str]) -> None:
    figures = [outcome.figures() | {"warnings": list(warnings)} for outcome in outcomes]
    text = orjson.dumps(figures[0] if len(figures) == 1 else {"runs": figures}, option=orjson.OPT_INDENT_2)
    is_printed = json is not None and str(json) == "-"
    if is_printed:
        typer.echo(text.decode())
    else:
        print_summary(figures, Console())
    if json and not is_printed:
        json.parent.mkdir(parents=True, exist_ok=True)
        json.write_bytes(text + b"\n")
        written = [*written, json]
    for path in written:
        typer.echo(f"wrote {path}", err=True)
    for warning in warnings:
        typer.echo(f"warning: {warning}", err=True)
    if refused := dict.fromkeys(reason for outcome in outcomes for reason in outcome.meter.refused):
        refuse("; ".join(refused), codes.NEVER)
    unfinished = [(outcome.scenario.policy, each) for outcome in outcomes for each in outcome.unfinished]
    failed = [(outcome.scenario.policy, each) for outcome in outcomes for each in outcome.failed]
    for policy, each in [*unfinished[:_MOST], *failed[:_MOST]]:
        typer.echo(f"error: under {policy}, {each}", err=True)
    if unfinished:
        raise typer.Exit(_CODES.get(unfinished[0][1].reason.cause, codes.FAILED))
    if failed:
        raise typer.Exit(codes.FAILED)
