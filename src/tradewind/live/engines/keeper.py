"""The engine's side of the keeper: the one process that starts workers, and outlives whoever started it.

Its interpreter takes a while to start. Whoever knows that an engine will be needed can begin that before anything else
is loaded, so that this module imports little.
"""

import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tradewind.live.worker.wire import Settings, frame

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop


class Newborn:
    """A keeper's process that is starting, and does nothing until it is told its settings."""

    def __init__(self) -> None:
        self.socket, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-P", "-m", "tradewind.live.worker", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # neither Ctrl-C nor the end of a terminal is meant for it
            )

    def abandon(self) -> None:
        """Let it end, if nobody has taken it."""
        self.socket.close()
        self.process.wait()


class Keeper:
    """Starts workers around a socket each, and kills them."""

    def __init__(
        self, newborn: Newborn, settings: Settings, loop: "AbstractEventLoop", lost: Callable[[], None]
    ) -> None:
        self._process, self._socket = newborn.process, newborn.socket
        self._socket.setblocking(False)  # noqa: FBT003
        self._loop = loop
        self._lost = lost
        self._quiet: int | None = None
        """Heartbeats since it was last heard; None: it never was."""
        self._unsent: deque[tuple[bytes, socket.socket | None]] = deque()
        loop.add_reader(self._socket, self._read)
        self._send(("settings", tuple(settings)))

    def start(self, machine: int, sock: socket.socket) -> None:
        """Start a worker at the other end of a socket, which is given away."""
        self._send(("start", machine), sock)

    def kill(self, machine: int) -> None:
        """End a machine's worker, and all that it runs, at once."""
        self._send(("kill", machine))

    def beat(self, patience: int) -> None:
        """Ask it for a sign of life; one that has given none for so many times is ended, and then is lost."""
        if self._quiet is not None:
            if self._quiet >= patience:
                self._process.kill()
                return
            self._quiet += 1
        self._send(("ping",))

    def heard(self) -> None:
        """It has given a sign of life."""
        self._quiet = 0

    def close(self, patience: float) -> None:
        """Let it end all workers, and wait until it has."""
        self.forget()
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def leave(self) -> None:
        """Hang up on one that goes on for as long as its workers do."""
        self.forget()
        if self._process.returncode is None:
            self._process.returncode = 0  # or it would be complained of that nobody waits for it

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
        """Whatever it says is a sign of life; nothing: it is gone."""
        try:
            gone = not self._socket.recv(64)
            self.heard()
        except BlockingIOError:
            return
        except OSError:
            gone = True
        if gone:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(1.0)  # sockets are closed a moment before it is gone
            self._lost()


def python_path() -> list[str]:
    """Where this process looks for modules, fit for another folder."""
    return [path or str(Path.cwd()) for path in sys.path]
