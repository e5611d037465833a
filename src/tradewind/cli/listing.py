"""`tradewind list` and `get`: list runs, and show one."""

import time
from typing import Annotated, Any

import typer

from tradewind.cli.output import (
    Column,
    Plain,
    duration,
    field,
    paint,
    show,
    show_failures,
    show_one,
    show_outputs,
    when,
)
from tradewind.cli.places import Folder, Form, Here, Output, Profile, RunId, Server, look
from tradewind.client.open import opened

_STATES = ("waiting", "ready", "running", "delayed", "failed", "cancelled")


def _progress(run: Plain) -> str:
    tasks = run["tasks"]
    return f"{tasks.get('done', 0):,}/{sum(tasks.values()):,}"


def _others(run: Plain) -> str:
    return ", ".join(f"{run['tasks'][state]:,} {state}" for state in _STATES if run["tasks"].get(state))


def _took(run: Plain) -> str:
    end = time.time() if run["ended"] is None else run["ended"]
    return duration(max(0.0, end - run["submitted"]))


def slack_of(run: Plain) -> str:
    """Return the time between the actual or predicted end of a run and its deadline."""
    slack = run.get("slack")
    if slack is None:
        return ""
    return duration(slack) if slack >= 0 else f"{duration(-slack)} late"


def _ran(task: Plain) -> str:
    if task["started"] is None:
        return ""
    return duration(max(0.0, (time.time() if task["ended"] is None else task["ended"]) - task["started"]))


RUNS = (
    field("id"),
    field("name"),
    field("status"),
    Column("done", _progress, is_number=True),
    Column("tasks", _others),
    Column("for", _took, is_number=True),
    Column("submitted", lambda run: when(run["submitted"])),
    field("tenant", is_wide=True),
    field("priority", is_wide=True, is_number=True),
    Column("ended", lambda run: when(run["ended"]), is_wide=True),
    Column("deadline", lambda run: when(run["deadline"]), is_wide=True),
    Column("slack", slack_of, is_wide=True, is_number=True),
)
TASKS = (
    field("number", "task", is_number=True),
    field("name"),
    field("status"),
    field("attempts", is_number=True),
    Column("for", _ran, is_number=True),
    field("machine", is_number=True),
    field("message"),
    Column("started", lambda task: when(task["started"]), is_wide=True),
    field("failures", is_wide=True, is_number=True),
    field("lost", is_wide=True, is_number=True),
    field("preempted", is_wide=True, is_number=True),
)


def list_runs(
    status: Annotated[
        str | None, typer.Option(help="active, suspended, interrupted, done, failed or cancelled.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Only names that start with this.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Only runs of this tenant.")] = None,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, help="Maximum number of runs, newest first.")] = 20,
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
    here: Here = False,
) -> None:
    """List runs, newest first.

    Examples:

    - `tradewind list`
    - `tradewind list --status failed -n 100 -o json`
    - `tradewind list --profile team -o wide`
    """
    with opened(look(server, profile, folder, here=here)) as backend:
        found = backend.runs(status=status, tenant=tenant, name=name, limit=limit)
    show(found, RUNS, output)
    warn_if_interrupted(*found)


def warn_if_interrupted(*runs: Plain) -> None:
    """Warn about unfinished runs of a folder that no process is working on."""
    if found := [run for run in runs if "remedy" in run]:
        what, them = ("1 run is", "it") if len(found) == 1 else (f"{len(found)} runs are", "them")
        typer.echo(paint(f"{what} unfinished; `{found[0]['remedy']}` resumes {them}", fg="yellow"), err=True)


def get(
    run: RunId = "last",
    tasks: Annotated[bool, typer.Option("--tasks", help="Show the tasks of the run.")] = False,
    status: Annotated[str | None, typer.Option(help="Only tasks with this status.")] = None,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, help="Maximum number of tasks.")] = 1000,
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
    here: Here = False,
) -> None:
    """Show the status and outputs of a run.

    Examples:

    - `tradewind get`
    - `tradewind get 1kq2z3a-17 --tasks --status failed`
    - `tradewind get last -o yaml`
    """
    with opened(look(server, profile, folder, run, here=here)) as backend:
        if tasks or status:
            show(backend.tasks(run, status=status, limit=limit), TASKS, output)
            return
        found = backend.run(run)
        outputs = (backend.results(found["id"]) if found["status"] == "done" else None) or {}
    warn_if_interrupted(found)
    if output in (Form.JSON, Form.YAML):
        show_one(found | {"outputs": outputs}, output)
        return
    moments: dict[str, Any] = {name: when(found.get(name)) for name in ("submitted", "ended", "deadline", "predicted")}
    more = {
        "failures": "",
        "reason": "",
        "number": None,
        "remedy": None,
        "impossible": None,
        "took": _took(found),
        "slack": slack_of(found),
    }
    show_one(found | moments | more, output)
    show_outputs(outputs)
    show_failures(found)
