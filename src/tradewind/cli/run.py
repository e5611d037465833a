"""`tradewind run`: run a workflow for real, on this host.

Mostly `wish` has understood the words already, and nobody comes here but for help, or to learn what is wrong with them.
"""

from pathlib import Path
from typing import Annotated

import typer

from tradewind.cli.early import Early, fulfil
from tradewind.cli.wish import UsageError, wished


def run(
    context: typer.Context,
    file: Annotated[Path | None, typer.Argument(help="A workflow that does real work.")] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option("-p", "--param", metavar="KEY=VALUE", help="Parameter of the workflow; repeat for more."),
    ] = None,
    params_file: Annotated[Path | None, typer.Option(help="Parameters from a YAML or JSON file.")] = None,
    machines: Annotated[
        Path | None, typer.Option(help="Machine types to play; default: this host, used fully.")
    ] = None,
    policy: Annotated[str | None, typer.Option(help="What decides; see `tradewind policies`.")] = None,
    policy_parameter: Annotated[
        list[str] | None, typer.Option("-P", metavar="KEY=VALUE", help="Parameter of the policy; repeat for more.")
    ] = None,
    placer: Annotated[str | None, typer.Option(help="Place like another policy.")] = None,
    balancer: Annotated[str | None, typer.Option(help="What shares out divisible steps.")] = None,
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
        list[Path] | None,
        typer.Option(metavar="<path>", help="Services and macros of a Steep workflow; default: those beside it."),
    ] = None,
    more: Annotated[list[Path] | None, typer.Argument(hidden=True)] = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="Let steps take their recorded time, and do nothing.")
    ] = False,
    speed: Annotated[float, typer.Option(min=0.001, help="How many times faster to replay.")] = 1.0,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Run each step, whatever ran before.")] = False,
    burn: Annotated[bool, typer.Option("--burn", help="Replay with busy processors instead of sleep.")] = False,
    deadline: Annotated[str | None, typer.Option(help="Wanted response time, such as 2h.")] = None,
    store: Annotated[
        str | None, typer.Option(help="Store: a path or postgresql://HOST/DATABASE; default: in the folder.")
    ] = None,
) -> None:
    """Run a workflow on this host, durably; what was interrupted in any way can be resumed.

    Examples:

    - `tradewind run align.yaml -p sample=NA12878`
    - `tradewind run align.yaml --machines machines.yaml --policy pfa --budget 2 --interval 1m`
    - `tradewind run workflow.yaml --services services/*.yaml`
    - `tradewind run trace.json --replay --speed 100`
    - `tradewind run align.yaml --machines machines.yaml --policy scs+ --deadline 2h`
    - `tradewind run --resume`
    - `tradewind run align.yaml --store postgresql://localhost/runs`

    Exit codes: 0 done, 1 a task failed, 2 wrong use, 3 the budget pays for no machine, 4 deadline missed,
    5 no machine can ever run it, 130 interrupted.
    """
    try:
        wish = wished(
            file=file,
            parameter=parameter,
            params_file=params_file,
            machines=machines,
            policy=policy,
            placer=placer,
            balancer=balancer,
            policy_parameter=policy_parameter,
            budget=budget,
            interval=interval,
            folder=folder,
            resume=resume,
            dry_run=dry_run,
            keep_going=keep_going,
            json=json,
            events=events,
            services=services,
            more=more,
            replay=replay,
            speed=speed,
            no_cache=no_cache,
            burn=burn,
            deadline=deadline,
            store=store,
        )
        code = fulfil(wish, context.obj if isinstance(context.obj, Early) else Early())
    except UsageError as error:
        raise typer.BadParameter(str(error)) from None
    raise typer.Exit(code)
