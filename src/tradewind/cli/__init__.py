"""The command line: one file for each command, loaded only when it is wanted."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import tradewind
from tradewind.cli.early import Early, fulfil
from tradewind.cli.wish import COMPLETION, read
from tradewind.model.errors import TradewindError

if TYPE_CHECKING:
    import typer

_GROUPS: dict[str, dict[str, str]] = {
    "Try it, and spend nothing": {
        "demo": "Simulate 30 workflows of astronomy and biology within a budget, under three policies.",
        "simulate": "Simulate a scenario or workflows under one or more policies.",
        "plan": "Show what it would take to finish a workflow by a deadline: types, windows, machines, finish and "
        "cost.",
        "policies": "List the policies, each with a line and its parameters.",
        "reproduce": "Run a paper's experiments again; print each claim, the paper's figure, ours, and whether the "
        "claim holds.",
        "generate": "Make a workflow with the structure and run times of a known family.",
        "traces": "Make traces of free cores on servers, and compare them with what is published of real ones.",
    },
    "Run": {
        "run": "Run a workflow on this host, durably; what was interrupted in any way can be resumed.",
        "submit": "Hand in a workflow; once this returns, the server will not lose it.",
        "server": "Serve runs of many people over REST under `/api/v1`; what runs survives restarts.",
    },
    "Follow and steer runs": {
        "list": "List runs, newest first.",
        "get": "Show how a run stands, and what it gives once it is done.",
        "watch": "Watch a run until it has ended; the exit code is that of `run`.",
        "logs": "Show what tasks have written, each line behind the task's name where there are several.",
        "explain": "Say why a run or a task waits, and why it ran more than once.",
        "report": "Tell all about a run in one HTML file that opens offline.",
        "cost": "Show what a run, or everything, has cost.",
        "search": "Find runs and tasks.",
        "cancel": "Cancel a run: what runs is stopped, what waits is dropped.",
        "retry": "Try again what failed of a run, and what waited for it; what was done stays done.",
        "suspend": "Start nothing more of a run for now; what runs goes on to its end.",
        "resume": "Let a suspended run go on.",
        "priority": "Give a run another priority; what runs already is left alone.",
        "deadline": "Give a run another deadline, or none; what has not started is planned again.",
        "nodes": "Show machines, and let them go.",
        "cache": "Show what need not run again, and forget it.",
    },
    "Divisible jobs": {
        "jobs": "Submit and watch divisible jobs.",
        "worker": "Work on divisible jobs: fetch partitions, run a process for each, report, obey scaling hints.",
        "sites": "Show sites, and make and revoke their tokens.",
    },
    "Files": {
        "validate": "Check files, and say what is in them; all that is wrong is told with its line.",
        "convert": "Convert a workflow to native YAML or to WfFormat; one of Steep, which becomes a program, "
        "to native YAML.",
        "graph": "Draw a workflow as SVG: task by task, or by kind of task where there are many.",
        "schema": "Print the JSON Schema of native files, for editors that check a file as it is typed.",
    },
    "Share a server": {
        "tenants": "Show and change the tenants of a server.",
        "tokens": "Show, make and revoke the tokens of a server.",
        "profiles": "Name the servers you work with.",
    },
}
"""What each command does, for the list of them: to load them all for it would take seconds."""

COMMANDS = {name: summary for group in _GROUPS.values() for name, summary in group.items()}
_GROUP_OF = {name: title for title, group in _GROUPS.items() for name in group}

_ELSEWHERE = {
    "list": ("listing", "list_runs"),
    "get": ("listing", "get"),
    **{verb: ("steering", verb) for verb in ("cancel", "retry", "suspend", "resume", "priority", "deadline")},
}
"""Where commands are that share a file; others have a file of their name."""


def application(*commands: str) -> "typer.Typer":
    """The command line with the given commands; with all, if none is named."""
    import typer  # noqa: PLC0415 - see `main`

    from tradewind.cli.flags import Command, Group  # noqa: PLC0415

    app = _empty()
    for name in commands or COMMANDS:
        file, attribute = _ELSEWHERE.get(name, (name, name))
        found = getattr(import_module(f"tradewind.cli.{file}"), attribute)
        if isinstance(found, typer.Typer):
            for command in found.registered_commands:
                command.cls = Command
            app.add_typer(found, name=name, cls=Group, rich_help_panel=_GROUP_OF[name])
        else:
            app.command(name, cls=Command, rich_help_panel=_GROUP_OF[name])(found)
    return app


def outline() -> "typer.Typer":
    """The command line for whoever names no command: all are listed, and none can be run."""
    app = _empty()
    for name, summary in COMMANDS.items():
        app.command(name, help=summary, rich_help_panel=_GROUP_OF[name])(lambda: None)
    return app


def _empty() -> "typer.Typer":
    import typer  # noqa: PLC0415 - see `main`

    from tradewind.cli.flags import Group  # noqa: PLC0415

    def show_version(is_wanted: bool) -> None:
        if is_wanted:
            typer.echo(f"tradewind {tradewind.__version__}")
            raise typer.Exit

    def root(
        version: bool = typer.Option(
            False,  # noqa: FBT003 - the default
            "--version",
            callback=show_version,
            is_eager=True,
            help="Show the version.",
        ),
    ) -> None:
        """Run workloads of workflows on rented machines within a budget, and simulate them first."""

    app = typer.Typer(
        name="tradewind",
        cls=Group,
        no_args_is_help=True,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(root)
    return app


def main() -> None:
    """Run the command line, turning what a user can mend into one clear line and an exit code."""
    words = sys.argv[1:]
    early = Early(words)  # before anything that takes long to load
    try:
        wish = read(words)
        if wish is not None:
            sys.exit(fulfil(wish, early))
        if words == ["--version"]:
            sys.stdout.write(f"tradewind {tradewind.__version__}\n")
            return
        _application_for(words)(obj=early)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
    except (TradewindError, ValueError, OSError) as error:
        sys.stderr.write(f"error: {_words(error)}\n")
        sys.exit(2)
    finally:
        early.close()


def _words(error: Exception) -> str:
    """What went wrong; of a file as people say it, not as the system does."""
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"{error.filename}: no such file"
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror.lower()}"
    return str(error)


def _application_for(words: Sequence[str]) -> "typer.Typer":
    """No more of the command line than some words need."""
    first = next((word for word in words if not word.startswith("-")), "")
    if first in COMMANDS:
        return application(first)
    return application() if COMPLETION in os.environ else outline()
