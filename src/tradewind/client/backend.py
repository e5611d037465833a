"""What can be asked, of whomever: a server, or the store of a folder.

Answers are plain values in the shapes of a server's REST: times are seconds since 1970, durations seconds, money in the
user's currency. A run may be named by its id, by the beginning of one, or as `last`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

Plain = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Submission:
    """A workflow to be run, with what it is to be run with."""

    file: Path
    parameters: Mapping[str, Any] = field(default_factory=dict)
    name: str | None = None
    priority: int | None = None
    deadline: str | None = None
    tenant: str | None = None
    keep_going: bool = False
    key: str = ""
    """Names the submission, so that handing it in twice makes one run; empty: one is made up."""
    uses_cache: bool = True
    """Whether what equal steps gave before may be taken instead."""


class Event(NamedTuple):
    """A record of the log as it comes in."""

    id: str
    """Where to go on from."""
    name: str
    data: Any


class Backend(Protocol):
    """Runs, tasks and machines, wherever they are."""

    def runs(
        self, *, status: str | None = None, tenant: str | None = None, name: str | None = None, limit: int = 100
    ) -> list[Plain]:
        """The latest runs, newest first."""

    def run(self, id: str) -> Plain:
        """A run with its parameters, cost and failures."""

    def results(self, run: str) -> Plain | None:
        """The outputs of a program that is done, by name; None: it is not, or it is no program."""

    def tasks(self, run: str, *, status: str | None = None, name: str | None = None, limit: int = 1000) -> list[Plain]:
        """Tasks of a run, by number; the name is the beginning of one."""

    def task(self, run: str, task: int) -> Plain:
        """One task of a run."""

    def attempts(self, run: str, task: int) -> list[Plain]:
        """The attempts of a task, the one that runs included."""

    def explain(self, run: str, task: int | None = None) -> Plain:
        """Why a run or a task waits, and why it ran again."""

    def cost(self, run: str | None = None, by: str = "run") -> Plain:
        """What a run cost by machine type, or what everything did by `run`, `tenant`, `machine_type` or `machine`."""

    def cancel(self, run: str, *, force: bool = False) -> Plain:
        """Want a run no longer; with force what runs is killed at once, and it may have ended already."""

    def retry(self, run: str) -> Plain:
        """Try again what failed."""

    def suspend(self, run: str) -> Plain:
        """Start nothing more of a run for now."""

    def resume(self, run: str) -> Plain:
        """Let a suspended run go on."""

    def prioritise(self, run: str, priority: int) -> Plain:
        """Give a run another priority."""

    def redate(self, run: str, deadline: str | None) -> Plain:
        """Give a run another deadline, counted from its submission, or none."""

    def machines(self, *, status: str = "held", limit: int = 1000) -> list[Plain]:
        """Machines, newest first."""

    def drain(self, machine: int) -> Plain:
        """Let a machine go once what runs on it has ended."""

    def remove(self, machine: int) -> Plain:
        """Let a machine go at once; what runs on it will run elsewhere."""

    def search(self, query: str, *, among: str = "all", limit: int = 100) -> Plain:
        """Runs and tasks found by words."""

    def log_files(self, run: str, task: int, attempt: int) -> list[Plain]:
        """What an attempt has written, by name."""

    def read_log(self, run: str, task: int, attempt: int, name: str, begin: int = 0) -> bytes:
        """What stands in a log from some byte on."""

    def follow(self, run: str) -> Iterator[Plain]:
        """A run each time it has changed, until it has ended."""

    def events(self, run: str, after: str | None = None) -> Iterator[Event]:
        """The records of a run as they come, until it has ended."""

    def close(self) -> None:
        """Let go of files and connections."""
