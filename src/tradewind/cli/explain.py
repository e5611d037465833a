"""`tradewind explain`: why does it wait, and why did it run again."""

from itertools import islice
from typing import Annotated

import typer

from tradewind.cli.logs import find_task
from tradewind.cli.output import Plain, show_failures, show_plain, stands, when
from tradewind.cli.places import Folder, Form, Output, Profile, RunId, Server
from tradewind.client.open import Where, opened

_ENDED = ("done", "failed", "cancelled")
_MOST = 30
_NAMED = 3
"""So many of the tasks that wait for the same are named."""


def explain(
    run: RunId = "last",
    task: Annotated[str | None, typer.Argument(help="A task, by name or number; default: all of the run.")] = None,
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
) -> None:
    """Say why a run or a task waits, and why it ran more than once.

    Examples:

    - `tradewind explain`
    - `tradewind explain 1kq2z3a-17 align -o json`
    """
    with opened(Where(server, profile, folder)) as backend:
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
            typer.echo(f"  {each['call']}: {each['text']}")


def _show_task(found: Plain) -> None:
    if found["cause"] == "ended":
        typer.echo(f"{found['name']} {stands(found)}{found['text'].removeprefix('is ' + found['status'])}")
    else:
        typer.echo(f"{found['name']} ({found['status']}): {_why(found)}")


def _show_run(found: Plain, failed: Plain) -> None:
    if found["status"] in _ENDED:
        typer.echo(f"{found['run']} {stands(found)}")
        show_failures(failed)
        if failed.get("failures"):
            typer.echo(
                f"`tradewind logs {found['run']}` shows what they wrote, `tradewind retry {found['run']}` tries again"
            )
    else:
        typer.echo(f"{found['run']} is {found['status']}: {found['summary']}")
    waiting: dict[str, list[str]] = {}
    for each in found["waiting"]:
        if each["status"] != "running":
            waiting.setdefault(_why(each), []).append(each["name"])
    for why, names in islice(waiting.items(), _MOST):
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        typer.echo(f"  {', '.join(names[:_NAMED])}{more}: {why}")
    for each in found["again"][:_MOST]:
        typer.echo(f"  {each['name']} was begun {each['attempts']} times:")
        _show_again(each["why"], "    ")


def _show_again(why: list[Plain], indent: str = "  ") -> None:
    for each in why:
        reason = f": {each['reason']}" if each["reason"] else ""
        typer.echo(f"{indent}attempt {each['attempt']} on machine {each['machine']} ended as {each['outcome']}{reason}")


def _why(each: Plain) -> str:
    until = f" (until about {when(each['until'])})" if each.get("until") else ""
    text = each.get("text") or each["cause"]
    return f"{text}{until}"
