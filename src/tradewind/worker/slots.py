"""Partitions at work on this site: a process for each."""

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tradewind.live.divisible.words import HOMES

_BROKEN = frozenset({signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL})
"""Signals by which a program shows that it is broken; others come from outside."""


@dataclass(slots=True)
class Slot:
    """One partition and its process."""

    job: str
    partition: int
    path: str
    lease: str
    process: "subprocess.Popen[bytes]"
    folder: Path
    began: float

    def failure(self) -> str | None:
        """Why the process ended badly; empty: it did not; None: it goes on."""
        code = self.process.poll()
        if code is None:
            return None
        if code < 0 and -code not in _BROKEN:
            return ""
        return "" if code == 0 else f"exit code {code}; {_last_words(self.folder / 'err')}"

    def drain(self) -> None:
        """Ask it to deliver what it has and end."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it with all that it started."""
        self._signal(signal.SIGKILL)
        self.process.wait()

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self.process.pid, number)
        except (ProcessLookupError, PermissionError):
            return


def begin(
    handed: dict[str, Any], server: str, command: list[str], folder: Path, given: Path | None, home: Path | None = None
) -> Slot:
    """Start the process of a partition in a folder of its own; it finds Python modules at home."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = {
        **os.environ,
        "TRADEWIND_SERVER": server,
        "TRADEWIND_URL": f"{server}{handed['path']}",
        "TRADEWIND_LEASE": handed["lease"],
        "TRADEWIND_JOB": handed["job"],
        "TRADEWIND_PARTITION": str(handed["partition"]),
        "TRADEWIND_ITERATIONS": str(handed["iterations"]),
        "TRADEWIND_INPUT": str(given) if given else "",
    }
    if home is not None:
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(home), os.environ.get("PYTHONPATH"))))
        environment[HOMES] = str(home)
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        process = subprocess.Popen(  # noqa: S603  that is what a worker is for
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
    return Slot(handed["job"], handed["partition"], handed["path"], handed["lease"], process, folder, time.monotonic())


def _last_words(file: Path) -> str:
    try:
        text = file.read_bytes()[-1000:].decode("utf-8", "replace").strip()
    except OSError:
        return ""
    return text.splitlines()[-1][:300] if text else "it said nothing"
