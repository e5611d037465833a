"""`tradewind generate`: write a workflow of a known family to a file."""

import random
from pathlib import Path
from typing import Annotated

import typer

from tradewind.formats.errors import FormatError
from tradewind.formats.write import write_file, write_native, write_wfformat
from tradewind.model.units import show_duration
from tradewind.model.workflow import Workflow
from tradewind.sim import generators

NATIVE, WFFORMAT = {".yaml", ".yml"}, {".json"}


def generate(
    family: Annotated[str, typer.Argument(help=f"One of {', '.join(generators.FAMILIES)}.", show_default=False)],
    tasks: Annotated[int, typer.Option(min=1, max=10_000_000, help="About how many tasks.")] = 100,
    seed: Annotated[int, typer.Option(help="The same seed makes the same workflow.")] = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Where to write: .yaml, .json (WfFormat), either with .gz.", dir_okay=False
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Without a file: print WfFormat instead of YAML.")] = False,
) -> None:
    """Make a workflow with the structure and run times of a known family.

    Examples:

      tradewind generate montage --tasks 200 -o montage.yaml

      tradewind generate ligo --tasks 1000 --seed 7 -o ligo.json.gz

      tradewind generate chain --tasks 5
    """
    try:
        wfformat = json if output is None else _is_wfformat(output)
        workflow = generators.generate(family, tasks, random.Random(seed))
        data = write_wfformat(workflow) if wfformat else write_native(workflow).encode()
        if output is None:
            typer.echo(data, nl=False)
        else:
            write_file(output, data)
            typer.echo(f"{output}: {_summary(workflow)}")
    except (ValueError, FormatError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None


def _is_wfformat(output: Path) -> bool:
    suffix = Path(output.name.removesuffix(".gz")).suffix
    if suffix not in NATIVE | WFFORMAT:
        raise ValueError(f"{output}: the name of the file must end in .yaml or .json, or either of them with .gz")
    return suffix in WFFORMAT


def _summary(workflow: Workflow) -> str:
    edges = sum(map(len, workflow.parents))
    work = sum(task.runtime or 0 for task in workflow.tasks)
    return (
        f"{len(workflow.tasks)} tasks, {edges} edges, {max(workflow.levels()) + 1} levels, work {show_duration(work)}"
    )
