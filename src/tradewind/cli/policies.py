"""`tradewind policies`: list the policies."""

from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tradewind.policies.registry import describe, names, offer


def policies(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the policies with their parameters.

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
    width = max(len(each.name) for each in found)
    console = Console(highlight=False)
    for each in found:
        table = Table(box=None, pad_edge=False, show_header=False)
        table.add_column(min_width=width, no_wrap=True, style="bold")
        table.add_column()
        table.add_row(each.name, each.summary)
        for name, kind, default, help_ in describe(each):
            table.add_row("", f"[dim]-P {name}={default}[/] ({kind}): {escape(help_)}")
        console.print(table)
