"""The command line: one file for each command."""

import sys

import click
import typer

from tradewind import __version__
from tradewind.cli.convert import convert
from tradewind.cli.demo import demo
from tradewind.cli.generate import generate
from tradewind.cli.graph import graph
from tradewind.cli.policies import policies
from tradewind.cli.reproduce import reproduce
from tradewind.cli.schema import schema
from tradewind.cli.simulate import simulate
from tradewind.cli.validate import validate
from tradewind.formats.errors import FormatError
from tradewind.policies.registry import PolicyError

app = typer.Typer(
    name="tradewind",
    help="Run workloads of workflows on rented machines within a budget, and simulate them first.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for command in (simulate, generate, validate, convert, graph, schema, policies, reproduce, demo):
    app.command()(command)


def _version(wanted: bool) -> None:  # noqa: FBT001  # a typer callback
    if wanted:
        typer.echo(f"tradewind {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),  # noqa: ARG001, FBT003
) -> None:
    """Run workloads of workflows on rented machines within a budget, and simulate them first."""


def main() -> None:
    """Run the command line, turning what a user can mend into one clear line and an exit code."""
    try:
        code = app(standalone_mode=False)
    except click.exceptions.Exit as exit_:
        code = exit_.exit_code
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        typer.echo("interrupted", err=True)
        code = 130
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output has enough
        code = 0
    except (FormatError, PolicyError, ValueError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        code = 2
    sys.exit(code if isinstance(code, int) else 0)
