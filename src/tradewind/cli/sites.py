"""`tradewind sites`: who works on divisible jobs, and the tokens that let them in."""

from typing import Annotated

import typer

from tradewind.cli.output import Column, field, show, show_secret, when
from tradewind.cli.places import Folder, Form, Output, Profile, Server
from tradewind.client.open import Where
from tradewind.client.open import server as opened_server
from tradewind.model.units import in_seconds, parse_duration

sites = typer.Typer(help="Show sites, and make and revoke their tokens.", no_args_is_help=True)

_COLUMNS = (
    field("site"),
    field("active"),
    field("slots", is_number=True),
    field("max_slots", "most", is_number=True),
    field("hint", "wanted", is_number=True),
    field("running", is_number=True),
    field("speed", is_wide=True, is_number=True),
    Column("heard of", lambda row: when(row["updated"])),
)


@sites.command("list")
def list_sites(
    output: Output = Form.TABLE, server: Server = None, profile: Profile = None, folder: Folder = None
) -> None:
    """List the sites that serve you.

    Examples:

    - `tradewind sites list`
    """
    with opened_server(Where(server, profile, folder), "sites") as backend:
        show(backend.items("/sites", 10_000), _COLUMNS, output)


@sites.command()
def token(
    site: Annotated[str, typer.Argument(help="Name of the site that it lets in.")],
    tenant: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Whom the site serves; repeat for more.")
    ] = None,
    expires: Annotated[str, typer.Option(help="After how long it is void, such as 30d; default: never.")] = "",
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
) -> None:
    """Make a token for a site and print it: this is the only time that it is shown.

    Examples:

    - `tradewind sites token cluster > cluster.token`
    """
    body: dict[str, object] = {"site": site, "tenants": tenant or []}
    if expires:
        body["expires_in"] = in_seconds(parse_duration(expires))
    with opened_server(Where(server, profile, folder), "sites") as backend:
        made = backend.ask("POST", "/site-tokens", json=body)
    show_secret(made, output)


@sites.command()
def revoke(
    id: Annotated[str, typer.Argument(metavar="ID", help="Of the token.")],
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
) -> None:
    """Make the token of a site void at once.

    Examples:

    - `tradewind sites revoke 4be1…`
    """
    with opened_server(Where(server, profile, folder), "sites") as backend:
        backend.ask("DELETE", f"/site-tokens/{id}")
    typer.echo(f"{id} is void", err=True)
