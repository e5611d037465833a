"""`tradewind download`: download the output files of a run."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from tradewind.cli.places import Folder, Here, Profile, RunId, Server, look
from tradewind.cli.terminal import cell
from tradewind.client.errors import ClientError
from tradewind.client.open import opened


def download(
    run: RunId = "last",
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Outputs to download; default: all.")
    ] = None,
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Target folder; created if necessary.")] = Path(),
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
    here: Here = False,
) -> None:
    """Download the output files of a finished run.

    Works with a server or a folder. Files with the same name are stored in a folder named after their output.

    Examples:

    - `tradewind download last --to results`
    - `tradewind download 1kq2z3a-17 report plots`
    """
    with opened(look(server, profile, folder, run, here=here)) as backend:
        found = backend.run(run)
        if found["status"] != "done":
            raise ClientError(f"{found['id']} is {found['status']}; only a finished run has outputs")
        files = backend.output_files(found["id"])
        known = dict.fromkeys(place.partition("/")[0] for place in files)
        for name in names or ():
            if name not in known:
                raise ClientError(
                    f"{found['id']} has no files in output {name!r}; outputs with files: {', '.join(known) or 'none'}"
                )
        wanted = {place: name for place, name in files.items() if not names or place.partition("/")[0] in names}
        if not wanted:
            typer.echo(f"{found['id']} has no output files", err=True)
        apart = _apart(wanted)
        for place, name in wanted.items():
            target = to / place / name if name in apart else to / name
            if "/" in name or any(part in ("", ".", "..") for part in (*place.split("/"), name)):
                raise ClientError(f"{found['id']} has an output file that cannot be written as {target}")
            target.parent.mkdir(parents=True, exist_ok=True)
            backend.save_output(found["id"], place, target)
            typer.echo(cell(str(target)))


def _apart(wanted: dict[str, str]) -> set[str]:
    """Return names that go into folders of their outputs: names of several files, and names of such folders."""
    counts = Counter(wanted.values())
    apart: set[str] = set()
    found = {name for name, count in counts.items() if count > 1}
    while found != apart:
        apart = found
        folders = {place.partition("/")[0] for place, name in wanted.items() if name in apart}
        found = apart | (folders & counts.keys())
    return apart
