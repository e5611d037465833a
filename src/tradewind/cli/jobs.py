"""`tradewind jobs`: divisible jobs on a server."""

import shlex
import time
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urljoin

import typer

from tradewind.cli.output import Column, Plain, duration, field, show, show_one, show_plain, when
from tradewind.cli.places import Folder, Form, Output, Profile, Server
from tradewind.client.open import Where
from tradewind.client.open import server as opened_server
from tradewind.model.units import in_seconds, parse_duration

jobs = typer.Typer(help="Submit and watch divisible jobs.", no_args_is_help=True)

Id = Annotated[str, typer.Argument(metavar="ID", help="Its id; see `tradewind jobs list`.")]

_LOOK = 1.0
"""Seconds between looks at a job that is watched."""

_COLUMNS = (
    field("id"),
    field("name"),
    field("state"),
    Column("progress", lambda row: f"{row['progress']:.1%}", is_number=True),
    Column("partitions", lambda row: str(row["partitions"]["live"]), is_number=True),
    Column("waiting", lambda row: str(row["partitions"]["queued"]), is_number=True),
    Column("ends in", lambda row: duration(row["eta"]), is_number=True),
    Column("target", lambda row: duration(row["target"]), is_number=True),
    Column("submitted", lambda row: when(row["submitted"])),
    field("tenant", is_wide=True),
    field("outlook", is_wide=True),
)


@jobs.command()
def submit(
    iterations: Annotated[int, typer.Argument(min=1, help="How many there are.")],
    command: Annotated[list[str] | None, typer.Argument(help="Run for each partition, after --.")] = None,
    target: Annotated[str, typer.Option(help="Within which it should end, such as 45m; none: no balancing.")] = "",
    name: Annotated[str, typer.Option(help="For people.")] = "",
    partitions: Annotated[int, typer.Option(min=1, help="At the start.")] = 1,
    max_partitions: Annotated[int, typer.Option(min=1, help="At once.")] = 1_000,
    priority: Annotated[int, typer.Option(help="Higher goes first.")] = 0,
    reducer: Annotated[str, typer.Option(help="concatenate or sum.")] = "concatenate",
    reduce_run: Annotated[str, typer.Option(help="A command that reduces the results on a site.")] = "",
    reduce_python: Annotated[str, typer.Option(help="A function, module:function, that does.")] = "",
    balancer: Annotated[str, typer.Option(help="ruper, ruper-original or static.")] = "ruper",
    input: Annotated[Path | None, typer.Option(help="File that every partition gets.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Whose job it is.")] = None,
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
) -> None:
    """Submit a divisible job and print its id.

    Examples:

    - `tradewind jobs submit 1000000 --target 45m --reducer sum -- python option.py`
    - `tradewind jobs submit 1000000 --reduce-run 'python merge.py' -- python option.py`
    - `tradewind jobs submit 400 --input images.tar --partitions 8 -- ./process.sh`
    """
    body: dict[str, Any] = {
        "iterations": iterations,
        "name": name,
        "initial": partitions,
        "maximum": max(partitions, max_partitions),
        "priority": priority,
        "reducer": reducer,
        "balancer": balancer,
        "command": command or [],
    }
    for kind, reduce in (("run", reduce_run), ("python", reduce_python)):
        if reduce:
            body |= {"reducer": kind, "reduce": reduce}
    if target:
        body["target"] = in_seconds(parse_duration(target))
    if tenant:
        body["tenant"] = tenant
    with opened_server(Where(server, profile, folder), "jobs") as backend:
        if input is not None:
            place = backend.ask("POST", "/inputs")
            _transfer("PUT", urljoin(backend.url, place["url"]), input.read_bytes())
            body["input"] = place["key"]
        made = backend.ask("POST", "/jobs", json=body)
    if output in (Form.JSON, Form.YAML):
        show_plain(made, output)
    else:
        typer.echo(made["id"])


@jobs.command("list")
def list_jobs(
    limit: Annotated[int, typer.Option(min=1, help="At most.")] = 100,
    output: Output = Form.TABLE,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
) -> None:
    """List divisible jobs, newest first.

    Examples:

    - `tradewind jobs list`
    - `tradewind jobs list --output wide`
    """
    with opened_server(Where(server, profile, folder), "jobs") as backend:
        show(backend.items("/jobs", limit), _COLUMNS, output)


@jobs.command()
def get(
    id: Id, output: Output = Form.TABLE, server: Server = None, profile: Profile = None, folder: Folder = None
) -> None:
    """Show a divisible job: how far it is, and when it is expected to end.

    Examples:

    - `tradewind jobs get 8f3a…`
    """
    with opened_server(Where(server, profile, folder), "jobs") as backend:
        found = backend.ask("GET", f"/jobs/{id}")
    show_one(found if output in (Form.JSON, Form.YAML) else _worded(found), output)


def _worded(job: Plain) -> Plain:
    """A job as people read it."""
    moments = {name: when(job.get(name)) for name in ("submitted", "started", "ended")}
    lengths = {name: duration(job.get(name)) for name in ("target", "eta")}
    counts = {name: f"{job[name]:,}" for name in ("iterations", "delivered", "assigned", "unassigned", "computed")}
    words = {"progress": f"{job['progress']:.1%}", "command": shlex.join(job["command"]), "number": None}
    return {**job, **counts, **moments, **lengths, **words}


@jobs.command()
def watch(id: Id, server: Server = None, profile: Profile = None, folder: Folder = None) -> None:
    """Watch a divisible job until it has ended; the exit code is 0 if it is done, else 1.

    Examples:

    - `tradewind jobs watch 8f3a… && tradewind jobs results 8f3a…`
    """
    before = ""
    with opened_server(Where(server, profile, folder), "jobs") as backend:
        while True:
            job = backend.ask("GET", f"/jobs/{id}")
            ends = f", ends in {duration(job['eta'])}" if job.get("eta") is not None else ""
            line = f"{job['state']}: {job['progress']:.1%} of {job['iterations']:,} iterations{ends}"
            if line != before:
                typer.echo(line, err=True)
                before = line
            if job["ended"] is not None:
                break
            time.sleep(_LOOK)
    raise typer.Exit(0 if job["state"] == "done" else 1)


@jobs.command()
def cancel(id: Id, server: Server = None, profile: Profile = None, folder: Folder = None) -> None:
    """End a divisible job; what was delivered stays.

    Examples:

    - `tradewind jobs cancel 8f3a…`
    """
    with opened_server(Where(server, profile, folder), "jobs") as backend:
        typer.echo(backend.ask("POST", f"/jobs/{id}/cancel")["state"])


@jobs.command()
def results(id: Id, server: Server = None, profile: Profile = None, folder: Folder = None) -> None:
    """Print the merged result of a divisible job that is done.

    Examples:

    - `tradewind jobs results 8f3a… > result.json`
    """
    with opened_server(Where(server, profile, folder), "jobs") as backend:
        found = backend.ask("GET", f"/jobs/{id}/results")
        content = _transfer("GET", urljoin(backend.url, found["url"]))
    typer.echo(content, nl=content[-1:] != b"\n")


def _transfer(method: str, address: str, content: bytes | None = None) -> bytes:
    """Read or write an object by its signed address."""
    import httpx  # noqa: PLC0415  slow to load

    answer = httpx.request(method, address, content=content, timeout=600)
    if answer.is_error:
        raise ValueError(f"{method} of an object: {answer.status_code} {answer.text[:200]}")
    return answer.content
