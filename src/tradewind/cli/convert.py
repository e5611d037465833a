"""`tradewind convert`: a workflow from one format to another."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tradewind.formats.load import load_workflow
from tradewind.formats.write import write_file, write_native, write_wfformat


class Target(StrEnum):
    """Formats that can be written."""

    NATIVE = "native"
    WFFORMAT = "wfformat"


_SUFFIXES = {".yaml": Target.NATIVE, ".yml": Target.NATIVE, ".json": Target.WFFORMAT}


def convert(
    source: Annotated[Path, typer.Argument(help="A workflow of any format, packed or not.", metavar="IN")],
    target: Annotated[Path, typer.Argument(help="Where to write it; - for standard output.", metavar="OUT")],
    to: Annotated[Target | None, typer.Option(help="Format to write; default: by the suffix of OUT.")] = None,
    lenient: Annotated[bool, typer.Option("--lenient", help="Take negative times and sizes for zero.")] = False,
) -> None:
    """Convert a workflow to native YAML or to WfFormat.

    Examples:

    - `tradewind convert Montage_25.xml.gz montage.yaml`
    - `tradewind convert montage.yaml montage.json.gz`
    - `tradewind convert montage.yaml - --to wfformat`
    """
    wanted = to or _target_of(target)
    workflow = load_workflow(source, lenient=lenient)
    data = write_native(workflow).encode() if wanted is Target.NATIVE else write_wfformat(workflow)
    if str(target) == "-":
        typer.echo(data, nl=False)
    else:
        write_file(target, data)
        typer.echo(f"{target}: {len(workflow.tasks):,} tasks as {wanted}")


def _target_of(path: Path) -> Target:
    suffix = Path(path.name.removesuffix(".gz")).suffix
    if suffix not in _SUFFIXES:
        raise typer.BadParameter(f"cannot tell the format from {str(path)!r}; end it in .yaml or .json, or say --to")
    return _SUFFIXES[suffix]
