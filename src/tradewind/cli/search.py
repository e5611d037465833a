"""`tradewind search`: find runs and tasks."""

from typing import Annotated

import typer

from tradewind.cli.listing import RUNS, TASKS
from tradewind.cli.output import field, show, show_plain
from tradewind.cli.places import Folder, Form, Here, Output, Profile, Server, look
from tradewind.client.open import opened


def search(
    query: Annotated[list[str], typer.Argument(help="Words, and fields such as status:failed.")],
    among: Annotated[str, typer.Option("--in", help="Search runs, tasks or all.")] = "all",
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, help="Maximum number of results of each kind.")] = 20,
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
    here: Here = False,
) -> None:
    """Find runs and tasks.

    All words must match; `-word` excludes matches. Fields: `is:run` or `is:task`, `status:failed`, `name:align`,
    `error:memory`, `capability:gpu`, `run:ID`, `tenant:lab`, `start:>=2026-01-31` or `start:>=-2h`, `end:<...`.

    Examples:

    - `tradewind search align status:failed`
    - `tradewind search 'error:"out of memory"' start:>=-1d --in tasks`
    - `tradewind search -- align -test`
    """
    with opened(look(server, profile, folder, here=here)) as backend:
        found = backend.search(" ".join(query), among=among, limit=limit)
    if output in (Form.JSON, Form.YAML):
        show_plain(found, output)
        return
    counts = found["counts"]
    about = "" if counts.get("exact", True) else "about "
    if found["runs"] or among == "runs":
        show(found["runs"], RUNS, output)
    if found["tasks"]:
        if found["runs"]:
            typer.echo("")
        show(found["tasks"], (field("run"), field("run_name", "of"), *TASKS), output)
    typer.echo(f"found {about}{counts['runs']:,} runs and {about}{counts['tasks']:,} tasks", err=True)
