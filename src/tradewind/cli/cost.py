"""`tradewind cost`: show what was spent, and on what."""

from typing import Annotated

import typer

from tradewind.cli.output import Column, duration, field, show
from tradewind.cli.places import Folder, Form, Here, Output, Profile, Server, look
from tradewind.client.open import opened

_ITEMS = (
    field("key", "what"),
    field("cost", is_number=True),
    field("charged", is_wide=True, is_number=True),
    field("refunded", is_wide=True, is_number=True),
)
_TYPES = (
    field("machine_type", "machine type"),
    field("cost", is_number=True),
    Column("held", lambda row: duration(row.get("machine_time")), is_number=True),
    Column("busy", lambda row: duration(row["busy_time"]), is_number=True),
)


def cost(
    run: Annotated[str | None, typer.Argument(metavar="RUN", help="A run; default: everything.")] = None,
    by: Annotated[str, typer.Option(help="Group by run, tenant, interval, machine_type or machine.")] = "machine_type",
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
    here: Here = False,
) -> None:
    """Show the cost of a run, or the total cost.

    Examples:

    - `tradewind cost last`
    - `tradewind cost --by tenant -o json`
    """
    with opened(look(server, profile, folder, run, here=here)) as backend:
        found = backend.cost(run, by)
    show(
        found["items"] if run is None else found["by_machine_type"],
        _ITEMS if run is None else _TYPES,
        output,
        whole=found,
    )
    if output in (Form.TABLE, Form.WIDE):
        typer.echo(f"total {found['total']:.6g}")
