"""The operations of a client, on a server or on the store of a folder.

Results are plain values in the shapes of the REST API: times are seconds since 1970, durations are seconds, money is in
the user's currency. A run may be named by its id, by the start of its id, or as `last`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

Plain = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Submission:
    """A workflow to run, with its parameters and options."""

    file: Path
    parameters: Mapping[str, Any] = field(default_factory=dict)
    name: str | None = None
    priority: int | None = None
    deadline: str | None = None
    tenant: str | None = None
    keep_going: bool = False
    key: str = ""
    """An idempotency key, so that submitting twice creates one run; empty: one is generated."""
    uploads: bool = True
    """Whether files named by parameters are uploaded; otherwise their paths refer to the server."""
    uses_cache: bool = True
    """Whether results of identical earlier steps may be reused."""


class Event(NamedTuple):
    """A record of the log as it arrives."""

    id: str
    """Position to resume from."""
    name: str
    data: Any


class Backend(Protocol):
    """Runs, tasks and machines, on a server or in a folder."""

    def runs(
        self, *, status: str | None = None, tenant: str | None = None, name: str | None = None, limit: int = 100
    ) -> list[Plain]:
        """Return the latest runs, newest first."""

    def run(self, id: str) -> Plain:
        """Return a run with its parameters, cost and failures."""

    def results(self, run: str) -> Plain | None:
        """Return the outputs of a finished program by name; None if it is not finished, or not a program.

        Files are given so that the user can reach them: paths in a folder, addresses on a server.
        """

    def output_files(self, run: str) -> dict[str, str]:
        """Return the files among the outputs of a run: their places, such as `parts/0`, and their names."""

    def save_output(self, run: str, place: str, target: Path) -> None:
        """Write a file among the outputs of a run to a path."""

    def tasks(self, run: str, *, status: str | None = None, name: str | None = None, limit: int = 1000) -> list[Plain]:
        """Return tasks of a run, by number; `name` is a prefix."""

    def task(self, run: str, task: int) -> Plain:
        """Return one task of a run."""

    def attempts(self, run: str, task: int) -> list[Plain]:
        """Return the attempts of a task, including a running one."""

    def explain(self, run: str, task: int | None = None) -> Plain:
        """Explain why a run or task is waiting, and why it ran again."""

    def cost(self, run: str | None = None, by: str = "run") -> Plain:
        """Return the cost of a run by machine type, or the total by `run`, `tenant`, `machine_type` or `machine`."""

    def cancel(self, run: str, *, force: bool = False) -> Plain:
        """Cancel a run; with force, running tasks are killed immediately, and it may have ended already."""

    def retry(self, run: str) -> Plain:
        """Retry the failed tasks of a run."""

    def suspend(self, run: str) -> Plain:
        """Suspend a run: start no further tasks."""

    def resume(self, run: str) -> Plain:
        """Resume a suspended run."""

    def prioritise(self, run: str, priority: int) -> Plain:
        """Change the priority of a run."""

    def redate(self, run: str, deadline: str | None) -> Plain:
        """Change the deadline of a run, counted from its submission, or remove it."""

    def machines(self, *, status: str = "held", limit: int = 1000) -> list[Plain]:
        """Return machines, newest first."""

    def drain(self, machine: int) -> Plain:
        """Release a machine once its tasks have finished."""

    def remove(self, machine: int) -> Plain:
        """Release a machine immediately; its tasks run again elsewhere."""

    def search(self, query: str, *, among: str = "all", limit: int = 100) -> Plain:
        """Search runs and tasks."""

    def log_files(self, run: str, task: int, attempt: int) -> list[Plain]:
        """Return the log files of an attempt, by name."""

    def read_log(self, run: str, task: int, attempt: int, name: str, begin: int = 0) -> bytes:
        """Return the contents of a log from a byte offset."""

    def follow(self, run: str) -> Iterator[Plain]:
        """Yield a run each time it has changed, until it has ended."""

    def events(self, run: str, after: str | None = None) -> Iterator[Event]:
        """Yield the records of a run as they arrive, until it has ended."""

    def close(self) -> None:
        """Close files and connections."""
