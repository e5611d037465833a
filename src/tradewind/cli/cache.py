"""`tradewind cache`: list cached results, explain why a step ran, and prune the cache."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from tradewind.cli.output import Column, field, show, show_plain, when
from tradewind.cli.places import Form, Output
from tradewind.cli.terminal import visible
from tradewind.live.cache.explain import Whose, explained
from tradewind.live.folder import store_of
from tradewind.live.store.open import open_store
from tradewind.live.store.port import Store
from tradewind.live.store.rows import CacheRow
from tradewind.model.units import SECOND, in_seconds, parse_duration, show_duration

cache = typer.Typer(help="List, explain and prune cached results.", no_args_is_help=True)

_COLUMNS = (
    field("step"),
    field("call"),
    field("run"),
    Column("took", lambda row: show_duration(round(row["took"] * SECOND))),
    field("uses", is_number=True),
    Column("used", lambda row: when(row["used"])),
    Column("made", lambda row: when(row["made"]), is_wide=True),
    field("tenant", is_wide=True),
    field("key", is_wide=True),
)
Folder = Annotated[Path, typer.Option(help="Folder of `tradewind run`.")]
At = Annotated[str | None, typer.Option("--store", help="Another store: a file, or postgresql://…")]
Step = Annotated[str | None, typer.Option(help="Only steps whose name starts with this: program/step.")]
Tenant = Annotated[str | None, typer.Option(help="Only entries of this tenant.")]
_FOLDER = Path(".tradewind")


@cache.command("list")
def list_cached(
    step: Step = None,
    tenant: Tenant = None,
    limit: Annotated[
        int, typer.Option("-n", "--limit", min=1, help="Maximum number of entries, most recently used first.")
    ] = 100,
    output: Output = Form.TABLE,
    folder: Folder = _FOLDER,
    store: At = None,
) -> None:
    """List cached results, most recently used first.

    Examples:

    - `tradewind cache list`
    - `tradewind cache list --step reads/align -o json`
    """
    with _opened(folder, store) as opened:
        rows = opened.cached(tenant=tenant, step=step, limit=limit)
    show([_plain(row) for row in rows], _COLUMNS, output)


@cache.command()
def explain(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run of the folder, or `last`.")] = "last",
    call: Annotated[str | None, typer.Argument(metavar="STEP", help="A step; default: all steps of the run.")] = None,
    output: Output = Form.TABLE,
    folder: Folder = _FOLDER,
    store: At = None,
) -> None:
    """Show for each step of a run whether it came from the cache and, if not, what had changed.

    Examples:

    - `tradewind cache explain`
    - `tradewind cache explain 1kq2z3a-17 align[2]`
    """
    with _opened(folder, store) as opened:
        latest = opened.runs(limit=1)
        detail = opened.run(latest[0].id if run == "last" and latest else run)
        if detail is None:
            raise typer.BadParameter(f"there is no run {run!r}")
        whose = Whose(detail.run.id, detail.run.tenant, detail.run.name)
        units = [unit for unit in detail.units if unit.results and (call is None or call in unit.results)]
        told = [each for unit in units for each in explained(whose, unit, detail.attempts, opened)]
        found = [each for each in told if call in (None, each["call"])]
    if not found:
        raise typer.BadParameter(f"the run {run} has no step {call!r} that has succeeded")
    if output in (Form.JSON, Form.YAML):
        show_plain(found, output)
        return
    for each in found:
        typer.echo(visible(f"{each['call']}: {each['text']}"))


@cache.command()
def prune(
    step: Step = None,
    tenant: Tenant = None,
    unused_for: Annotated[str | None, typer.Option(help="Only entries not used for this long, such as 30d.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Remove all entries.")] = False,
    folder: Folder = _FOLDER,
    store: At = None,
) -> None:
    """Remove entries from the cache; the files stay with their runs.

    Examples:

    - `tradewind cache prune --unused-for 30d`
    - `tradewind cache prune --step reads/align`
    """
    if not (step or tenant or unused_for or everything):
        raise typer.BadParameter("choose what to remove: --step, --tenant, --unused-for or --all")
    since = None if unused_for is None else time.time_ns() // 1000 - parse_duration(unused_for)
    with _opened(folder, store) as opened:
        count = opened.prune_cache(tenant=tenant, step=step, unused_since=since)
    typer.echo(f"removed {count} entries")


def _plain(row: CacheRow) -> dict[str, Any]:
    named = row._asdict()
    parts = {name: shown for name, (_, shown) in row.parts.items()}
    times = {name: in_seconds(named[name]) for name in ("made", "used", "took")}
    return {**named, **times, "parts": parts, "files": [path for path, *_ in row.files]}


@contextmanager
def _opened(folder: Path, where: str | None) -> Iterator[Store]:
    own = store_of(folder)
    if where is None and isinstance(own, Path) and not own.exists():
        raise typer.BadParameter(f"there is no store in {folder}; give another --folder, or a --store")
    store = open_store(where or own)
    try:
        yield store
    finally:
        store.close()
