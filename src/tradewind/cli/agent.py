"""`tradewind agent`: offer this machine to a server elsewhere."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from tradewind.model.units import MINUTE, parse_price, parse_size

T = TypeVar("T")


def agent(
    command: Annotated[
        list[str] | None,
        typer.Argument(help="Run this, after --, for shares of divisible jobs, and nothing that the server sends."),
    ] = None,
    server: Annotated[
        str,
        typer.Option(
            envvar="TRADEWIND_SERVER",
            show_envvar=False,
            show_default=False,
            help="Address of the server; default: TRADEWIND_SERVER.",
        ),
    ] = "",
    token_file: Annotated[Path | None, typer.Option(help="File with the agent's token.", show_default=False)] = None,
    slots: Annotated[
        int | None,
        typer.Option(min=1, help="Machines to offer, each for one task at a time.", show_default="the whole host"),
    ] = None,
    max_slots: Annotated[
        int | None, typer.Option(min=1, help="Machines to offer when the server wants more.", show_default="--slots")
    ] = None,
    cpus: Annotated[int | None, typer.Option(min=1, help="CPUs of each machine.", show_default=False)] = None,
    memory: Annotated[str, typer.Option(help="Memory of each machine, such as 16G.", show_default=False)] = "",
    provides: Annotated[
        str, typer.Option(metavar="NAME,…", help="Capabilities, such as gpu,licence-x.", show_default=False)
    ] = "",
    price: Annotated[str, typer.Option(help="Price of each machine, such as 0.085/h.")] = "0",
    speed: Annotated[float, typer.Option(min=0.001, help="Speed relative to the declared run times.")] = 1.0,
    name: Annotated[str, typer.Option(help="Fail unless the token is for this agent.", show_default=False)] = "",
    function: Annotated[str, typer.Option(help="Call module:function with each chunk instead of a command.")] = "",
    reduce: Annotated[
        bool, typer.Option("--reduce", help="With a command or function of your own, run reducers of users as well.")
    ] = False,
    hook: Annotated[str, typer.Option(help="Program called with the number of slots whenever it changes.")] = "",
    folder: Annotated[Path, typer.Option(help="Folder for orders and files.")] = Path(".tradewind-agent"),
    grace: Annotated[float, typer.Option(min=0, help="Seconds for work to end when the agent is stopped.")] = 30.0,
    leave_running: Annotated[
        bool,
        typer.Option("--leave-running", help="On a stop, leave work running for the next agent in the same folder."),
    ] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the folders of tasks.")] = False,
) -> None:
    """Offer this machine to a server: take its work over outbound HTTPS, run it here, report.

    Work survives the end of the agent's process: the next one in the same folder goes on with it. On SIGTERM or Ctrl-C
    the agent takes no more work, waits for what runs, and leaves.

    Examples:

    - `tradewind agent --server https://tradewind.example.org --token-file desk.token`
    - `tradewind agent --server https://tradewind.example.org --token-file cluster.token --slots 4 --max-slots 16`
    - `tradewind agent --server https://tradewind.example.org --token-file gpu.token --slots 1 --provides gpu`
    - `tradewind agent --server https://tradewind.example.org --token-file mc.token --slots 8 -- python simulate.py`
    """
    from tradewind.agent.fixed import Fixed  # noqa: PLC0415
    from tradewind.agent.offer import Offer  # noqa: PLC0415  half of what starting takes
    from tradewind.agent.process import Plan, run_agent  # noqa: PLC0415

    if not server.startswith(("http://", "https://")):
        raise typer.BadParameter("give the address of the server, such as https://…", param_hint="--server")
    if token_file is None:
        raise typer.BadParameter("give the file with the agent's token", param_hint="--token-file")
    if max_slots is not None and slots is None:
        raise typer.BadParameter("add --slots; without it the whole host is one machine", param_hint="--max-slots")
    if command and function:
        raise typer.BadParameter("give either a command or --function", param_hint="--function")
    offer = Offer(
        slots=slots,
        most=max_slots,
        cpus=cpus,
        memory=_parsed(parse_size, memory, "--memory") if memory else None,
        provides=tuple(filter(None, map(str.strip, provides.split(",")))),
        price=_parsed(lambda text: parse_price(text, MINUTE), price, "--price"),
        speed=speed,
    )
    plan = Plan(
        server.rstrip("/"),
        token_file.read_text().strip(),
        folder.resolve(),
        offer,
        name=name,
        fixed=Fixed(tuple(command or ()), function, reduce),
        hook=hook,
        grace=grace,
        keeps=keep,
        leaves=leave_running,
    )
    run_agent(plan, lambda text: typer.echo(text, err=True))


def _parsed(read: Callable[[str], T], text: str, option: str) -> T:
    try:
        return read(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None
