"""What lets a worker outlive its engine: a socket and an entry in a folder, where the next engine finds it.

The entry names the machine, the process with its start time, and the store whose work it does. Ends of attempts are
kept until an engine confirms them, and are on disk while there is none: whatever then happens to the worker, the next
control plane learns how its attempts have ended. A worker whose entry is removed ends with all that it runs: no engine
would find it, and its work would be done twice.
"""
# pathlib costs more than the calls that it wraps
# ruff: noqa: PTH105, PTH108, PTH116, PTH118, PTH123

import marshal
import os
import socket
from contextlib import suppress
from typing import Any

from tradewind.live.worker import processes
from tradewind.live.worker.wire import Settings

PROTOCOL = 2
"""Changes when an engine could no longer talk to workers of an earlier version."""

FOLDER = "agents"
"""Where in the root of an engine its workers are found."""

ENTRY, SOCKET, ENDS = ".json", ".sock", ".ends"
_REPORTS = ("done", "broke", "back")


class Agent:
    """The lasting side of a worker."""

    def __init__(self, machine: int, worker: str, settings: Settings) -> None:
        """`worker`: the name that marks its processes."""
        self.unattended = settings.unattended
        pid = os.getpid()
        name = f"{machine}-{pid}"
        self._place = os.path.join(settings.agents, name)
        self._ends: dict[tuple[int, int], tuple[Any, ...]] = {}
        """By unit and attempt, until they are confirmed."""
        self._is_alone = False
        os.chdir(settings.agents)  # the path of a socket must be short
        self.listener = socket.socket(socket.AF_UNIX)
        _remove(name + SOCKET)
        self.listener.bind(name + SOCKET)
        self.listener.listen(4)
        self.listener.setblocking(False)  # noqa: FBT003
        import json  # noqa: PLC0415 - loaded by then, but not when a keeper begins

        entry = {
            "machine": machine,
            "pid": pid,
            "started": processes.started(pid),
            "store": settings.store,
            "protocol": PROTOCOL,
            "worker": worker,
        }
        _write(self._place + ENTRY, json.dumps(entry).encode())

    def keep(self, news: list[tuple[Any, ...]]) -> None:
        """Remember ends until they are confirmed."""
        ends = {(message[1], message[2]): message for message in news if message[0] in _REPORTS}
        self._ends |= ends
        if ends and self._is_alone:
            self._save()

    def forget(self, ends: list[tuple[int, int]]) -> None:
        """Forget ends that are confirmed."""
        for end in ends:
            self._ends.pop(end, None)

    def expect(self, attempts: set[tuple[int, int]]) -> None:
        """Forget ends that are not expected."""
        self.forget([end for end in self._ends if end not in attempts])

    @property
    def ends(self) -> dict[tuple[int, int], tuple[Any, ...]]:
        """Those that are not confirmed."""
        return self._ends

    def leave_alone(self) -> None:
        """There is no engine from now on."""
        self._is_alone = True
        if self._ends:
            self._save()

    def attend(self) -> None:
        """There is an engine again."""
        self._is_alone = False
        _remove(self._place + ENDS)

    def is_listed(self) -> bool:
        """Whether the next engine can find it: it has its entry still."""
        try:
            os.stat(self._place + ENTRY)
        except FileNotFoundError:
            return False
        except OSError:  # who knows
            pass
        return True

    def close(self) -> None:
        """The worker ends; what it could not report stays."""
        self.listener.close()
        _remove(self._place + SOCKET)
        if self._ends and self.is_listed():
            self._save()
        else:
            _remove(self._place + ENTRY)
            _remove(self._place + ENDS)

    def _save(self) -> None:
        with suppress(OSError):  # a full disk costs a report only if this process dies, too
            _write(self._place + ENDS, marshal.dumps(list(self._ends.values()), 4))


def _write(path: str, data: bytes) -> None:
    """Write a file at once: whoever reads it finds all of it, or what was there before."""
    with open(path + ".new", "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
