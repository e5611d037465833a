"""`tradewind cancel`, `retry`, `suspend`, `resume`, `priority` and `deadline`: have a say in a run on its way."""

from pathlib import Path
from typing import Annotated

import typer

from tradewind.cli.listing import RUNS
from tradewind.cli.output import Plain, show, show_one
from tradewind.cli.places import Folder, Form, Output, Profile, RunId, Server
from tradewind.client.open import FOLDER, Where, address, opened


def _told(run: Plain, output: Form) -> None:
    if output in (Form.JSON, Form.YAML):
        show_one(run, output)
    else:
        show([run], RUNS, output)


def cancel(
    run: RunId,
    force: Annotated[bool, typer.Option("--force", help="Kill what runs at once, not after a grace.")] = False,
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
) -> None:
    """Cancel a run: what runs is stopped, what waits is dropped.

    Examples:

    - `tradewind cancel 1kq2z3a-17`
    - `tradewind cancel last --force`
    """
    with opened(Where(server, profile, folder)) as backend:
        _told(backend.cancel(run, force=force), output)


def retry(
    run: RunId,
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
) -> None:
    """Try again what failed of a run, and what waited for it; what was done stays done.

    Without a server it is run here and now, on this host, like `tradewind run`, with the same exit codes.

    Examples:

    - `tradewind retry 1kq2z3a-17`
    - `tradewind retry last`
    """
    where = Where(server, profile, folder)
    if address(where) is None:
        raise typer.Exit(_retry_here(run, folder or FOLDER))
    with opened(where) as backend:
        _told(backend.retry(run), output)


def _retry_here(run: str, folder: Path) -> int:
    from tradewind.cli.running import carry_out  # noqa: PLC0415 - slow
    from tradewind.cli.wish import Wish  # noqa: PLC0415
    from tradewind.client.embedded import reading  # noqa: PLC0415

    with reading(folder) as backend:
        found = backend.run(run)
    if found["status"] not in ("failed", "cancelled"):
        raise typer.BadParameter(
            f"{found['id']} is {found['status']}; only what failed or was cancelled is tried again"
        )
    return carry_out(Wish(folder=folder, retry=found["id"]))


def suspend(
    run: RunId,
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
) -> None:
    """Start nothing more of a run for now; what runs goes on to its end.

    Examples:

    - `tradewind suspend 1kq2z3a-17`
    """
    with opened(Where(server, profile, folder)) as backend:
        _told(backend.suspend(run), output)


def resume(
    run: RunId,
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
) -> None:
    """Let a suspended run go on.

    What was interrupted rather than suspended is gone on with by `tradewind run --resume`.

    Examples:

    - `tradewind resume 1kq2z3a-17`
    """
    with opened(Where(server, profile, folder)) as backend:
        _told(backend.resume(run), output)


def priority(
    run: RunId,
    value: Annotated[int, typer.Argument(metavar="PRIORITY", help="Higher goes first.")],
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
) -> None:
    """Give a run another priority; what runs already is left alone.

    Examples:

    - `tradewind priority 1kq2z3a-17 10`
    - `tradewind priority last -- -5`
    """
    with opened(Where(server, profile, folder)) as backend:
        _told(backend.prioritise(run, value), output)


def deadline(
    run: RunId,
    value: Annotated[
        str, typer.Argument(metavar="DEADLINE", help="Counted from the submission, as 90m or 2h; none: no deadline.")
    ],
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
) -> None:
    """Give a run another deadline, or none; what has not started is planned again.

    Examples:

    - `tradewind deadline 1kq2z3a-17 3h`
    - `tradewind deadline last none`
    """
    with opened(Where(server, profile, folder)) as backend:
        _told(backend.redate(run, None if value == "none" else value), output)
