"""Options shared by many commands: where to look, and how to show the result."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tradewind.client.open import Where, settled


class Form(StrEnum):
    """Output formats."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


Server = Annotated[str | None, typer.Option("--server", help="Address of a server; default: TRADEWIND_SERVER.")]
Profile = Annotated[str | None, typer.Option("--profile", help="Name of a server; see `tradewind profiles`.")]
Folder = Annotated[
    Path | None, typer.Option("--folder", help="Use the store of a folder; default without a server: .tradewind.")
]
Here = Annotated[bool, typer.Option("--here", help="Use this folder, ignoring the current profile.")]
Output = Annotated[Form, typer.Option("-o", "--output", help="Output format.")]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="A run: its id, the start of its id, or `last`.")]


def look(
    server: str | None, profile: str | None, folder: Path | None, run: str | None = None, *, here: bool = False
) -> Where:
    """Return where to look; if this was not specified and is ambiguous, print the choice."""
    where, note = settled(Where(server, profile, folder, here), run)
    if note:
        typer.echo(f"looked {note}", err=True)
    return where
