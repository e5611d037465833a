"""`tradewind tokens`: list, create and revoke the tokens of a server."""

from typing import Annotated

import typer

from tradewind.cli.output import Column, field, show, show_secret, when
from tradewind.cli.places import Folder, Form, Output, Profile, Server
from tradewind.client.open import Where
from tradewind.client.open import server as opened_server

tokens = typer.Typer(help="List, create and revoke the tokens of a server.", no_args_is_help=True)

_COLUMNS = (
    field("id"),
    field("name"),
    field("role"),
    field("tenant"),
    Column("expires", lambda row: when(row["expires"]) or "never"),
    Column("used", lambda row: when(row["used"]) or "never"),
    Column("made", lambda row: when(row["created"]), is_wide=True),
)


@tokens.command("list")
def list_tokens(
    output: Output = Form.TABLE, server: Server = None, profile: Profile = None, folder: Folder = None
) -> None:
    """List tokens; their secrets are not stored.

    Examples:

    - `tradewind tokens list`
    """
    with opened_server(Where(server, profile, folder), "tokens") as backend:
        show(backend.items("/tokens", 10_000), _COLUMNS, output)


@tokens.command()
def create(
    name: Annotated[str, typer.Argument(help="Owner or purpose of the token.")],
    role: Annotated[str, typer.Option(help="admin, user or viewer.")] = "user",
    tenant: Annotated[str | None, typer.Option(help="Tenant of the token.")] = None,
    expires: Annotated[str | None, typer.Option(help="Lifetime, such as 30d; default: no expiry.")] = None,
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
) -> None:
    """Create a token and print it; it cannot be shown again.

    Examples:

    - `tradewind tokens create ada --tenant lab --expires 30d`
    - `tradewind tokens create dashboard --role viewer --tenant lab > token.txt`
    """
    body = {"name": name, "role": role, "tenant": tenant, "expires_in": expires}
    given = {key: value for key, value in body.items() if value is not None}
    with opened_server(Where(server, profile, folder), "tokens") as backend:
        made = backend.ask("POST", "/tokens", json=given)
    show_secret(made, output)


@tokens.command()
def revoke(
    id: Annotated[str, typer.Argument(metavar="ID", help="Id of the token; see `tradewind tokens list`.")],
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
) -> None:
    """Revoke a token immediately.

    Examples:

    - `tradewind tokens revoke k3x9`
    """
    with opened_server(Where(server, profile, folder), "tokens") as backend:
        backend.ask("DELETE", f"/tokens/{id}")
    typer.echo(f"revoked {id}", err=True)
