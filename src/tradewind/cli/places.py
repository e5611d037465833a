"""Options that many commands share: where to look, and how to show what is found."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Form(StrEnum):
    """How answers are shown."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


Server = Annotated[str | None, typer.Option("--server", help="Address of a server; default: TRADEWIND_SERVER.")]
Profile = Annotated[str | None, typer.Option("--profile", help="A server by its name; see `tradewind profiles`.")]
Folder = Annotated[
    Path | None, typer.Option("--folder", help="Look into the store of a folder; default without a server: .tradewind.")
]
Output = Annotated[Form, typer.Option("-o", "--output", help="How to show it.")]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="A run: its id, the beginning of one, or `last`.")]
