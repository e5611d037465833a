"""The engine's side of the keeper: the one process that starts workers, and outlives whoever started it."""

import asyncio
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tradewind.live.worker.wire import Settings, frame


class Keeper:
    """Starts workers around a socket each, and kills them."""

    def __init__(self, settings: Settings, loop: asyncio.AbstractEventLoop, lost: Callable[[], None]) -> None:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)  # noqa: FBT003
        with theirs, (Path(settings.root) / "workers.log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-m", "tradewind.live.worker", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # neither Ctrl-C nor the end of a terminal is meant for it
            )
        self._socket = ours
        self._loop = loop
        self._lost = lost
        self._unsent: deque[tuple[bytes, socket.socket | None]] = deque()
        loop.add_reader(ours, self._read)
        self._send(("settings", tuple(settings)))

    def start(self, machine: int, sock: socket.socket) -> None:
        """Start a worker at the other end of a socket, which is given away."""
        self._send(("start", machine), sock)

    def kill(self, machine: int) -> None:
        """End a machine's worker, and all that it runs, at once."""
        self._send(("kill", machine))

    def close(self, patience: float) -> None:
        """Let it end all workers, and wait until it has."""
        self.forget()
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def forget(self) -> None:
        """Hang up."""
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        self._socket.close()
        for _, sock in self._unsent:
            if sock is not None:
                sock.close()
        self._unsent.clear()
        self._process.poll()

    def _send(self, message: tuple[Any, ...], sock: socket.socket | None = None) -> None:
        self._unsent.append((frame(message), sock))
        if len(self._unsent) == 1:
            self._flush()

    def _flush(self) -> None:
        try:
            while self._unsent:
                data, sock = self._unsent[0]
                socket.send_fds(self._socket, [data], [] if sock is None else [sock.fileno()])
                self._unsent.popleft()
                if sock is not None:
                    sock.close()
        except BlockingIOError:
            self._loop.add_writer(self._socket, self._flush)
            return
        except OSError:  # reading will tell
            return
        self._loop.remove_writer(self._socket)

    def _read(self) -> None:
        """It never says anything: it is gone."""
        try:
            gone = not self._socket.recv(1)
        except BlockingIOError:
            return
        except OSError:
            gone = True
        if gone:
            self._lost()


def python_path() -> list[str]:
    """Where this process looks for modules, fit for another folder."""
    return [path or str(Path.cwd()) for path in sys.path]
