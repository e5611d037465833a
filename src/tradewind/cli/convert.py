"""`tradewind convert`: convert a workflow from one format to another."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tradewind.formats.load import load, workflow_of
from tradewind.formats.write import write_file, write_native, write_wfformat
from tradewind.formats.write_program import write_program
from tradewind.model.program import Program


class Target(StrEnum):
    """Formats that can be written."""

    NATIVE = "native"
    WFFORMAT = "wfformat"


_SUFFIXES = {".yaml": Target.NATIVE, ".yml": Target.NATIVE, ".json": Target.WFFORMAT}


def convert(
    source: Annotated[Path, typer.Argument(help="A workflow in any format, compressed or not.", metavar="IN")],
    target: Annotated[Path, typer.Argument(help="Output file; - for standard output.", metavar="OUT")],
    to: Annotated[Target | None, typer.Option(help="Output format; default: by the suffix of OUT.")] = None,
    lenient: Annotated[bool, typer.Option("--lenient", help="Read negative times and sizes as zero.")] = False,
    services: Annotated[
        list[Path] | None,
        typer.Option(metavar="<path>", help="Services and macros of a Steep workflow; default: those next to it."),
    ] = None,
) -> None:
    """Convert a workflow to native YAML or WfFormat; a Steep workflow to native YAML.

    Examples:

    - `tradewind convert Montage_25.xml.gz montage.yaml`
    - `tradewind convert montage.yaml montage.json.gz`
    - `tradewind convert montage.yaml - --to wfformat`
    - `tradewind convert steep.yaml program.yaml --services services.yaml`
    """
    wanted = to or _target_of(target)
    document = load(source, lenient=lenient, services=services)
    if isinstance(document.content, Program) and wanted is Target.NATIVE:
        data, count = write_program(document.content).encode(), f"{len(document.content.steps):,} steps"
    else:
        workflow = workflow_of(document)
        data = write_native(workflow).encode() if wanted is Target.NATIVE else write_wfformat(workflow)
        count = f"{len(workflow.tasks):,} tasks"
    if str(target) == "-":
        typer.echo(data, nl=False)
    else:
        write_file(target, data)
        typer.echo(f"{target}: {count} as {wanted}")


def _target_of(path: Path) -> Target:
    suffix = Path(path.name.removesuffix(".gz")).suffix
    if suffix not in _SUFFIXES:
        raise typer.BadParameter(f"cannot tell the format from {str(path)!r}; use a name in .yaml or .json, or --to")
    return _SUFFIXES[suffix]
