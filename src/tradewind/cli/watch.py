"""`tradewind watch`: watch a run until it ends."""

import sys
import time
from typing import Annotated, Any

import orjson
import typer

from tradewind.cli import codes
from tradewind.cli.listing import warn_if_interrupted
from tradewind.cli.output import Plain, duration, paint, show_failures, stands, when
from tradewind.cli.places import Folder, Here, Profile, RunId, Server, look
from tradewind.cli.terminal import cell, visible
from tradewind.client.backend import Backend
from tradewind.client.open import opened

_WIDTH = 30


def watch(
    run: RunId = "last",
    events: Annotated[bool, typer.Option("--events", help="Print events instead of progress.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print changes, or events, as JSON lines.")] = False,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
    here: Here = False,
) -> None:
    """Watch a run until it ends; the exit code is that of `run`.

    Examples:

    - `tradewind watch`
    - `tradewind watch 1kq2z3a-17 --events`
    - `tradewind watch last --events --json | jq .task`
    """
    with opened(look(server, profile, folder, run, here=here)) as backend:
        if events:
            warn_if_interrupted(backend.run(run))
            _show_events(backend, run, as_json=json)
            raise typer.Exit(exit_code(backend.run(run)))
        raise typer.Exit(follow(backend, run, as_json=json))


def follow(backend: Backend, run: str, *, as_json: bool = False) -> int:
    """Show the progress of a run, and return the exit code when it has ended."""
    is_terminal = sys.stderr.isatty()
    last: Plain = {}
    before = status = ""
    for last in backend.follow(run):
        if last["status"] != status:
            warn_if_interrupted(last)
            status = last["status"]
        if as_json:
            typer.echo(orjson.dumps(last).decode())
        elif is_terminal:
            typer.echo(f"\r\x1b[K{_line(last)}", nl=False, err=True)
        elif (line := _words(last)) != before:
            typer.echo(line, err=True)
            before = line
    if is_terminal and not as_json:
        typer.echo("", err=True)
    if not as_json:
        _show_end(last)
    return exit_code(last)


def exit_code(run: Plain) -> int:
    """Return the exit code that `tradewind run` would have given."""
    if run["status"] != "done":
        return codes.NEVER if run.get("impossible") else codes.FAILED
    return codes.LATE if run.get("deadline") is not None and run["ended"] > run["deadline"] else codes.DONE


def _show_events(backend: Backend, run: str, *, as_json: bool) -> None:
    for event in backend.events(run):
        if as_json:
            typer.echo(orjson.dumps(event.data).decode())
        elif isinstance(event.data, dict) and "at" in event.data:
            rest = {
                key: value for key, value in event.data.items() if key not in ("at", "event", "run", "cause", "seq")
            }
            words = " ".join(f"{key}={_short(value)}" for key, value in rest.items() if value not in (None, ""))
            typer.echo(visible(f"{when(event.data['at'])}  {event.name:<12} {words}"))


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _words(run: Plain) -> str:
    tasks = run["tasks"]
    counts = ", ".join(f"{count:,} {state}" for state, count in tasks.items()) or "nothing to do yet"
    return f"{run['id']} {run['status']}: {counts}{_warning(run)}"


def _warning(run: Plain) -> str:
    """Return a warning if the run is predicted to be late."""
    slack = run.get("slack")
    if slack is None or slack >= 0 or run["ended"] is not None:
        return ""
    return f", will miss its deadline by {duration(-slack)}"


def _line(run: Plain) -> str:
    tasks = run["tasks"]
    total = sum(tasks.values()) or 1
    full = round(_WIDTH * tasks.get("done", 0) / total)
    bar = paint("━" * full, fg="green") + paint("━" * (_WIDTH - full), dim=True)
    took = duration((run["ended"] or time.time()) - run["submitted"])
    others = ", ".join(f"{count:,} {state}" for state, count in tasks.items() if state != "done")
    return (
        f"{cell(run['name'])} {bar} {tasks.get('done', 0):,}/{total:,} {took} {others}{paint(_warning(run), fg='red')}"
    )


def _show_end(run: Plain) -> None:
    colour = {"done": "green", "failed": "red"}.get(run["status"])
    took = duration((run["ended"] or run["submitted"]) - run["submitted"])
    late = f", {duration(run['ended'] - run['deadline'])} after its deadline" if exit_code(run) == codes.LATE else ""
    typer.echo(paint(f"{run['id']} {stands(run)} after {took}{late}", fg="red" if late else colour), err=True)
    show_failures(run, err=True)
