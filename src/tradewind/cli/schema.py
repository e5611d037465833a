"""`tradewind schema`: print the JSON Schema of native files."""

from enum import StrEnum
from typing import Annotated

import orjson
import typer

from tradewind.formats.schema import schema as schema_of


class Kind(StrEnum):
    """Kinds of native files."""

    WORKFLOW = "workflow"
    PROGRAM = "program"
    MACHINES = "machines"
    SCENARIO = "scenario"


def schema(
    kind: Annotated[Kind, typer.Argument(help="Kind of file.")] = Kind.WORKFLOW,
) -> None:
    """Print the JSON Schema of native files, for editors.

    Examples:

    - `tradewind schema workflow > workflow.schema.json`
    - `tradewind schema scenario`
    """
    typer.echo(orjson.dumps(schema_of(kind), option=orjson.OPT_INDENT_2).decode())
