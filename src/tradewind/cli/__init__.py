"""The command line: one file for each command, loaded only when it is wanted."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

import tradewind
from tradewind.cli.early import Early
from tradewind.model.errors import TradewindError

if TYPE_CHECKING:
    import typer

COMMANDS = (
    "run",
    "simulate",
    "plan",
    "generate",
    "traces",
    "validate",
    "convert",
    "graph",
    "schema",
    "policies",
    "reproduce",
    "worker",
    "jobs",
    "sites",
    "demo",
    "server",
    "submit",
    "list",
    "get",
    "watch",
    "logs",
    "explain",
    "cancel",
    "retry",
    "suspend",
    "resume",
    "priority",
    "cost",
    "nodes",
    "search",
    "report",
    "tenants",
    "tokens",
    "profiles",
    "cache",
)
_ELSEWHERE = {
    "list": ("listing", "list_runs"),
    "get": ("listing", "get"),
    **{verb: ("steering", verb) for verb in ("cancel", "retry", "suspend", "resume", "priority")},
}
"""Where commands are that share a file; others have a file of their name."""


def application(*commands: str) -> "typer.Typer":
    """The command line with the given commands; with all, if none is named."""
    import typer  # noqa: PLC0415 - see `main`

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
        no_args_is_help=True,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(root)
    for name in commands or COMMANDS:
        file, attribute = _ELSEWHERE.get(name, (name, name))
        found = getattr(import_module(f"tradewind.cli.{file}"), attribute)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name)
        else:
            app.command(name)(found)
    return app


def main() -> None:
    """Run the command line, turning what a user can mend into one clear line and an exit code."""
    early = Early(sys.argv[1:])  # before anything that takes long to load
    try:
        first = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
        app = application(first) if first in COMMANDS else application()
        app(obj=early)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
    except (TradewindError, ValueError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
    finally:
        early.close()
