"""`tradewind profiles`: manage named servers."""

from typing import Annotated

import typer

from tradewind.cli.output import Column, field, show
from tradewind.cli.places import Form, Output
from tradewind.client.errors import ClientError
from tradewind.client.profiles import Profile, load_profiles

profiles = typer.Typer(help="Manage named servers.", no_args_is_help=True)

_COLUMNS = (
    Column("", lambda row: "*" if row["current"] else ""),
    field("name"),
    field("url"),
    field("token"),
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the profile.")]


@profiles.command("list")
def list_profiles(output: Output = Form.TABLE) -> None:
    """List profiles; the current one is marked with a star.

    Examples:

    - `tradewind profiles list`
    """
    known = load_profiles()
    rows = [
        {
            "name": name,
            "url": each.url,
            "token": each.token_file or ("stored" if each.token else "none"),
            "current": name == known.current,
        }
        for name, each in sorted(known.servers.items())
    ]
    show(rows, _COLUMNS, output)


@profiles.command()
def add(
    name: Name,
    url: Annotated[str, typer.Argument(help="Address of the server.")],
    token: Annotated[str, typer.Option(help="A token; - reads it from standard input.")] = "",
    token_file: Annotated[str, typer.Option(help="A file that holds the token.")] = "",
) -> None:
    """Add or change a profile; the first becomes the current one.

    Examples:

    - `tradewind profiles add team https://tradewind.example.org --token-file ~/.secrets/tradewind`
    - `tradewind profiles add here http://127.0.0.1:8642`
    """
    if token and token_file:
        raise typer.BadParameter("give a token or the file that holds it, not both")
    if not url.startswith(("http://", "https://")):
        raise typer.BadParameter(f"{url!r} is not a server address such as http://127.0.0.1:8642")
    known = load_profiles()
    is_piped = token == "-"  # noqa: S105  a marker for standard input, not a password
    known.servers[name] = Profile(
        url, typer.get_text_stream("stdin").readline().strip() if is_piped else token, token_file
    )
    known.current = known.current or name
    known.save()
    typer.echo(f"saved profile {name} in {known.path}", err=True)


@profiles.command()
def use(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the profile; `none`: use folders, not a server.")
    ],
) -> None:
    """Make a profile the current one.

    Examples:

    - `tradewind profiles use team`
    - `tradewind profiles use none`
    """
    known = load_profiles()
    if name != "none":
        known.named(name)
    known.current = "" if name == "none" else name
    known.save()


@profiles.command()
def remove(name: Name) -> None:
    """Remove a profile.

    Examples:

    - `tradewind profiles remove team`
    """
    known = load_profiles()
    if known.servers.pop(name, None) is None:
        raise ClientError(f"no profile is named {name!r}")
    if known.current == name:
        known.current = ""
    known.save()
