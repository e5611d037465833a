"""The command line: one file for each command, loaded only when it is wanted."""

import sys
from importlib import import_module

import typer

import tradewind
from tradewind.model.errors import TradewindError

COMMANDS = (
    "run",
    "simulate",
    "generate",
    "validate",
    "convert",
    "graph",
    "schema",
    "policies",
    "reproduce",
    "demo",
)


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"tradewind {tradewind.__version__}")
        raise typer.Exit


def _root(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),  # noqa: FBT003
) -> None:
    """Run workloads of workflows on rented machines within a budget, and simulate them first."""


def application(*commands: str) -> typer.Typer:
    """The command line with the given commands; with all, if none is named."""
    app = typer.Typer(
        name="tradewind",
        no_args_is_help=True,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for name in commands or COMMANDS:
        app.command(name)(getattr(import_module(f"tradewind.cli.{name}"), name))
    return app


def main() -> None:
    """Run the command line, turning what a user can mend into one clear line and an exit code."""
    first = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    app = application(first) if first in COMMANDS else application()
    try:
        app()
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        sys.exit(130)
    except (TradewindError, ValueError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
