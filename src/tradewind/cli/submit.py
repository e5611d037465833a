"""`tradewind submit`: submit a workflow to a server."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
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
from tradewind.formats.iterations import STEP, Iterations, program_text

_CODES = {"impossible": codes.NEVER, "budget": codes.BUDGET}
"""Exit codes of `run` for workflows that a server rejects."""


def submit(
    words: Annotated[
        list[str],
        typer.Argument(metavar="FILE | -- COMMAND", help="A workflow in any format, or the command of --iterations."),
    ],
    parameter: Annotated[
        list[str] | None,
        typer.Option("-p", "--param", metavar="KEY=VALUE", help="Parameter of the workflow; repeat for more."),
    ] = None,
    params_file: Annotated[Path | None, typer.Option(help="Parameters from a YAML or JSON file.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the run; default: the workflow's.")] = None,
    priority: Annotated[int | None, typer.Option(help="Higher runs first.")] = None,
    deadline: Annotated[str | None, typer.Option(help="Maximum response time, such as 2h.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Tenant of the run; default: the token's.")] = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Continue with tasks that do not depend on a failed one.")
    ] = False,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Ignore cached results and run every step.")] = False,
    key: Annotated[
        str, typer.Option(help="Idempotency key: submitting again with the same key returns the same run.")
    ] = "",
    remote_files: Annotated[
        bool, typer.Option("--remote-files", help="File paths refer to the server; upload nothing.")
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for the run to end; the exit code is that of `run`.")
    ] = False,
    iterations: Annotated[
        int | None, typer.Option(min=1, help="Submit a divisible job: COMMAND works on this many iterations.")
    ] = None,
    within: Annotated[str, typer.Option(help="Target time of the iterations, such as 45m.")] = "",
    reduce: Annotated[str, typer.Option(help="How results are combined: concatenate (default) or sum.")] = "",
    reduce_run: Annotated[str, typer.Option(help="A command that combines the results.")] = "",
    reduce_python: Annotated[str, typer.Option(help="A function, module:function, that combines the results.")] = "",
    shares: Annotated[int | None, typer.Option(min=1, help="Shares of the iterations at the start.")] = None,
    max_shares: Annotated[int | None, typer.Option(min=1, help="Maximum number of concurrent shares.")] = None,
    balancer: Annotated[str, typer.Option(help="Balancer of the iterations; default: ruper.")] = "",
    input: Annotated[Path | None, typer.Option(help="A file that every share gets.")] = None,
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
) -> None:
    """Submit a workflow, or a divisible job. It is stored durably before the command returns.

    Local files given as parameters of type `file` are uploaded.

    Without a server, `tradewind run` runs it on this host, and so does `--wait`.

    Examples:

    - `tradewind submit align.yaml -p sample=NA12878`
    - `tradewind submit montage.json.gz --name night --priority 5 --deadline 2h`
    - `tradewind submit align.yaml --wait --server http://127.0.0.1:8642`
    - `tradewind submit --iterations 1000000 --deadline 45m --reduce sum -- python option.py`

    Exit codes of `--wait`: 0 done, 1 a task failed, 2 invalid usage, 3 the budget cannot pay for any machine, 4
    deadline missed, 5 no machine can ever run it, 130 interrupted (the run continues).
    """
    job = {
        "--within": within,
        "--reduce": reduce,
        "--reduce-run": reduce_run,
        "--reduce-python": reduce_python,
        "--shares": shares,
        "--max-shares": max_shares,
        "--balancer": balancer,
        "--input": input,
    }
    with _document(words, iterations, {option: value for option, value in job.items() if value}) as file:
        submission = Submission(
            file=file,
            parameters=_parameters(parameter or [], params_file),
            name=name or (STEP if iterations else None),
            priority=priority,
            deadline=deadline,
            tenant=tenant,
            keep_going=keep_going,
            key=key,
            uploads=not remote_files,
            uses_cache=not no_cache,
        )
        where = Where(server, profile, folder)
        if address(where) is None:
            raise typer.Exit(_run_here(submission, parameter or [], params_file, folder, name, wait=wait))
        raise typer.Exit(_send(submission, where, output, wait=wait))


@contextmanager
def _document(words: list[str], iterations: int | None, job: dict[str, Any]) -> Iterator[Path]:
    """The file to submit; that of a divisible job is written for the occasion, beside the programs it names."""
    if iterations is None:
        if job:
            raise typer.BadParameter(f"{', '.join(job)}: only with --iterations")
        if len(words) > 1:
            raise typer.BadParameter(f"one workflow at a time, not {len(words)}; a command needs --iterations")
        yield Path(words[0])
        return
    if len({"--reduce", "--reduce-run", "--reduce-python"} & job.keys()) > 1:
        raise typer.BadParameter("give one of --reduce, --reduce-run and --reduce-python")
    fields = {option.removeprefix("--").replace("-", "_"): value for option, value in job.items()}
    text = program_text(Iterations(iterations, tuple(words), **fields))
    with NamedTemporaryFile("w", dir=Path.cwd(), prefix=f".{STEP}-", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        yield Path(file.name)


def _send(submission: Submission, where: Where, output: Form, *, wait: bool) -> int:
    """Submit to a server; return the exit code."""
    file = submission.file
    with opened_server(where, "submit") as backend:
        try:
            run = backend.submit(submission)
        except RefusedError as error:
            if error.status == 413:
                remedy = "put large files where the server can read them, and pass their paths with --remote-files"
                refuse(f"{file}: {error}; {remedy}", codes.WRONG_USE)
            spot = "" if str(error).startswith(file.name) else f"{file}: "
            refuse(f"{spot}{error}", _CODES.get(error.kind, codes.WRONG_USE))
        if not wait:
            if output in (Form.JSON, Form.YAML):
                show_one(run, output)
            else:
                show([run], RUNS, output)
            return codes.DONE
        from tradewind.cli.watch import follow  # noqa: PLC0415

        typer.echo(run["id"])
        return follow(backend, run["id"])


def _parameters(given: list[str], file: Path | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if file is not None:
        import yaml  # noqa: PLC0415 - slow

        loaded = yaml.safe_load(file.read_text())
        if not isinstance(loaded, dict):
            raise typer.BadParameter(f"{file} does not contain parameters by name")
        found |= loaded
    for text in given:
        key, equals, value = text.partition("=")
        if not equals:
            raise typer.BadParameter(f"{text!r} is not of the form key=value")
        found[key] = value
    return found


def _run_here(
    submission: Submission,
    parameters: list[str],
    params_file: Path | None,
    folder: Path | None,
    name: str | None,
    *,
    wait: bool,
) -> int:
    """Run on this host, for want of a server; return the exit code."""
    options = {"--name": name, "--priority": submission.priority, "--deadline": submission.deadline}
    for option, value in (options | {"--tenant": submission.tenant}).items():
        if value is not None:
            raise typer.BadParameter(f"{option} needs a server; name one with --server or --profile")
    if not wait:
        raise NoServerError(f"`tradewind run {submission.file.name}` runs it here; `tradewind submit`")
    from tradewind.cli.running import carry_out  # noqa: PLC0415 - slow
    from tradewind.cli.wish import Wish  # noqa: PLC0415
    from tradewind.client.open import FOLDER  # noqa: PLC0415

    wish = Wish(
        file=submission.file,
        parameters=parameters,
        params_file=params_file,
        folder=folder or FOLDER,
        keep_going=submission.keep_going,
        uses_cache=submission.uses_cache,
    )
    return carry_out(wish)
