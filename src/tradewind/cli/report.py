"""`tradewind report`: write a report of a run as one HTML file."""

from pathlib import Path
from typing import Annotated

import typer

from tradewind.cli.places import Folder, Here, Profile, Server, look
from tradewind.client.open import FOLDER, Where, address
from tradewind.client.open import server as opened_server
from tradewind.formats.load import load
from tradewind.model.program import Program
from tradewind.model.workflow import Workflow
from tradewind.pictures.report.account import Source, account
from tradewind.pictures.report.page import page
from tradewind.pictures.report.sources import LOGS, ReportError, from_log, from_store


def report(
    run: Annotated[
        str, typer.Argument(help="A run (its id, or `last`), or an event log: .jsonl, .jsonl.gz or .parquet.")
    ] = "last",
    out: Annotated[Path | None, typer.Option("--out", help="Output file; default: RUN.html.")] = None,
    workflow: Annotated[
        Path | None, typer.Option(help="The workflow of an event log, which contains no graph.")
    ] = None,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
    here: Here = False,
) -> None:
    """Write a report of a run as one HTML file that works offline.

    The report shows a timeline of tasks and machines, the graph of steps, cost and waste by step and machine type, the
    critical path, waiting times and failures.

    Examples:

    - `tradewind report`
    - `tradewind report 1kq2z3a-17 --out run.html`
    - `tradewind simulate montage.yaml --events log.jsonl.gz && tradewind report log.jsonl.gz --workflow montage.yaml`
    """
    if run.endswith(LOGS) or Path(run).is_file():
        path = Path(run)
        name = path.name.partition(".")[0] or "report"
        data = _page(from_log(path, _document(workflow)))
    else:
        if workflow is not None:
            raise typer.BadParameter("--workflow is for event logs; a store already has the workflow of a run")
        name, data = _of_run(run, look(server, profile, folder, run, here=here))
    target = out or Path(f"{name}.html")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    typer.echo(f"wrote {target}", err=True)


def _of_run(run: str, where: Where) -> tuple[str, bytes]:
    if address(where) is None:
        from tradewind.client.embedded import reading  # noqa: PLC0415 - slow

        with reading(where.folder or FOLDER) as store:
            detail = store.detail(run)
            return detail.run.id, _page(from_store(store.store, detail))
    from tradewind.client.reporting import source_of  # noqa: PLC0415 - slow

    with opened_server(where, "a report") as backend:
        id = backend.run(run)["id"]
        return id, _page(source_of(backend, id))


def _page(source: Source) -> bytes:
    found = account(source)
    if not found.runs:
        raise ReportError(f"{source.title} contains no run")
    names = sorted({run.name for run in found.runs})
    if source.run is None and source.document is not None and source.document.name not in names:
        shown = ", ".join(names[:5])
        raise ReportError(f"{source.title} contains no run of {source.document.name!r}, only of {shown}")
    return page(found)


def _document(file: Path | None) -> Workflow | Program | None:
    if file is None:
        return None
    document = load(file)
    if isinstance(document.content, Workflow | Program):
        return document.content
    raise typer.BadParameter(f"{file} contains {document.kind}, not a workflow")
