"""`tradewind tenants`: list and change the tenants of a server."""

from typing import Annotated, Any

import typer

from tradewind.cli.output import Column, Plain, duration, field, show, show_one
from tradewind.cli.places import Folder, Form, Output, Profile, Server
from tradewind.client.open import Where
from tradewind.client.open import server as opened_server
from tradewind.model.units import in_units, parse_money

tenants = typer.Typer(help="List and change the tenants of a server.", no_args_is_help=True)

_NONE = "none"


def _or_none(name: str) -> Column:
    return Column(name, lambda row: "" if row[name] is None else f"{row[name]:g}", is_number=True)


_COLUMNS = (
    field("name"),
    _or_none("budget"),
    Column("per", lambda row: duration(row["interval"]), is_number=True),
    field("spent", is_number=True),
    _or_none("remaining"),
    field("weight", is_number=True),
    Column("max runs", lambda row: _whole(row["max_active_runs"]), is_number=True, is_wide=True),
    Column("max tasks", lambda row: _whole(row["max_tasks"]), is_number=True, is_wide=True),
    Column("max machines", lambda row: _whole(row.get("max_machines")), is_number=True, is_wide=True),
    field("spent_total", "spent in total", is_number=True, is_wide=True),
)
Name = Annotated[str, typer.Argument(metavar="TENANT", help="Name of the tenant.")]


def _whole(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


@tenants.command("list")
def list_tenants(
    output: Output = Form.TABLE, server: Server = None, profile: Profile = None, folder: Folder = None
) -> None:
    """List tenants with their budgets and spending.

    Examples:

    - `tradewind tenants list -o wide`
    """
    with opened_server(Where(server, profile, folder), "tenants") as backend:
        show(backend.items("/tenants", 10_000), _COLUMNS, output)


@tenants.command("set")
def set_tenant(
    name: Name,
    budget: Annotated[str | None, typer.Option(help="Budget per interval; `none`: no limit.")] = None,
    interval: Annotated[str | None, typer.Option(help="Period of the budget, such as 1h.")] = None,
    weight: Annotated[float | None, typer.Option(help="Relative share of scarce machines.")] = None,
    runs: Annotated[str | None, typer.Option(help="Maximum number of active runs; `none`: no limit.")] = None,
    tasks: Annotated[str | None, typer.Option(help="Maximum number of tasks in active runs; `none`: no limit.")] = None,
    machines: Annotated[str | None, typer.Option(help="Maximum number of machines held; `none`: no limit.")] = None,
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
) -> None:
    """Create a tenant, or change some of its settings.

    Examples:

    - `tradewind tenants set lab --budget 20 --interval 1h`
    - `tradewind tenants set lab --budget none --runs 100 --machines 20`
    """
    body: dict[str, Any] = {}
    if budget is not None:
        body["budget"] = None if budget == _NONE else in_units(parse_money(budget))
    if interval is not None:
        body["interval"] = interval
    if weight is not None:
        body["weight"] = weight
    body |= _limit("max_active_runs", "--runs", runs) | _limit("max_tasks", "--tasks", tasks)
    body |= _limit("max_machines", "--machines", machines)
    with opened_server(Where(server, profile, folder), "tenants") as backend:
        _told(backend.ask("PUT", f"/tenants/{name}", json=body), output)


@tenants.command()
def remove(name: Name, server: Server = None, profile: Profile = None, folder: Folder = None) -> None:
    """Remove a tenant without active runs and machines.

    Examples:

    - `tradewind tenants remove lab`
    """
    with opened_server(Where(server, profile, folder), "tenants") as backend:
        backend.ask("DELETE", f"/tenants/{name}")
    typer.echo(f"removed {name}", err=True)


def _limit(field_name: str, option: str, text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    if text != _NONE and not text.isdigit():
        raise typer.BadParameter(f"{option}: {text!r} is neither a number nor `none`")
    return {field_name: None if text == _NONE else int(text)}


def _told(tenant: Plain, output: Form) -> None:
    if output in (Form.JSON, Form.YAML):
        show_one(tenant, output)
    else:
        show([tenant], _COLUMNS, output)
