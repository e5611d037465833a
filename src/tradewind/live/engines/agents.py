"""The engine's side of workers that outlive it: a folder with an entry for each, and how to reach or end them."""

import json
import marshal
import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tradewind.live.worker import processes
from tradewind.live.worker.agent import ENDS, ENTRY, FOLDER, PROTOCOL, SOCKET
from tradewind.live.worker.strays import MARK
from tradewind.live.worker.wire import Settings

__all__ = ("FOLDER", "Agents", "Found", "found_in", "stop_all")

_LONGEST = 100
"""Bytes of a socket's path; the kernel allows a few more."""
_PATIENCE = 1.0
"""Seconds that a worker has for taking a call."""


@dataclass(frozen=True, slots=True)
class Found:
    """A worker that an earlier engine has left, or what is left of it."""

    place: Path
    """Its files, but for their suffixes."""
    machine: int
    pid: int
    started: int
    store: str
    protocol: int
    worker: str = ""
    """The name that marks its processes; empty: it was not recorded."""

    @property
    def is_alive(self) -> bool:
        """Whether its process is there."""
        if not processes.LINUX:
            return _exists(self.pid)
        return self.started > 0 and processes.started(self.pid) == self.started

    def connect(self) -> socket.socket | None:
        """A connection to it; None: it does not answer."""
        if self.protocol != PROTOCOL:
            return None
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(_PATIENCE)  # one that is frozen may not even take a call
        path = _file(self.place, SOCKET)
        try:
            if len(os.fsencode(path)) <= _LONGEST:
                sock.connect(str(path))
            else:
                import tempfile  # noqa: PLC0415 - slow, and seldom needed

                with tempfile.TemporaryDirectory() as short:
                    link = Path(short) / "a"
                    link.symlink_to(path.parent)
                    sock.connect(str(link / path.name))
        except OSError:
            sock.close()
            return None
        return sock

    def ends(self) -> list[tuple[Any, ...]]:
        """The messages that it has left, if it is gone."""
        try:
            found = marshal.loads(_file(self.place, ENDS).read_bytes())  # noqa: S302 - our own
        except (OSError, ValueError, EOFError, TypeError):
            return []
        return [each for each in found if isinstance(each, tuple)] if isinstance(found, list) else []

    def kill(self, how: int = signal.SIGTERM) -> None:
        """Have it end, with all that it runs."""
        if self.is_alive:
            processes.kill(self.pid, how)

    def sweep(self) -> None:
        """Kill what it has left running: its keeper does that, unless it is gone as well."""
        if self.worker and not self.is_alive:
            for pid in processes.marked(MARK.encode(), f"{self.worker}."):
                if processes.started(pid) >= self.started:  # else another worker had the same name before
                    processes.kill(pid, signal.SIGKILL)

    def forget(self) -> None:
        """Remove what is left of it."""
        for suffix in (ENTRY, SOCKET, ENDS):
            with suppress(OSError):
                _file(self.place, suffix).unlink()


@dataclass(frozen=True, slots=True)
class Agents:
    """Where the workers of a store are found."""

    folder: Path
    store: str
    """Identity of the store: others' workers are ended."""
    unattended: float = 3600.0
    """Seconds without an engine after which a worker that has nothing to do ends itself."""

    def told(self, settings: Settings) -> Settings:
        """What workers have to know."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return settings._replace(agents=str(self.folder), store=self.store, unattended=self.unattended)

    def found(self) -> list[Found]:
        """All that earlier engines have left, by machine."""
        return found_in(self.folder)


def found_in(folder: Path) -> list[Found]:
    """All workers that were left in a folder, dead or alive, by machine; those with an unreadable entry end."""
    found = []
    for path in folder.glob(f"*{ENTRY}"):
        with suppress(OSError):
            try:
                found.append(_read(path))
            except (ValueError, KeyError, TypeError):
                path.unlink()
    return sorted(found, key=lambda each: each.machine)


def _read(path: Path) -> Found:
    entry = json.loads(path.read_bytes())
    numbers = machine, pid, started, protocol = [entry[name] for name in ("machine", "pid", "started", "protocol")]
    texts = store, worker = [entry["store"], entry.get("worker", "")]
    if not all(isinstance(each, int) for each in numbers) or not all(isinstance(each, str) for each in texts):
        raise TypeError(path)
    if pid <= 1 or machine < 0:  # a signal to 0 or -1 would reach others
        raise ValueError(path)
    return Found(path.with_suffix(""), machine, pid, started, store, protocol, worker)


def stop_all(folder: Path, patience: float = 10.0) -> int:
    """End all workers that were left in a folder, with what they run; how many there were."""
    left = found_in(folder)
    alive = [each for each in left if each.is_alive]
    for each in alive:
        each.kill()
    if not _passes(lambda: not any(each.is_alive for each in alive), patience):
        for each in alive:
            each.kill(signal.SIGKILL)
        _passes(lambda: not any(each.is_alive for each in alive), patience)
    for each in left:
        each.sweep()
    return len(alive)


def _passes(condition: Callable[[], bool], patience: float) -> bool:
    ends = time.monotonic() + patience
    while not condition():
        if time.monotonic() > ends:
            return False
        time.sleep(0.02)
    return True


def _file(place: Path, suffix: str) -> Path:
    return place.with_name(place.name + suffix)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True
