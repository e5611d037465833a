"""Compare regular, spot and harvest machines, for `tradewind simulate --market`."""

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
from tradewind.sim.timing import Timing
from tradewind.sim.traces.clusters import CLUSTERS

USUAL = "C2"
PRICES = (0.05, 0.02, 0.01)
"""Price of a core per hour: regular, spot, harvested (SlackSched, section 4.4); a test compares with the simulation."""
ROOMY = MachineType("any", slots=64, amounts=amounts(cpus=64, memory=64 << 33))
"""Machine types to check the work against if none are given."""


def report_markets(work: Sequence[Submission], market: str, seed: int, json: Path | None, timing: Timing) -> None:
    """Simulate work on regular, spot and harvest machines, and show cost and time side by side."""
    from tradewind.experiments.slacksched.markets import compare_markets  # noqa: PLC0415  # slow to load

    name, _, cluster = market.partition(":")
    cluster = (cluster or USUAL).upper()
    if name != "harvest":
        raise typer.BadParameter(f"no market is named {name!r}; use harvest, or harvest:C1 to harvest:C8")
    if cluster not in CLUSTERS:
        hint = did_you_mean(cluster, CLUSTERS) or f"use one of {', '.join(CLUSTERS)}"
        raise typer.BadParameter(f"no cluster is named {cluster!r}; {hint}")
    rows = compare_markets(work, cluster, seed, timing)
    warnings = timing.warnings()
    for warning in warnings:
        typer.echo(f"warning: {warning}", err=True)
    regular = rows[0]
    plain: list[dict[str, Any]] = [
        {
            "machines": row.name,
            "cost": row.figures.cost,
            "saved": None if row.figures.unfinished else _saved(row.figures.cost, regular.figures.cost),
            "response_h": row.response if not row.figures.unfinished else None,
            "preempted": row.figures.preemptions,
            "wasted": row.figures.waste,
            "unfinished": row.figures.unfinished,
        }
        for row in rows
    ]
    if json is not None:
        whole = {"cluster": cluster, "seed": seed, "markets": plain, "warnings": warnings}
        text = orjson.dumps(whole, option=orjson.OPT_INDENT_2)
        if str(json) == "-":
            typer.echo(text.decode())
            return
        json.parent.mkdir(parents=True, exist_ok=True)
        json.write_bytes(text + b"\n")
    table = Table(title=f"the same work in each market ({cluster})", box=None, pad_edge=False)
    for heading in ("machines", "cost", "saved", "mean response", "preempted", "work wasted", "unfinished"):
        table.add_column(heading, justify="left" if heading == "machines" else "right", no_wrap=heading == "machines")
    for each in plain:
        table.add_row(
            str(each["machines"]),
            amount(each["cost"]),
            "-" if each["unfinished"] else f"{each['saved']:.0%}",
            "-" if each["unfinished"] else _hours(each["response_h"]),
            str(each["preempted"]),
            f"{each['wasted']:.1%}",
            str(each["unfinished"]),
        )
    console = Console()
    console.print(table)
    console.print(f"\n{_said(plain)}", highlight=False, soft_wrap=True)


def _saved(cost: float, usual: float) -> float:
    return 1 - cost / usual if usual else 0.0


def _hours(length: float) -> str:
    return show_duration(round(length * HOUR))


def _said(rows: Sequence[Mapping[str, Any]]) -> str:
    """Describe the savings in words."""
    finished = [row for row in rows if not row["unfinished"]]
    regular = rows[0]
    if regular not in finished:
        return "The work never finishes on regular machines, so there is nothing to compare with."
    best = min(finished, key=lambda row: row["cost"])
    if best is regular:
        return "Regular machines are best for this work."
    market, _, policy = str(best["machines"]).partition(", ")
    where = f"{market} machines" + (f" under {policy}" if policy else "")
    cost, before = amount(best["cost"]), amount(regular["cost"])
    time, usual = _hours(best["response_h"]), _hours(regular["response_h"])
    return (
        f"On {where} the work would cost {cost} instead of {before} on regular machines,"
        f" {best['saved']:.0%} less, and take {time} instead of {usual} on average.\n"
        f"A core costs {PRICES[0]:g} per hour, as spot {PRICES[1]:g}, harvested {PRICES[2]:g}. Prices and"
        " stability differ between providers: try other clusters and seeds."
    )
