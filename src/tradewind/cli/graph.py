"""`tradewind graph`: draw a workflow."""

from pathlib import Path
from typing import Annotated

import typer

from tradewind.formats.load import load_workflow
from tradewind.formats.picture import svg
from tradewind.formats.write import write_file


def graph(
    file: Annotated[Path, typer.Argument(help="A workflow in any format.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="An .svg file; default: print the SVG.")] = None,
    group: Annotated[
        bool | None, typer.Option("--group/--no-group", help="Draw one box per kind of task; default: above 150 tasks.")
    ] = None,
    lenient: Annotated[bool, typer.Option("--lenient", help="Read negative times and sizes as zero.")] = False,
) -> None:
    """Draw a workflow as SVG: each task, or one box per kind if there are many.

    Examples:

    - `tradewind graph montage.yaml -o montage.svg`
    - `tradewind graph Montage_1000.xml.gz -o montage.svg --group`
    """
    workflow = load_workflow(file, lenient=lenient)
    data = svg(workflow, group=group).encode()
    if output is None or str(output) == "-":
        typer.echo(data, nl=False)
    else:
        write_file(output, data)
        typer.echo(f"{output}: {len(workflow.tasks):,} tasks drawn")
