"""`tradewind logs`: show the output of tasks."""

import sys
import time
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from tradewind.cli import terminal
from tradewind.cli.places import Folder, Here, Profile, RunId, Server, look
from tradewind.client.backend import Backend
from tradewind.client.errors import ClientError
from tradewind.client.open import opened

_LOOK = 0.4
"""Seconds between polls while following."""
_ENDED = ("done", "failed", "cancelled")


def logs(
    run: RunId = "last",
    task: Annotated[
        str | None, typer.Argument(help="A task, by name or number; default: all that have started.")
    ] = None,
    attempt: Annotated[int | None, typer.Option(help="Attempt number; default: the last.")] = None,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Follow the output until the run ends.")] = False,
    tail: Annotated[int | None, typer.Option(min=0, help="Show only this many last lines of each log.")] = None,
    status: Annotated[str | None, typer.Option(help="Only tasks with this status, such as failed.")] = None,
    errors: Annotated[bool, typer.Option("--err", help="Only the error stream.")] = False,
    raw: Annotated[
        bool, typer.Option("--raw", help="Print raw bytes, including control characters, even on a terminal.")
    ] = False,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
    here: Here = False,
) -> None:
    """Show the output of tasks.

    If there are several tasks, each line starts with the name of its task. On a terminal, control characters other than
    colours are escaped; files and pipes get the raw output.

    Examples:

    - `tradewind logs last align`
    - `tradewind logs 1kq2z3a-17 -f`
    - `tradewind logs last --status failed --tail 20`
    - `tradewind logs last 7 --attempt 1 --err --tail 20`
    """
    with opened(look(server, profile, folder, run, here=here)) as backend:
        id = run if run != "last" else backend.run(run)["id"]
        reader = Reader(backend, id, errors_only=errors, tail=tail, is_raw=raw)
        if task is None:
            reader.show_all(status, follow=follow)
            return
        found = find_task(backend, reader.run, task)
        number = attempt or found["attempts"]
        if not number:
            raise ClientError(
                f"{found['name']} has not started; `tradewind explain {reader.run} {found['number']}` says why"
            )
        reader.show(found, number, prefix="")
        while follow and _is_running(backend.attempts(reader.run, found["number"]), number):
            time.sleep(_LOOK)
            reader.show(found, number, prefix="")
        if follow:
            reader.show(found, number, prefix="")


def find_task(backend: Backend, run: str, task: str) -> dict[str, Any]:
    """Find a task of a run by its number or name."""
    if task.isdigit():
        return backend.task(run, int(task))
    alike = backend.tasks(run, name=task)
    found = [each for each in alike if each["name"] == task] or alike
    if len(found) == 1:
        return found[0]
    if found:
        shown = ", ".join(each["name"] for each in found[:5])
        raise ClientError(f"{task!r} matches {len(found)} tasks: {shown}{', …' if len(found) > 5 else ''}")
    raise ClientError(f"{run} has no task {task!r}; `tradewind get {run} --tasks` lists them")


def _is_running(attempts: list[dict[str, Any]], number: int) -> bool:
    return any(each["attempt"] == number and each["outcome"] == "running" for each in attempts)


class Reader:
    """A reader that prints logs from where it stopped before."""

    def __init__(
        self, backend: Backend, run: str, *, errors_only: bool, tail: int | None, is_raw: bool = False
    ) -> None:
        self.run = run
        self._backend = backend
        self._errors_only = errors_only
        self._tail = tail
        self._is_raw = is_raw or not sys.stdout.isatty()
        self._read: dict[tuple[int, int, str], int] = {}
        self._over: set[int] = set()

    def show_all(self, status: str | None, *, follow: bool) -> None:
        """Print the logs of all tasks that have started, or of those with a given status."""
        while True:
            has_ended = self._backend.run(self.run)["ended"] is not None
            known = self._backend.tasks(self.run, status=status, limit=1_000_000)
            tasks = [task for task in known if task["attempts"]]
            width = max([len(task["name"]) for task in tasks], default=0)
            for task in tasks:
                if task["number"] not in self._over:
                    self.show(task, task["attempts"], prefix=f"{task['name']:<{width}} | " if len(tasks) > 1 else "")
                if task["status"] in _ENDED:
                    self._over.add(task["number"])
            if not follow or has_ended:
                return
            time.sleep(_LOOK)

    def show(self, task: dict[str, Any], attempt: int, prefix: str) -> None:
        """Print new output of an attempt."""
        number = task["number"]
        for file in self._backend.log_files(self.run, number, attempt):
            name = file["name"]
            key = number, attempt, name
            begin = self._read.get(key, 0)
            if file["bytes"] <= begin or (self._errors_only and name.rpartition("/")[2] != "err"):
                continue
            data = self._backend.read_log(self.run, number, attempt, name, begin)
            self._read[key] = begin + len(data)
            self._write(self._shortened(data) if not begin else data, prefix)

    def _write(self, data: bytes, prefix: str) -> None:
        text = data.decode(errors="replace")
        if not self._is_raw:
            text, prefix = terminal.log(text), terminal.cell(prefix)
        sys.stdout.write("".join(_prefixed(text, prefix)) if prefix else text)
        sys.stdout.flush()

    def _shortened(self, data: bytes) -> bytes:
        if self._tail is None:
            return data
        return b"".join(data.splitlines(keepends=True)[-self._tail :]) if self._tail else b""


def _prefixed(text: str, prefix: str) -> Iterator[str]:
    for line in text.splitlines():
        yield f"{prefix}{line}\n"
