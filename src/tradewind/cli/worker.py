"""`tradewind worker`: let this machine work on divisible jobs of a service elsewhere."""

import sys
from pathlib import Path
from typing import Annotated

import typer


def worker(
    command: Annotated[
        list[str] | None, typer.Argument(help="Run for each partition, after --; default: what the job says.")
    ] = None,
    server: Annotated[
        str,
        typer.Option(
            envvar="TRADEWIND_SERVER",
            show_envvar=False,
            show_default=False,
            help="Address of the service; default: TRADEWIND_SERVER.",
        ),
    ] = "",
    token_file: Annotated[Path | None, typer.Option(help="File with this site's token.", show_default=False)] = None,
    slots: Annotated[int, typer.Option(min=1, help="Partitions at once, at the start.")] = 1,
    max_slots: Annotated[
        int | None,
        typer.Option(min=1, help="Partitions at once, when the service asks for more.", show_default="slots"),
    ] = None,
    function: Annotated[str, typer.Option(help="Call module:function with each chunk instead of a command.")] = "",
    hook: Annotated[str, typer.Option(help="Program called with the number of slots whenever it changes.")] = "",
    folder: Annotated[Path, typer.Option(help="Where partitions work.")] = Path(".tradewind-worker"),
    grace: Annotated[float, typer.Option(min=0, help="Seconds to deliver and end when stopped.")] = 30.0,
    reduce: Annotated[
        bool, typer.Option("--reduce", help="With a command or function of its own, run the reducers of jobs too.")
    ] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the folders of partitions that ended well.")] = False,
) -> None:
    """Work on divisible jobs: fetch partitions, run a process for each, report, obey scaling hints.

    Only outbound HTTPS is needed. On SIGTERM or Ctrl-C programs deliver what they have, and the rest goes back.

    Examples:

    - `tradewind worker --server https://tradewind.example.org --token-file site.token --slots 4 --max-slots 16`
    - `tradewind worker --server http://localhost:8642 --token-file site.token --function montecarlo:simulate`
    - `tradewind worker --server http://localhost:8642 --token-file site.token -- python simulate.py`
    """
    from tradewind.worker.frontend import Plan, run_worker  # noqa: PLC0415  half of what starting takes

    if not server.startswith(("http://", "https://")):
        raise typer.BadParameter("give the address of the service, such as https://…", param_hint="--server")
    if token_file is None:
        raise typer.BadParameter("give the file with this site's token", param_hint="--token-file")
    if command and function:
        raise typer.BadParameter("give either a command or --function", param_hint="--function")
    run = (sys.executable, "-m", "tradewind.worker.child", function) if function else tuple(command or ())
    token = token_file.read_text().strip()
    most = max(slots, max_slots or slots)
    plan = Plan(server.rstrip("/"), token, slots, most, folder.resolve(), run, hook, grace, keep, reduce)
    run_worker(plan, lambda text: typer.echo(text, err=True))
