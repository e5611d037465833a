"""`tradewind explain`: explain why a run or task is waiting, and why it ran again."""

from itertools import islice
from typing import Annotated

import typer

from tradewind.cli.logs import find_task
from tradewind.cli.output import Plain, show_failures, show_plain, stands, when
from tradewind.cli.places import Folder, Form, Here, Output, Profile, RunId, Server, look
from tradewind.cli.terminal import visible
from tradewind.client.open import opened

_ENDED = ("done", "failed", "cancelled")
_MOST = 30
_NAMED = 3
"""Maximum number of tasks named for each cause of waiting."""


def explain(
    run: RunId = "last",
    task: Annotated[
        str | None, typer.Argument(help="A task, by name or number; default: all tasks of the run.")
    ] = None,
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
    here: Here = False,
) -> None:
    """Explain why a run or task is waiting, and why it ran more than once.

    Examples:

    - `tradewind explain`
    - `tradewind explain 1kq2z3a-17 align -o json`
    """
    with opened(look(server, profile, folder, run, here=here)) as backend:
        if task is None:
            found = backend.explain(run)
            failed = backend.run(found["run"]) if found["status"] == "failed" else {}
        else:
            id = backend.run(run)["id"]
            found = backend.explain(id, find_task(backend, id, task)["number"])
    if output in (Form.JSON, Form.YAML):
        show_plain(found, output)
    elif task is None:
        _show_run(found, failed)
    else:
        _show_task(found)
        _show_again(found["again"])
        for each in found.get("cache", ()):
            typer.echo(visible(f"  {each['call']}: {each['text']}"))


def _show_task(found: Plain) -> None:
    if found["cause"] == "ended":
        typer.echo(visible(f"{found['name']} {stands(found)}{found['text'].removeprefix('is ' + found['status'])}"))
    else:
        typer.echo(visible(f"{found['name']} ({found['status']}): {_why(found)}"))


def _show_run(found: Plain, failed: Plain) -> None:
    if found["status"] in _ENDED:
        typer.echo(visible(f"{found['run']} {stands(found)}"))
        show_failures(failed)
        if failed.get("failures"):
            typer.echo(
                f"`tradewind logs {found['run']}` shows their output, `tradewind retry {found['run']}` retries them"
            )
    else:
        typer.echo(visible(f"{found['run']} is {found['status']}: {found['summary']}"))
    waiting: dict[str, list[str]] = {}
    for each in found["waiting"]:
        if each["status"] != "running":
            waiting.setdefault(_why(each), []).append(each["name"])
    for why, names in islice(waiting.items(), _MOST):
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        typer.echo(visible(f"  {', '.join(names[:_NAMED])}{more}: {why}"))
    for each in found["again"][:_MOST]:
        typer.echo(visible(f"  {each['name']} was started {each['attempts']} times:"))
        _show_again(each["why"], "    ")


def _show_again(why: list[Plain], indent: str = "  ") -> None:
    for each in why:
        reason = f": {each['reason']}" if each["reason"] else ""
        typer.echo(
            visible(
                f"{indent}attempt {each['attempt']} on machine {each['machine']} ended as {each['outcome']}{reason}"
            )
        )


def _why(each: Plain) -> str:
    until = f" (until about {when(each['until'])})" if each.get("until") else ""
    text = each.get("text") or each["cause"]
    return f"{text}{until}"
