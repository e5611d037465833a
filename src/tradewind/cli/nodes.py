"""`tradewind nodes`: list and release machines."""

from typing import Annotated

import typer

from tradewind.cli.output import Column, field, show, when
from tradewind.cli.places import Folder, Form, Here, Output, Profile, Server, look
from tradewind.client.open import opened

nodes = typer.Typer(help="List and release machines.", no_args_is_help=True)

_COLUMNS = (
    field("number", "machine", is_number=True),
    field("machine_type", "type"),
    field("status"),
    field("tenant"),
    Column("joined as", lambda row: row.get("joined") or ""),
    Column("since", lambda row: when(row["acquired"])),
    field("because"),
    field("cost", is_number=True, is_wide=True),
    Column("paid until", lambda row: when(row["paid_until"]), is_wide=True),
    Column("gone", lambda row: when(row["released"]), is_wide=True),
)
Machine = Annotated[int, typer.Argument(metavar="MACHINE", help="Number of the machine.")]


@nodes.command("list")
def list_nodes(
    status: Annotated[str, typer.Option(help="held, or a status such as idle, busy, draining or released.")] = "held",
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, help="Maximum number of machines, newest first.")] = 100,
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
    here: Here = False,
) -> None:
    """List machines, newest first.

    Examples:

    - `tradewind nodes list`
    - `tradewind nodes list --status released -o wide`
    """
    with opened(look(server, profile, folder, here=here)) as backend:
        show(backend.machines(status=status, limit=limit), _COLUMNS, output)


@nodes.command()
def drain(
    machine: Machine,
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
    here: Here = False,
) -> None:
    """Release a machine once its tasks have finished.

    Examples:

    - `tradewind nodes drain 17`
    """
    with opened(look(server, profile, folder, here=here)) as backend:
        show([backend.drain(machine)], _COLUMNS, output)


@nodes.command()
def remove(
    machine: Machine,
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
    here: Here = False,
) -> None:
    """Release a machine immediately; its tasks run again elsewhere.

    Examples:

    - `tradewind nodes remove 17`
    """
    with opened(look(server, profile, folder, here=here)) as backend:
        show([backend.remove(machine)], _COLUMNS, output)
