"""`tradewind server`: runs of many people, over REST."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tradewind.model.errors import TradewindError
from tradewind.policies.compose import roles


def server(
    config: Annotated[
        Path | None, typer.Option(help="Settings; default: tradewind.toml here, if there is one.")
    ] = None,
    folder: Annotated[Path | None, typer.Option(help="Where results and the store are kept.")] = None,
    store: Annotated[str | None, typer.Option(help="Store: a path or postgresql://HOST/DATABASE.")] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0: any that is free.")] = None,
    machines: Annotated[Path | None, typer.Option(help="Machine types; default: this host, used fully.")] = None,
    accept_unknown: Annotated[
        bool,
        typer.Option(
            "--accept-unknown",
            help="Accept work that no known machine type can run; it waits until such a machine joins.",
        ),
    ] = False,
    policy: Annotated[str | None, typer.Option(help="What decides; see `tradewind policies`.")] = None,
    policy_parameter: Annotated[
        list[str] | None, typer.Option("-P", metavar="KEY=VALUE", help="Policy parameter; repeat for more.")
    ] = None,
    placer: Annotated[str | None, typer.Option(help="Place like another policy.")] = None,
    balancer: Annotated[str | None, typer.Option(help="What shares out divisible steps.")] = None,
    interval: Annotated[str | None, typer.Option(help="How often to decide.")] = None,
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="Let everybody on this host in; only on a loopback address.")
    ] = False,
    stop_machines: Annotated[
        bool,
        typer.Option("--stop-machines", help="End the machines that an earlier server left running, and exit."),
    ] = False,
    init: Annotated[bool, typer.Option("--init", help="Make the store and an admin token, and end.")] = False,
) -> None:
    """Serve runs of many people over REST under `/api/v1`. Tasks survive restarts and upgrades.

    Ctrl-C and SIGTERM stop the server and leave tasks running; the next server takes them over. To end them as well,
    stop the server, then run it with `--stop-machines`.

    Settings come from `tradewind.toml`, variables such as `TRADEWIND_SERVER__PORT=8642`, and these flags. The first
    start prints a token for the first administrator, once.

    Examples:

    - `tradewind server --no-auth`
    - `tradewind server --machines machines.yaml --policy pfa --host 0.0.0.0`
    - `TRADEWIND_SERVER__STORE=postgresql://db/tradewind tradewind server --init`
    """
    try:
        from tradewind.live.engines.agents import FOLDER, stop_all  # noqa: PLC0415
        from tradewind.live.folder import alone_in  # noqa: PLC0415
        from tradewind.server.app import first_token, prepared, serve  # noqa: PLC0415  an extra of its own
        from tradewind.server.settings import load_settings  # noqa: PLC0415
    except ImportError as error:
        raise TradewindError(f"a server needs another package ({error}); pip install 'tradewind[server]'") from error

    flags: dict[str, dict[str, Any]] = {"server": {}, "machines": {}, "policy": {}}
    for section, key, value in (
        ("server", "folder", folder),
        ("server", "store", store),
        ("server", "host", host),
        ("server", "port", port),
        ("machines", "file", machines),
        ("policy", "name", policy),
        ("policy", "interval", interval),
    ):
        if value is not None:
            flags[section][key] = value
    if accept_unknown:
        flags["machines"]["accept_unknown"] = True
    if no_auth:
        flags["server"]["auth"] = False
    if parameters := dict(_split(text) for text in policy_parameter or ()) | roles(placer, balancer):
        flags["policy"]["parameters"] = parameters
    settings = load_settings(config, flags=flags)
    if stop_machines:
        with alone_in(settings.server.folder):
            count = stop_all(settings.server.folder / FOLDER, 2 * settings.server.grace + 1)
        typer.echo(f"ended {count} machine{'' if count == 1 else 's'}; the next server runs their tasks again")
        return
    if init:
        context = prepared(settings, _say)
        token = first_token(context)
        typer.echo(f"admin token: {token}" if token else "there are tokens already; nothing was made")
        context.store.close()
        return
    raise typer.Exit(serve(settings, _say))


def _say(text: str) -> None:
    typer.echo(text, err=True)


def _split(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise typer.BadParameter(f"{text!r} is not of the form key=value")
    return key, value
