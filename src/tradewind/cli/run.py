"""`tradewind run`: run a workflow for real, on this host.

This file loads next to nothing: while `running` and all that it needs is being loaded, the process that will start
workers is on its way already, and another one reads the workflow.
"""

from contextlib import closing
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from tradewind.cli.early import Early


class Wish(NamedTuple):
    """What a user has asked for."""

    file: Path | None
    parameters: list[str]
    params_file: Path | None
    machines: Path | None
    policy: str | None
    policy_parameters: list[str]
    budget: str | None
    interval: str | None
    folder: Path
    dry_run: bool
    keep_going: bool
    json: bool
    events: Path | None
    services: tuple[Path, ...] = ()
    """Files that describe what a workflow of Steep speaks of."""
    replay: float | None = None
    """How many times faster a recording is replayed; None: what the workflow says is done."""
    burns: bool = False
    retry: str = ""
    """Try again what failed of this run."""
    uses_cache: bool = True
    deadline: str | None = None
    """Wanted response time, instead of what the workflow says."""


def run(
    context: typer.Context,
    file: Annotated[Path | None, typer.Argument(help="A workflow that does real work.")] = None,
    parameter: Annotated[list[str] | None, typer.Option("-p", help="Parameter of the workflow as key=value.")] = None,
    params_file: Annotated[Path | None, typer.Option(help="Parameters from a YAML or JSON file.")] = None,
    machines: Annotated[
        Path | None, typer.Option(help="Machine types to play; default: this host, used fully.")
    ] = None,
    policy: Annotated[str | None, typer.Option(help="What decides; see `tradewind policies`.")] = None,
    policy_parameter: Annotated[list[str] | None, typer.Option("-P", help="Policy parameter as key=value.")] = None,
    budget: Annotated[str | None, typer.Option(help="What may be spent per interval.")] = None,
    interval: Annotated[str | None, typer.Option(help="How often to decide; what the budget is for.")] = None,
    folder: Annotated[Path, typer.Option(help="Where results and the store are kept.")] = Path(".tradewind"),
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what was interrupted.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would run first, and run nothing.")] = False,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Go on with what does not depend on a failure.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
    events: Annotated[Path | None, typer.Option(help="Write the event log: .jsonl, .jsonl.gz or .parquet.")] = None,
    services: Annotated[
        list[Path] | None, typer.Option(help="Services and macros of a Steep workflow; default: those beside it.")
    ] = None,
    more: Annotated[list[Path] | None, typer.Argument(hidden=True)] = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="Let steps take their recorded time, and do nothing.")
    ] = False,
    speed: Annotated[float, typer.Option(min=0.001, help="How many times faster to replay.")] = 1.0,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Run each step, whatever ran before.")] = False,
    burn: Annotated[bool, typer.Option("--burn", help="Replay with busy processors instead of sleep.")] = False,
    deadline: Annotated[str | None, typer.Option(help="Wanted response time, such as 2h.")] = None,
) -> None:
    """Run a workflow on this host, durably; what was interrupted in any way can be resumed.

    Examples:

    - `tradewind run align.yaml -p sample=NA12878`
    - `tradewind run align.yaml --machines machines.yaml --policy pfa --budget 2 --interval 1m`
    - `tradewind run workflow.yaml --services services/*.yaml`
    - `tradewind run trace.json --replay --speed 100`
    - `tradewind run align.yaml --machines machines.yaml --policy scs+ --deadline 2h`
    - `tradewind run --resume`

    Exit codes: 0 done, 1 a task failed, 2 wrong use, 3 the budget pays for no machine, 4 deadline missed,
    5 no machine can ever run it, 130 interrupted.
    """
    if (file is None) != resume:
        raise typer.BadParameter("give a workflow, or --resume")
    if more and not services:  # a shell has made several words of the pattern behind --services
        raise typer.BadParameter(f"one workflow at a time; what is {more[0]} for?")
    if (burn or speed != 1) and not replay:
        raise typer.BadParameter("--speed and --burn say nothing without --replay")
    wish = Wish(
        file,
        parameter or [],
        params_file,
        machines,
        policy,
        policy_parameter or [],
        budget,
        interval,
        folder,
        dry_run,
        keep_going,
        json,
        events,
        (*(services or ()), *(more or ())),
        speed if replay else None,
        burn,
        uses_cache=not no_cache,
        deadline=deadline,
    )
    early = context.obj if isinstance(context.obj, Early) else Early()
    with closing(early):
        is_for_this_host = machines is None and not services and not replay
        ahead = early.ahead(file) if file is not None and is_for_this_host else None
        keeper = None if dry_run else early.keeper()
        from tradewind.cli.running import carry_out  # noqa: PLC0415 - slow

        code = carry_out(wish, ahead, keeper)
    raise typer.Exit(code)
