"""`tradewind plan`: plan a workflow for a deadline, before anything is spent."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich import box
from rich.console import Console
from rich.table import Table

from tradewind.cli import codes
from tradewind.cli.output import refuse
from tradewind.cli.progress import following
from tradewind.cli.work import work_of
from tradewind.formats.load import load, load_machines
from tradewind.live.estimates import learned_in
from tradewind.model.scenario import Rehearsal
from tradewind.model.units import (
    Time,
    in_seconds,
    in_units,
    parse_duration,
    show_duration,
    show_money,
)
from tradewind.model.workflow import Workflow
from tradewind.pictures.lanes import Lanes, draw_lanes, few_sorts
from tradewind.policies.registry import build
from tradewind.sim.defaults import MACHINES
from tradewind.sim.prospect import (
    NO_TIME,
    Prospect,
    ProspectError,
    StepProspect,
    Terms,
    look_ahead,
    tightest,
    units_in,
    untimed,
)

FEW = 50
"""Maximum number of chains listed one by one by default."""
_LONGEST = 40
_NARROWEST = 20


def plan(
    file: Annotated[Path, typer.Argument(help="A workflow, or a program with steps (YAML, WfFormat, DAX).")],
    deadline: Annotated[
        str | None, typer.Option(help="Maximum response time, such as 2h; default: the workflow's.")
    ] = None,
    machines: Annotated[Path | None, typer.Option(help="Machine types; default: Small 1, Large 5, 32 each.")] = None,
    policy: Annotated[str, typer.Option(help="Policy; see `tradewind policies`.")] = "scs+",
    interval: Annotated[str, typer.Option(help="Time between two decisions of the policy.")] = "1m",
    param: Annotated[
        list[str] | None,
        typer.Option("-p", "--param", metavar="KEY=VALUE", help="Parameter of a workflow with steps; repeat for more."),
    ] = None,
    assume: Annotated[
        list[str] | None,
        typer.Option(metavar="STEP.OUTPUT=JSON", help="Assumed output of a step; repeat for more."),
    ] = None,
    folder: Annotated[Path, typer.Option(help="Folder with run times learned from earlier runs.")] = Path(".tradewind"),
    every: Annotated[bool, typer.Option("--all", help="List every task instead of groups.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
    picture: Annotated[Path | None, typer.Option(help="Draw machines over time: .svg, .png, .pdf.")] = None,
) -> None:
    """Plan a workflow for a deadline: machine types, windows, finish and cost.

    If the deadline cannot be met, the command shows by how much, and the earliest possible end and its cost; the exit
    code is then 4. If no machine can ever run the workflow, the exit code is 5.

    Examples:

    - `tradewind plan montage.yaml --deadline 2h --machines machines.yaml`
    - `tradewind plan montage.yaml --deadline 30m --json`
    - `tradewind plan montage.yaml --deadline 2h --picture machines.svg`
    - `tradewind plan align.yaml --deadline 2h --param sample=NA12878 --assume split.parts='["a", "b", "c"]'`
    """
    document = load(file)
    types = load_machines(machines) if machines else MACHINES
    work = work_of(document, types, param or (), assume or ())
    source = work if isinstance(work, Workflow) else work.program
    build(policy)  # reports a wrong name before doing any work
    wanted = parse_duration(deadline) if deadline is not None else source.deadline
    if wanted is None or wanted <= 0:
        raise typer.BadParameter("give a --deadline greater than zero; the workflow has none")
    length = parse_duration(interval)
    if length <= 0:
        raise typer.BadParameter("--interval must be greater than zero")
    warnings: list[str] = []
    terms = Terms(types, policy, interval=length, estimates=learned_in(folder, warnings.append))
    lanes: list[Lanes] = []

    def draw(state: Any) -> Any:
        lanes.append(Lanes(state, lambda unit: unit.task.name))
        return lanes[0].observe

    drawn = [draw] if picture else []
    with following(f"planning {source.name}", units_in(work)) as progress:
        try:
            prospect = look_ahead(work, terms, wanted, [progress, *drawn])
        except ProspectError as error:
            refuse(str(error), codes.NEVER)
        soonest = tightest(work, terms, prospect, [progress])
    if prospect.slack < 0 <= soonest.slack and soonest.deadline <= wanted:
        warnings.append(
            f"{policy} would be {show_duration(-prospect.slack)} late with a deadline of {show_duration(wanted)}, but"
            f" not with one of {show_duration(soonest.deadline)}: this is the plan for the latter; run it with"
            f" --deadline {show_duration(soonest.deadline)}"
        )
        lanes.clear()
        prospect = look_ahead(work, terms, soonest.deadline, drawn)
        prospect = replace(prospect, deadline=wanted)
    warnings += [NO_TIME.format(name) for name in untimed(work, (step.name for step in prospect.steps))]
    notes = _notes(work) if isinstance(work, Rehearsal) else []
    if picture:
        draw_lanes({source.name: few_sorts(lanes[0].lanes)}, picture, moments={"deadline": wanted}, prefix="")
    if json:
        plain = _plain(prospect, soonest) | {"assumed": notes, "warnings": warnings}
        typer.echo(orjson.dumps(plain, option=orjson.OPT_INDENT_2).decode())
    else:
        _show(source.name, prospect, soonest, every=every)
        for note in notes:
            typer.echo(f"assumed: {note}", err=True)
    for warning in warnings:
        typer.echo(f"warning: {warning}", err=True)
    if prospect.slack < 0:
        raise typer.Exit(codes.LATE)


def _notes(rehearsal: Rehearsal) -> list[str]:
    """Return the assumptions of a plan for a program, which only a real run can confirm."""
    given = [f"params.{name} = {_short(value)}" for name, value in rehearsal.parameters.items()]
    assumed = [f"{name} = {_short(value)}" for name, value in rehearsal.assumed.items()]
    files = "every output file of a step exists; no other value is known"
    return [*given, *assumed, files, "steps are planned once they can start, as in a real run"]


def _short(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _plain(prospect: Prospect, soonest: Prospect) -> dict[str, Any]:
    return {
        "deadline_s": in_seconds(prospect.deadline),
        "is_met": prospect.slack >= 0,
        "finish_s": in_seconds(prospect.finish),
        "slack_s": in_seconds(prospect.slack),
        "cost": in_units(prospect.cost),
        "machines": dict(prospect.machines),
        "tightest": {"deadline_s": in_seconds(soonest.deadline), "cost": in_units(soonest.cost)},
        "steps": [
            {
                "task": step.tasks[0],
                "tasks": list(step.tasks),
                "name": step.name,
                "type": step.type,
                "machine": step.machine,
                "begin": in_seconds(step.begin),
                "end": in_seconds(step.end),
                "latest": None if step.latest is None else in_seconds(step.latest),
            }
            for step in prospect.steps
        ],
    }


def _show(name: str, prospect: Prospect, soonest: Prospect, *, every: bool) -> None:
    steps = prospect.steps
    is_graph = any(step.latest is not None for step in steps)
    table = _each(steps, is_graph=is_graph) if every or len(steps) <= FEW else _together(steps, is_graph=is_graph)
    Console().print(table)
    held = ", ".join(f"{count} {kind}" for kind, count in prospect.machines.items())
    cost = f"for {show_money(prospect.cost)} ({held})"
    if prospect.slack >= 0:
        typer.echo(
            f"{name}: ends after {show_duration(prospect.finish)}, {show_duration(prospect.slack)} before its deadline,"
            f" {cost}"
        )
        typer.echo(f"tightest deadline: {show_duration(soonest.deadline)}, for {show_money(soonest.cost)}")
    else:
        typer.echo(
            f"{name}: cannot end within {show_duration(prospect.deadline)}: it would be"
            f" {show_duration(-prospect.slack)} late, {cost}"
        )
        met = (
            "the tightest deadline that can be met is" if soonest.slack >= 0 else "no deadline can be met, ending after"
        )
        length = soonest.deadline if soonest.slack >= 0 else soonest.finish
        typer.echo(f"{met} {show_duration(length)}, for {show_money(soonest.cost)}")


def _each(steps: Sequence[StepProspect], *, is_graph: bool) -> Table:
    """Return a table with one row per chain of tasks."""
    table = _table(("task", "type"), ("machine", "begins", "ends"), is_graph=is_graph)
    for step in steps:
        chain = f"{step.tasks[0]} ({_spaced(step.name)})" if _is_folded(step) else "\n".join(step.tasks)
        row = [chain, step.type, str(step.machine + 1), show_duration(step.begin), show_duration(step.end)]
        table.add_row(*row, *([_moment(step.latest)] if is_graph else []))
    return table


def _together(steps: Sequence[StepProspect], *, is_graph: bool) -> Table:
    """Return a table with one row for all chains of the same name on the same type."""
    table = _table(("step", "type"), ("tasks", "machines", "begins", "ends"), is_graph=is_graph)
    groups: dict[tuple[str, str], list[StepProspect]] = {}
    for step in steps:
        groups.setdefault((step.name, step.type), []).append(step)
    for (name, kind), group in groups.items():
        machines = len({step.machine for step in group})
        first, last = min(step.begin for step in group), max(step.end for step in group)
        row = [_spaced(name), kind, f"{len(group):,}", f"{machines:,}", show_duration(first), show_duration(last)]
        latest = [step.latest for step in group if step.latest is not None]
        table.add_row(*row, *([_moment(min(latest, default=None))] if is_graph else []))
    return table


def _table(words: Sequence[str], numbers: Sequence[str], *, is_graph: bool) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    for heading in words:
        table.add_column(heading, overflow="fold", min_width=_NARROWEST if heading != "type" else None)
    for heading in (*numbers, *(("latest",) if is_graph else ())):
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _is_folded(step: StepProspect) -> bool:
    """Return whether a chain is described only by its name, as in programs."""
    return len(step.tasks) == 1 and "+" in step.name


def _spaced(name: str) -> str:
    """Return the name of a chain with spaces, so that it can be wrapped."""
    return name.replace("+", " + ")


def _moment(time: Time | None) -> str:
    if time is None:
        return ""
    return show_duration(time) if time >= 0 else "too late"
