"""`tradewind plan`: what it would take to finish a workflow by a deadline, before anything is spent."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich import box
from rich.console import Console
from rich.table import Table

from tradewind.formats.errors import FormatError
from tradewind.formats.feasible import check_feasible
from tradewind.formats.load import load, load_machines
from tradewind.model.units import MINUTE, in_seconds, in_units, parse_duration, show_duration, show_money
from tradewind.model.workflow import Workflow
from tradewind.pictures.lanes import Lanes, draw_lanes
from tradewind.policies.registry import build
from tradewind.sim.defaults import MACHINES
from tradewind.sim.prospect import Prospect, look_ahead, tightest

LATE = 4


def plan(
    file: Annotated[Path, typer.Argument(help="A workflow (YAML, WfFormat, DAX).")],
    deadline: Annotated[str | None, typer.Option(help="Wanted response time, such as 2h; else the workflow's.")] = None,
    machines: Annotated[Path | None, typer.Option(help="Machine types; default: Small 1, Large 5, 32 each.")] = None,
    policy: Annotated[str, typer.Option(help="What decides; see `tradewind policies`.")] = "scs+",
    interval: Annotated[str, typer.Option(help="How often it decides.")] = "1m",
    json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
    picture: Annotated[Path | None, typer.Option(help="Draw the machines over time: .svg, .png, .pdf.")] = None,
) -> None:
    """Show what it would take to finish a workflow by a deadline: types, windows, machines, finish and cost.

    If it cannot be met, says by how much, and what the soonest end would be and cost; the exit code is then 4.

    Examples:

    - `tradewind plan montage.yaml --deadline 2h --machines machines.yaml`
    - `tradewind plan montage.yaml --deadline 30m --json`
    - `tradewind plan montage.yaml --deadline 2h --picture machines.svg`
    """
    document = load(file)
    workflow = document.content
    if not isinstance(workflow, Workflow):
        raise FormatError(
            document.file, f"holds {document.kind}, not tasks with run times", remedy="try `tradewind simulate`"
        )
    types = load_machines(machines) if machines else MACHINES
    check_feasible(workflow, types, file=document.file, line_of=document.line_of)
    build(policy)  # a wrong name comes to light before any work
    wanted = parse_duration(deadline) if deadline is not None else workflow.deadline
    if wanted is None or wanted <= 0:
        raise typer.BadParameter("give a --deadline above zero; the workflow has none")
    length = parse_duration(interval) or MINUTE
    lanes: list[Lanes] = []

    def draw(state: Any) -> Any:
        lanes.append(Lanes(state))
        return lanes[0].observe

    prospect = look_ahead(workflow, types, wanted, policy, interval=length, sinks=[draw] if picture else [])
    soonest = tightest(workflow, types, policy, interval=length)
    if picture:
        draw_lanes({workflow.name: lanes[0].lanes}, picture)
    if json:
        typer.echo(orjson.dumps(_plain(prospect, soonest), option=orjson.OPT_INDENT_2).decode())
    else:
        _show(workflow.name, prospect, soonest)
    for warning in prospect.warnings:
        typer.echo(f"warning: {warning}", err=True)
    if prospect.slack < 0:
        raise typer.Exit(LATE)


def _plain(prospect: Prospect, soonest: Prospect) -> dict[str, Any]:
    return {
        "deadline_s": in_seconds(prospect.deadline),
        "is_met": prospect.slack >= 0,
        "finish_s": in_seconds(prospect.finish),
        "slack_s": in_seconds(prospect.slack),
        "cost": in_units(prospect.cost),
        "machines": dict(prospect.machines),
        "tightest": {"deadline_s": in_seconds(soonest.finish), "cost": in_units(soonest.cost)},
        "steps": [
            asdict(step) | {name: in_seconds(getattr(step, name)) for name in ("begin", "end", "latest")}
            for step in prospect.steps
        ],
        "warnings": list(prospect.warnings),
    }


def _show(name: str, prospect: Prospect, soonest: Prospect) -> None:
    table = Table(box=box.SIMPLE, pad_edge=False)
    for heading in ("task", "type", "machine", "begins", "ends", "by the latest"):
        table.add_column(heading, justify="left" if heading in ("task", "type") else "right")
    for step in prospect.steps:
        times = (step.begin, step.end, step.latest)
        table.add_row(step.task, step.type, str(step.machine), *map(show_duration, times))
    console = Console()
    console.print(table)
    held = ", ".join(f"{count} {kind}" for kind, count in prospect.machines.items())
    if prospect.slack >= 0:
        typer.echo(
            f"{name}: ends after {show_duration(prospect.finish)}, {show_duration(prospect.slack)} before its deadline,"
            f" for {show_money(prospect.cost)} ({held})"
        )
        typer.echo(f"tightest deadline: {show_duration(soonest.finish)}, for {show_money(soonest.cost)}")
    else:
        typer.echo(
            f"{name}: cannot end within {show_duration(prospect.deadline)}: it would be"
            f" {show_duration(-prospect.slack)} late, for {show_money(prospect.cost)} ({held})"
        )
        typer.echo(
            f"the tightest deadline that can be met is {show_duration(soonest.finish)}, for {show_money(soonest.cost)}"
        )
