"""`tradewind generate`: generate a workflow of a known family."""

import random
from pathlib import Path
from typing import Annotated

import typer

from tradewind.formats.write import write_file, write_native, write_wfformat
from tradewind.model.units import show_duration
from tradewind.model.workflow import Workflow
from tradewind.sim import generators

WFFORMAT = {".yaml": False, ".yml": False, ".json": True}


def generate(
    family: Annotated[str, typer.Argument(help=f"One of {', '.join(generators.FAMILIES)}.")],
    tasks: Annotated[int, typer.Option(min=1, max=10_000_000, help="Approximate number of tasks.")] = 100,
    seed: Annotated[int, typer.Option(help="Random seed; the same seed gives the same workflow.")] = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Output file: .yaml or .json (WfFormat), optionally with .gz; default: print YAML."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print WfFormat instead of YAML.")] = False,
) -> None:
    """Generate a workflow of a known family.

    Examples:

    - `tradewind generate montage --tasks 200 -o montage.yaml`
    - `tradewind generate ligo --tasks 1000 --seed 7 -o ligo.json.gz`
    - `tradewind generate chain --tasks 5`
    """
    wfformat = as_json if output is None else _is_wfformat(output)
    workflow = generators.generate(family, tasks, random.Random(seed))
    data = write_wfformat(workflow) if wfformat else write_native(workflow).encode()
    if output is None:
        typer.echo(data, nl=False)
    else:
        write_file(output, data)
        typer.echo(f"{output}: {_summary(workflow)}")


def _is_wfformat(output: Path) -> bool:
    suffix = Path(output.name.removesuffix(".gz")).suffix
    if suffix not in WFFORMAT:
        raise ValueError(f"{output}: the name must end in .yaml or .json, or either of them with .gz")
    return WFFORMAT[suffix]


def _summary(workflow: Workflow) -> str:
    edges = sum(map(len, workflow.parents))
    work = sum(task.runtime or 0 for task in workflow.tasks)
    return (
        f"{len(workflow.tasks)} tasks, {edges} edges, {max(workflow.levels()) + 1} levels, work {show_duration(work)}"
    )
