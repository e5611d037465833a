"""`tradewind submit`: hand in a workflow to a server."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tradewind.cli import codes
from tradewind.cli.listing import RUNS
from tradewind.cli.output import refuse, show, show_one
from tradewind.cli.places import Folder, Form, Output, Profile, Server
from tradewind.client.backend import Submission
from tradewind.client.errors import NoServerError, RefusedError
from tradewind.client.open import Where, address
from tradewind.client.open import server as opened_server

_CODES = {"impossible": codes.NEVER, "budget": codes.BUDGET}
"""Exit codes of `run` for what a server refuses."""


def submit(
    file: Annotated[Path, typer.Argument(help="A workflow of any format.")],
    parameter: Annotated[
        list[str] | None,
        typer.Option("-p", "--param", metavar="KEY=VALUE", help="Parameter of the workflow; repeat for more."),
    ] = None,
    params_file: Annotated[Path | None, typer.Option(help="Parameters from a YAML or JSON file.")] = None,
    name: Annotated[str | None, typer.Option(help="Another name for the run.")] = None,
    priority: Annotated[int | None, typer.Option(help="Higher goes first.")] = None,
    deadline: Annotated[str | None, typer.Option(help="Wanted response time, such as 2h.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Whose run it is; default: that of the token.")] = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Go on with what does not depend on a failure.")
    ] = False,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Run each step, whatever ran before.")] = False,
    key: Annotated[str, typer.Option(help="Handing in twice with one key makes one run; default: a new one.")] = "",
    wait: Annotated[bool, typer.Option("--wait", help="Wait for its end; the exit code is that of `run`.")] = False,
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
) -> None:
    """Hand in a workflow; once this returns, the server will not lose it.

    Without a server there is nobody to hand it in to: `tradewind run` runs it on this host, and so does `--wait`.

    Examples:

    - `tradewind submit align.yaml -p sample=NA12878`
    - `tradewind submit montage.json.gz --name night --priority 5 --deadline 2h`
    - `tradewind submit align.yaml --wait --server http://127.0.0.1:8642`

    Exit codes of `--wait`: 0 done, 1 a task failed, 2 wrong use, 3 the budget pays for no machine, 4 deadline missed,
    5 no machine can ever run it, 130 interrupted (the run goes on).
    """
    where = Where(server, profile, folder)
    if address(where) is None:
        for option, value in (
            ("--name", name),
            ("--priority", priority),
            ("--deadline", deadline),
            ("--tenant", tenant),
        ):
            if value is not None:
                raise typer.BadParameter(f"{option} needs a server; name one with --server or --profile")
        if not wait:
            raise NoServerError(f"`tradewind run {file}` runs it here; `tradewind submit`")
        given = (file, parameter or [], params_file, folder)
        raise typer.Exit(_run_here(*given, keep_going=keep_going, uses_cache=not no_cache))
    parameters = _parameters(parameter or [], params_file)
    submission = Submission(file, parameters, name, priority, deadline, tenant, keep_going, key, not no_cache)
    with opened_server(where, "submit") as backend:
        try:
            run = backend.submit(submission)
        except RefusedError as error:
            spot = "" if str(error).startswith(file.name) else f"{file}: "
            refuse(f"{spot}{error}", _CODES.get(error.kind, codes.WRONG_USE))
        if not wait:
            if output in (Form.JSON, Form.YAML):
                show_one(run, output)
            else:
                show([run], RUNS, output)
            return
        from tradewind.cli.watch import follow  # noqa: PLC0415

        typer.echo(run["id"])
        raise typer.Exit(follow(backend, run["id"]))


def _parameters(given: list[str], file: Path | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if file is not None:
        import yaml  # noqa: PLC0415 - slow

        loaded = yaml.safe_load(file.read_text())
        if not isinstance(loaded, dict):
            raise typer.BadParameter(f"{file} does not hold parameters by name")
        found |= loaded
    for text in given:
        key, equals, value = text.partition("=")
        if not equals:
            raise typer.BadParameter(f"{text!r} is not of the form key=value")
        found[key] = value
    return found


def _run_here(
    file: Path,
    parameters: list[str],
    params_file: Path | None,
    folder: Path | None,
    *,
    keep_going: bool,
    uses_cache: bool,
) -> int:
    from tradewind.cli.running import carry_out  # noqa: PLC0415 - slow
    from tradewind.cli.wish import Wish  # noqa: PLC0415
    from tradewind.client.open import FOLDER  # noqa: PLC0415

    wish = Wish(
        file=file,
        parameters=parameters,
        params_file=params_file,
        folder=folder or FOLDER,
        keep_going=keep_going,
        uses_cache=uses_cache,
    )
    return carry_out(wish)
