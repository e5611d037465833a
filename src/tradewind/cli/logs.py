"""`tradewind logs`: what tasks have written."""

import sys
import time
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from tradewind.cli.places import Folder, Profile, RunId, Server
from tradewind.client.backend import Backend
from tradewind.client.errors import ClientError
from tradewind.client.open import Where, opened

_LOOK = 0.4
"""Seconds between looks at what is followed."""
_ENDED = ("done", "failed", "cancelled")


def logs(
    run: RunId = "last",
    task: Annotated[str | None, typer.Argument(help="A task, by name or number; default: all that have begun.")] = None,
    attempt: Annotated[int | None, typer.Option(help="Of this attempt; default: the last.")] = None,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on until it has ended.")] = False,
    tail: Annotated[int | None, typer.Option(min=0, help="Only so many of the last lines of each log.")] = None,
    status: Annotated[str | None, typer.Option(help="Only of tasks with this status, such as failed.")] = None,
    errors: Annotated[bool, typer.Option("--err", help="Only what was written to the error stream.")] = False,
    server: Server = None,
    profile: Profile = None,
    folder: Folder = None,
) -> None:
    """Show what tasks have written, each line behind the task's name where there are several.

    Examples:

    - `tradewind logs last align`
    - `tradewind logs 1kq2z3a-17 -f`
    - `tradewind logs last --status failed --tail 20`
    - `tradewind logs last 7 --attempt 1 --err --tail 20`
    """
    with opened(Where(server, profile, folder)) as backend:
        reader = Reader(backend, run if run != "last" else backend.run(run)["id"], errors_only=errors, tail=tail)
        if task is None:
            reader.show_all(status, follow=follow)
            return
        found = find_task(backend, reader.run, task)
        number = attempt or found["attempts"]
        if not number:
            raise ClientError(
                f"{found['name']} has not begun; `tradewind explain {reader.run} {found['number']}` says why"
            )
        reader.show(found, number, prefix="")
        while follow and _is_running(backend.attempts(reader.run, found["number"]), number):
            time.sleep(_LOOK)
            reader.show(found, number, prefix="")
        if follow:
            reader.show(found, number, prefix="")


def find_task(backend: Backend, run: str, task: str) -> dict[str, Any]:
    """A task of a run by its number or name."""
    if task.isdigit():
        return backend.task(run, int(task))
    alike = backend.tasks(run, name=task)
    found = [each for each in alike if each["name"] == task] or alike
    if len(found) == 1:
        return found[0]
    if found:
        shown = ", ".join(each["name"] for each in found[:5])
        raise ClientError(f"{task!r} could be any of {len(found)} tasks: {shown}{', …' if len(found) > 5 else ''}")
    raise ClientError(f"{run} has no task {task!r}; `tradewind get {run} --tasks` shows them")


def _is_running(attempts: list[dict[str, Any]], number: int) -> bool:
    return any(each["attempt"] == number and each["outcome"] == "running" for each in attempts)


class Reader:
    """Prints logs from where it stopped before."""

    def __init__(self, backend: Backend, run: str, *, errors_only: bool, tail: int | None) -> None:
        self.run = run
        self._backend = backend
        self._errors_only = errors_only
        self._tail = tail
        self._read: dict[tuple[int, int, str], int] = {}
        self._over: set[int] = set()

    def show_all(self, status: str | None, *, follow: bool) -> None:
        """Print the logs of all tasks that have begun, or of those with some status."""
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
        """Print what is new in the logs of an attempt."""
        number = task["number"]
        for file in self._backend.log_files(self.run, number, attempt):
            name = file["name"]
            key = number, attempt, name
            begin = self._read.get(key, 0)
            if file["bytes"] <= begin or (self._errors_only and name.rpartition("/")[2] != "err"):
                continue
            data = self._backend.read_log(self.run, number, attempt, name, begin)
            self._read[key] = begin + len(data)
            _write(self._shortened(data) if not begin else data, prefix)

    def _shortened(self, data: bytes) -> bytes:
        if self._tail is None:
            return data
        return b"".join(data.splitlines(keepends=True)[-self._tail :]) if self._tail else b""


def _write(data: bytes, prefix: str) -> None:
    text = data.decode(errors="replace")
    sys.stdout.write("".join(_prefixed(text, prefix)) if prefix else text)
    sys.stdout.flush()


def _prefixed(text: str, prefix: str) -> Iterator[str]:
    for line in text.splitlines():
        yield f"{prefix}{line}\n"
