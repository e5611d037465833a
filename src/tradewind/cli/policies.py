"""`tradewind policies`: what can decide."""

from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.table import Table

from tradewind.policies.registry import describe, names, offer


def policies(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the policies, each with a line and its parameters.

    Example: `tradewind policies`, then `tradewind simulate montage.yaml --policy pfa -P smoothing=ewma`
    """
    found = [offer(name) for name in names()]
    if as_json:
        rows = [
            {
                "name": each.name,
                "summary": each.summary,
                "parameters": [dict(zip(("name", "type", "default", "help"), p, strict=True)) for p in describe(each)],
            }
            for each in found
        ]
        typer.echo(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode())
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("policy", "what it does", "parameters"):
        table.add_column(heading)
    for each in found:
        parameters = "\n".join(f"{name}={default} ({kind}): {help_}" for name, kind, default, help_ in describe(each))
        table.add_row(each.name, each.summary, parameters or "none")
    Console().print(table)
