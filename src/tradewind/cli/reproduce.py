"""`tradewind reproduce`: reproduce a paper's experiments and check its claims."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tradewind.experiments.claims import print_report, write_report
from tradewind.experiments.papers import LIVE, PAPERS
from tradewind.experiments.request import Progress as Report
from tradewind.experiments.request import Request
from tradewind.formats.errors import did_you_mean

_WIDTH = 150
"""Width of the output if it goes to a file or another program."""


def reproduce(
    paper: Annotated[str, typer.Argument(help=f"Paper to reproduce: {', '.join(PAPERS)}.", show_default=False)],
    quick: Annotated[bool, typer.Option("--quick", help="Run less, in under a minute; results are noisier.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Random seed; the same seed gives the same results.")] = 0,
    json: Annotated[
        Path | None,
        typer.Option(help="Write the claims to this file; - for standard output; default: OUT/claims.json."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for figures.", show_default="out/PAPER")] = None,
    no_live: Annotated[bool, typer.Option("--no-live", help="Simulate only; start no real processes.")] = False,
    live_only: Annotated[
        bool, typer.Option("--live-only", help=f"Run only the part with real processes: {', '.join(sorted(LIVE))}.")
    ] = False,
) -> None:
    """Reproduce a paper's experiments and check its claims.

    For each claim, the command prints the paper's figure, ours, and whether the claim holds. A claim that does not hold
    is a finding, not an error: the exit code is 0.

    Examples:

    - `tradewind reproduce pfa --quick`
    - `tradewind reproduce pfa --seed 7 --out out/pfa-7`
    - `tradewind reproduce pfa --json - | jq '.claims[] | {id, holds}'`
    - `tradewind reproduce steep --live-only`
    """
    if paper not in PAPERS:
        hint = did_you_mean(paper.lower(), PAPERS) or f"use one of {', '.join(PAPERS)}"
        raise typer.BadParameter(f"no paper is named {paper!r}; {hint}", param_hint="PAPER")
    if live_only and (no_live or paper not in LIVE):
        raise typer.BadParameter("nothing is left to run", param_hint="--live-only")
    folder = out or Path("out") / paper
    folder.mkdir(parents=True, exist_ok=True)  # reports a folder that cannot be created before doing any work
    with _progress(paper) as progress:
        found = PAPERS[paper](Request(folder, seed, quick, progress, is_simulated=not live_only, is_live=not no_live))
    to_screen = json is not None and str(json) == "-"
    console = Console(stderr=to_screen)
    if not console.is_terminal:
        console.width = _WIDTH
    print_report(found.report, console)
    if to_screen:
        typer.echo(orjson.dumps(found.report.plain(), option=orjson.OPT_INDENT_2).decode())
    else:
        file = json or folder / "claims.json"
        write_report(found.report, file)
        typer.echo(f"wrote {file}", err=True)
    if found.pictures:
        typer.echo(f"wrote {len(found.pictures)} figures to {folder}", err=True)


@contextmanager
def _progress(title: str) -> Iterator[Report]:
    """Show a progress bar on the error stream, if that is a terminal."""
    console = Console(stderr=True)
    columns = (
        TextColumn(title),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda done, total, label: bar.update(task, completed=done, total=total, description=label)
