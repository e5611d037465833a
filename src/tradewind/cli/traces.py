"""`tradewind traces`: generate traces of changing capacity, and compare them with published figures."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.table import Table

from tradewind.formats.errors import did_you_mean
from tradewind.model.units import DAY, parse_duration
from tradewind.sim.traces.clusters import BOTTOM, CLUSTERS, CORES, PER_HOUR, PUBLISHED, SIZES, STABILITY, TOP
from tradewind.sim.traces.files import write_steps
from tradewind.sim.traces.servers import make_servers
from tradewind.sim.traces.statistics import Figures, figures

_WARM_UP = DAY
_SPAN = {"C5": (384, 20), "C6": (384, 30), "C7": (384, 60), "C8": (384, 60)}
"""Servers and days needed for stable figures of quiet clusters."""
_USUAL = (256, 15)
_BEYOND = {"C1": 4 * DAY}
"""Length of traces, so that intervals that begin late are complete; a month for other clusters."""


def traces(
    source: Annotated[str, typer.Argument(help="`harvest`: servers of the clusters C1 to C8.", show_default=False)],
    stats: Annotated[bool, typer.Option("--stats", help="Compare with the published figures.")] = False,
    cluster: Annotated[
        list[str] | None, typer.Option("--cluster", "-c", metavar="NAME", help="Name of a cluster; default: all.")
    ] = None,
    servers: Annotated[int | None, typer.Option(min=1, max=100_000, help="Number of servers.")] = None,
    length: Annotated[str | None, typer.Option(help="Length of the trace, such as 2d.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed; the same seed gives the same traces.")] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write free cores as CSV (optionally .gz).")
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Write the figures as JSON; - for standard output.")] = None,
) -> None:
    """Generate traces of free cores on servers, and compare them with published figures.

    Examples:

    - `tradewind traces harvest --stats`
    - `tradewind traces harvest --stats -c C2 -c C8 --seed 7`
    - `tradewind traces harvest -c C2 --servers 64 --length 2d -o c2.csv.gz`
    """
    if source != "harvest":
        raise typer.BadParameter(f"no traces are named {source!r}; use harvest", param_hint="SOURCE")
    names = cluster or list(CLUSTERS)
    for name in names:
        if name not in CLUSTERS:
            hint = did_you_mean(name.upper(), CLUSTERS) or f"use one of {', '.join(CLUSTERS)}"
            raise typer.BadParameter(f"no cluster is named {name!r}; {hint}", param_hint="--cluster")
    if output is not None:
        if len(names) != 1:
            raise typer.BadParameter("--output takes a single --cluster")
        made = make_servers(CLUSTERS[names[0]], servers or 64, parse_duration(length or "2d"), seed)
        write_steps(output, made)
        typer.echo(f"wrote {output}: {len(made)} servers", err=True)
        return
    if not stats:
        raise typer.BadParameter("choose --stats or -o FILE")
    found = {name: _measure(name, servers, length, seed) for name in names}
    plain = {name: asdict(each) for name, each in found.items()}
    if json is not None and str(json) == "-":
        typer.echo(orjson.dumps(plain, option=orjson.OPT_INDENT_2).decode())
        return
    console = Console()
    if not console.is_terminal:
        console.width = 150
    console.print(_table(found))
    if json is not None:
        json.parent.mkdir(parents=True, exist_ok=True)
        json.write_bytes(orjson.dumps(plain, option=orjson.OPT_INDENT_2) + b"\n")
        typer.echo(f"wrote {json}", err=True)


def _measure(name: str, servers: int | None, length: str | None, seed: int) -> Figures:
    count, days = _SPAN.get(name, _USUAL)
    time = parse_duration(length) if length else days * DAY
    begin, end = _WARM_UP, _WARM_UP + time
    made = make_servers(CLUSTERS[name], servers or count, end + _BEYOND.get(name, 31 * DAY), seed)
    return figures(made, begin, end)


def _table(found: dict[str, Figures]) -> Table:
    """Return a table of ours / published; interpolated values are in brackets."""
    table = Table(title="changes of harvest machines: ours / published (interpolated)", box=None, pad_edge=False)
    for heading in (
        "cluster", "within 1 h", "10 min", "1 min", "mean gap, min", "p95, h", "cores per change", "changes/h p50, p90",
        "mean cores (2/4/8)", "top tenth", "bottom tenth +", "stable for 70%",
    ):  # fmt: skip
        table.add_column(heading, overflow="fold")
    for name, ours in found.items():
        known = PUBLISHED[name]
        given = known.is_given
        is_second = name == "C2"
        table.add_row(
            name,
            f"{ours.within[0]:.0%} / {_known(f'{known.within_hour:.0%}', is_given=given[0])}",
            f"{ours.within[1]:.0%}" + (f" / {known.within_10_minutes:.0%}" if known.within_10_minutes else ""),
            f"{ours.within[2]:.0%}" + (f" / {known.within_minute:.0%}" if known.within_minute else ""),
            f"{ours.gap:.0f} / {_known(f'{known.gap:g}', is_given=given[1])}",
            f"{ours.gap_p95:.1f} / {_known(f'{known.gap_p95:g}', is_given=given[2])}",
            f"{ours.size:.1f} / {SIZES[0]}-{SIZES[1]}",
            f"{ours.per_hour[0]:g}, {ours.per_hour[1]:g}" + (f" / {PER_HOUR[0]}, tens" if is_second else ""),
            _three(ours.cores) + (" / " + _three(CORES) if is_second else ""),
            _three(ours.top) + (" / " + _three(TOP) if is_second else ""),
            _three(ours.bottom) + (" / at most " + _three(BOTTOM) if is_second else ""),
            f"{ours.stability:.1f}x" + (f" / {STABILITY}x" if is_second else ""),
        )
    return table


def _known(text: str, *, is_given: bool) -> str:
    return text if is_given else f"({text})"


def _three(values: tuple[float, ...]) -> str:
    return " ".join(f"{value:.0f}" for value in values)
