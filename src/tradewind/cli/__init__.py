"""The command line: one file per command, loaded only when needed."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import tradewind
from tradewind.cli.early import Early, fulfil
from tradewind.cli.terminal import visible
from tradewind.cli.wish import COMPLETION, read
from tradewind.model.errors import TradewindError

if TYPE_CHECKING:
    import typer

_GROUPS: dict[str, dict[str, str]] = {
    "Try it without spending anything": {
        "demo": "Simulate 30 astronomy and biology workflows within a budget, under three policies.",
        "simulate": "Simulate a scenario or workflows under one or more policies.",
        "plan": "Plan a workflow for a deadline: machine types, windows, finish and cost.",
        "policies": "List the policies with their parameters.",
        "reproduce": "Reproduce a paper's experiments and check its claims.",
        "generate": "Generate a workflow of a known family.",
        "traces": "Generate traces of free cores on servers, and compare them with published figures.",
    },
    "Run": {
        "run": "Run a workflow on this host, durably; what was interrupted in any way can be resumed.",
        "submit": "Submit a workflow, or a divisible job. It is stored durably before the command returns.",
        "server": "Serve runs of many people over REST under `/api/v1`. Tasks survive restarts and upgrades.",
    },
    "Follow and steer runs": {
        "list": "List runs, newest first.",
        "get": "Show the status and outputs of a run.",
        "watch": "Watch a run until it ends; the exit code is that of `run`.",
        "logs": "Show the output of tasks.",
        "explain": "Explain why a run or task is waiting, and why it ran more than once.",
        "download": "Download the output files of a finished run.",
        "report": "Write a report of a run as one HTML file that works offline.",
        "cost": "Show the cost of a run, or the total cost.",
        "search": "Find runs and tasks.",
        "cancel": "Cancel a run: stop running tasks and drop waiting ones.",
        "retry": "Retry the failed tasks of a run and everything that depends on them.",
        "suspend": "Suspend a run: start no further tasks, but let running tasks finish.",
        "resume": "Resume a suspended run.",
        "priority": "Change the priority of a run; running tasks are not affected.",
        "deadline": "Change or remove the deadline of a run; tasks that have not started are replanned.",
        "nodes": "List and release machines.",
        "cache": "List, explain and prune cached results.",
    },
    "Machines elsewhere": {
        "agent": "Offer this machine to a server: take its work over outbound HTTPS, run it here, report.",
        "agents": "List the agents of a server, and create and revoke their tokens.",
    },
    "Files": {
        "validate": "Check files; errors name the line and the fix.",
        "convert": "Convert a workflow to native YAML or WfFormat; a Steep workflow to native YAML.",
        "graph": "Draw a workflow as SVG: each task, or one box per kind if there are many.",
        "schema": "Print the JSON Schema of native files, for editors.",
    },
    "Share a server": {
        "tenants": "List and change the tenants of a server.",
        "tokens": "List, create and revoke the tokens of a server.",
        "profiles": "Manage named servers.",
    },
}
"""Summaries for the list of commands; loading every command for them would take seconds."""

MOVED = {
    "jobs": "a divisible job is a run: `tradewind submit --iterations N -- COMMAND`, then `list`, `get`, `watch`, "
    "`cancel` and `download`",
    "sites": "sites are agents: `tradewind agents list`, `token` and `revoke`; tokens of sites remain valid",
    "worker": "`tradewind agent` takes the same server, token file and slots, and runs every kind of work",
}
"""Commands of earlier versions, and what replaces each; kept for one version."""

COMMANDS = {name: summary for group in _GROUPS.values() for name, summary in group.items()}
_GROUP_OF = {name: title for title, group in _GROUPS.items() for name in group}

_ELSEWHERE = {
    "list": ("listing", "list_runs"),
    "get": ("listing", "get"),
    **{verb: ("steering", verb) for verb in ("cancel", "retry", "suspend", "resume", "priority", "deadline")},
}
"""Modules of commands that share a file; the others have a file of their name."""


def application(*commands: str) -> "typer.Typer":
    """Return the command line with the given commands; by default, with all."""
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
    """Return a command line that lists all commands but can run none, for help without a command."""
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
        """Run workflows on rented machines within a budget, and simulate them first."""

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
    """Run the command line; report user errors as one line with an exit code."""
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
        sys.stderr.write(visible(f"error: {_words(error)}\n"))
        sys.exit(2)
    finally:
        early.close()


def _words(error: Exception) -> str:
    """Return the error message; for file errors, in plain words instead of the system's."""
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"{error.filename}: no such file"
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror.lower()}"
    return str(error)


def _application_for(words: Sequence[str]) -> "typer.Typer":
    """Return only the part of the command line that these words need."""
    first = next((word for word in words if not word.startswith("-")), "")
    if first in COMMANDS:
        return application(first)
    if first in MOVED:
        raise TradewindError(f"`tradewind {first}` is gone: {MOVED[first]}")
    return application() if COMPLETION in os.environ else outline()
