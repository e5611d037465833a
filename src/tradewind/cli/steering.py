"""`tradewind cancel`, `retry`, `suspend`, `resume`, `priority` and `deadline`: control a run."""

from pathlib import Path
from typing import Annotated

import typer

from tradewind.cli.listing import RUNS
from tradewind.cli.output import Plain, show, show_one
from tradewind.cli.places import Folder, Form, Here, Output, Profile, RunId, Server, look
from tradewind.client.open import FOLDER, address, opened


def _told(run: Plain, output: Form) -> None:
    if output in (Form.JSON, Form.YAML):
        show_one(run, output)
    else:
        show([run], RUNS, output)


def cancel(
    run: RunId,
    force: Annotated[
        bool, typer.Option("--force", help="Kill running tasks immediately, without a grace period.")
    ] = False,
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
    here: Here = False,
) -> None:
    """Cancel a run: stop running tasks and drop waiting ones.

    Examples:

    - `tradewind cancel 1kq2z3a-17`
    - `tradewind cancel last --force`
    """
    with opened(look(server, profile, folder, run, here=here)) as backend:
        _told(backend.cancel(run, force=force), output)


def retry(
    run: RunId,
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
    here: Here = False,
) -> None:
    """Retry the failed tasks of a run and everything that depends on them.

    Finished tasks are kept. Without a server, the tasks run on this host now, like `tradewind run`, with the same exit
    codes.

    Examples:

    - `tradewind retry 1kq2z3a-17`
    - `tradewind retry last`
    """
    where = look(server, profile, folder, run, here=here)
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
        raise typer.BadParameter(f"{found['id']} is {found['status']}; only failed or cancelled runs can be retried")
    return carry_out(Wish(folder=folder, retry=found["id"]))


def suspend(
    run: RunId,
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
    here: Here = False,
) -> None:
    """Suspend a run: start no further tasks, but let running tasks finish.

    Examples:

    - `tradewind suspend 1kq2z3a-17`
    """
    with opened(look(server, profile, folder, run, here=here)) as backend:
        _told(backend.suspend(run), output)


def resume(
    run: RunId,
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
    here: Here = False,
) -> None:
    """Resume a suspended run.

    To resume an interrupted run of a folder, use `tradewind run --resume`.

    Examples:

    - `tradewind resume 1kq2z3a-17`
    """
    with opened(look(server, profile, folder, run, here=here)) as backend:
        _told(backend.resume(run), output)


def priority(
    run: RunId,
    value: Annotated[int, typer.Argument(metavar="PRIORITY", help="Higher runs first.")],
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
    here: Here = False,
) -> None:
    """Change the priority of a run; running tasks are not affected.

    Examples:

    - `tradewind priority 1kq2z3a-17 10`
    - `tradewind priority last -- -5`
    """
    with opened(look(server, profile, folder, run, here=here)) as backend:
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
    here: Here = False,
) -> None:
    """Change or remove the deadline of a run; tasks that have not started are replanned.

    Examples:

    - `tradewind deadline 1kq2z3a-17 3h`
    - `tradewind deadline last none`
    """
    with opened(look(server, profile, folder, run, here=here)) as backend:
        _told(backend.redate(run, None if value == "none" else value), output)
