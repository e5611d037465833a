"""What spot and harvest machines would save, for `tradewind simulate --market`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import typer
from rich.console import Console
from rich.table import Table

from tradewind.cli.summary import amount
from tradewind.formats.errors import did_you_mean
from tradewind.model.machine import MachineType
from tradewind.model.requirement import amounts
from tradewind.model.scenario import Submission
from tradewind.model.units import HOUR, show_duration
from tradewind.sim.traces.clusters import CLUSTERS

USUAL = "C2"
PRICES = (0.05, 0.02, 0.01)
"""Of a core for an hour: regular, spot, harvested (SlackSched, section 4.4); a test compares with what is simulated."""
ROOMY = MachineType("any", slots=64, amounts=amounts(cpus=64, memory=64 << 33))
"""What work is checked against where no machine types are given."""


def report_markets(work: Sequence[Submission], market: str, seed: int, json: Path | None) -> None:
    """Simulate work on regular, spot and harvest machines, and show cost and time side by side."""
    from tradewind.experiments.slacksched.markets import compare_markets  # noqa: PLC0415  # slow to load

    name, _, cluster = market.partition(":")
    cluster = (cluster or USUAL).upper()
    if name != "harvest":
        raise typer.BadParameter(f"no market is named {name!r}; use harvest, or harvest:C1 to harvest:C8")
    if cluster not in CLUSTERS:
        hint = did_you_mean(cluster, CLUSTERS) or f"use one of {', '.join(CLUSTERS)}"
        raise typer.BadParameter(f"no cluster is named {cluster!r}; {hint}")
    if not any(task.runtime or task.runtimes for each in work for task in each.workflow.tasks):
        raise typer.BadParameter("no task says how long it runs, so there is nothing to compare; give each a runtime")
    rows = compare_markets(work, cluster, seed)
    regular = rows[0]
    plain: list[dict[str, Any]] = [
        {
            "machines": row.name,
            "cost": row.figures.cost,
            "saved": 1 - row.figures.cost / regular.figures.cost if regular.figures.cost else 0.0,
            "response_h": row.response,
            "preempted": row.figures.preemptions,
            "wasted": row.figures.waste,
            "unfinished": row.figures.unfinished,
        }
        for row in rows
    ]
    if json is not None:
        text = orjson.dumps({"cluster": cluster, "seed": seed, "markets": plain}, option=orjson.OPT_INDENT_2)
        if str(json) == "-":
            typer.echo(text.decode())
            return
        json.parent.mkdir(parents=True, exist_ok=True)
        json.write_bytes(text + b"\n")
    table = Table(title=f"the same work on machines of each market ({cluster})", box=None, pad_edge=False)
    for heading in ("machines", "cost", "saved", "mean response", "preempted", "work wasted", "unfinished"):
        table.add_column(heading, justify="left" if heading == "machines" else "right", no_wrap=heading == "machines")
    for each in plain:
        table.add_row(
            str(each["machines"]),
            amount(each["cost"]),
            f"{each['saved']:.0%}",
            _hours(each["response_h"]),
            str(each["preempted"]),
            f"{each['wasted']:.1%}",
            str(each["unfinished"]),
        )
    console = Console()
    console.print(table)
    console.print(f"\n{_said(plain)}", highlight=False, soft_wrap=True)


def _hours(length: float) -> str:
    return show_duration(round(length * HOUR))


def _said(rows: Sequence[Mapping[str, Any]]) -> str:
    """What is saved, in words."""
    regular, best = rows[0], min(rows, key=lambda row: (row["unfinished"], row["cost"]))
    if best is regular:
        return "Regular machines are the best for this work."
    market, _, policy = str(best["machines"]).partition(", ")
    where = f"{market} machines" + (f" under {policy}" if policy else "")
    cost, before = amount(best["cost"]), amount(regular["cost"])
    time, usual = _hours(best["response_h"]), _hours(regular["response_h"])
    return (
        f"On {where} the work would cost {cost} instead of {before} on regular machines,"
        f" {best['saved']:.0%} less, and take {time} instead of {usual} on average.\n"
        f"A core costs {PRICES[0]:g} an hour, as spot {PRICES[1]:g}, harvested {PRICES[2]:g}. Prices and"
        " how restless machines are differ between providers: try other clusters and seeds."
    )
