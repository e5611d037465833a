"""`tradewind agents`: the agents of a server, and the tokens that let them in."""

from typing import Annotated

import typer

from tradewind.cli.output import Column, field, show, show_secret, when
from tradewind.cli.places import Folder, Form, Output, Profile, Server
from tradewind.client.open import Where
from tradewind.client.open import server as opened_server
from tradewind.model.units import in_seconds, parse_duration

agents = typer.Typer(help="List the agents of a server, and create and revoke their tokens.", no_args_is_help=True)

_COLUMNS = (
    field("agent"),
    field("slots", is_number=True),
    field("max_slots", "most", is_number=True),
    field("wanted", is_number=True),
    field("running", is_number=True),
    field("capabilities"),
    field("tenants"),
    field("version", is_wide=True),
)


_TOKENS = (
    field("id"),
    field("agent"),
    field("tenants"),
    field("owner"),
    Column("created", lambda row: when(row["created"])),
    Column("expires", lambda row: when(row["expires"])),
)


@agents.command("list")
def list_agents(
    output: Output = Form.TABLE, server: Server = None, profile: Profile = None, folder: Folder = None
) -> None:
    """List the agents that are connected and serve you.

    Examples:

    - `tradewind agents list`
    """
    with opened_server(Where(server, profile, folder), "agents") as backend:
        show(backend.items("/agents", 10_000), _COLUMNS, output)


@agents.command("tokens")
def list_tokens(
    output: Output = Form.TABLE, server: Server = None, profile: Profile = None, folder: Folder = None
) -> None:
    """List the tokens of agents that are not revoked, with their ids.

    Examples:

    - `tradewind agents tokens`
    """
    with opened_server(Where(server, profile, folder), "agents") as backend:
        show(backend.items("/agent-tokens", 10_000), _TOKENS, output)


@agents.command()
def token(
    agent: Annotated[str, typer.Argument(help="Name of the agent.")],
    tenant: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A tenant that the agent serves; repeat for more.")
    ] = None,
    expires: Annotated[str, typer.Option(help="Lifetime, such as 30d; default: unlimited.")] = "",
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
) -> None:
    """Create a token for an agent and print it. It is not shown again.

    Examples:

    - `tradewind agents token cluster > cluster.token`
    """
    body: dict[str, object] = {"agent": agent, "tenants": tenant or []}
    if expires:
        body["expires_in"] = in_seconds(parse_duration(expires))
    with opened_server(Where(server, profile, folder), "agents") as backend:
        made = backend.ask("POST", "/agent-tokens", json=body)
    show_secret(made, output)


@agents.command()
def revoke(
    id: Annotated[str, typer.Argument(metavar="ID", help="Id of the token; see `tradewind agents tokens`.")],
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
) -> None:
    """Revoke a token immediately. Its agent is dropped, and its work runs again elsewhere.

    Examples:

    - `tradewind agents revoke 4be1…`
    """
    with opened_server(Where(server, profile, folder), "agents") as backend:
        backend.ask("DELETE", f"/agent-tokens/{id}")
    typer.echo(f"token {id} is revoked", err=True)
