"""What travels between engine, worker and interpreter: frames of a length and a marshalled value, and packed orders.

Marshal, because it costs no import, is faster than any JSON and knows tuples; it is safe here since both ends are the
same interpreter and trust each other. JSON has no tuples, so that among packed inputs a tuple stands for a `Ref`.
"""

import marshal
import socket
from typing import Any, NamedTuple


class PackedCall(NamedTuple):
    """A `Call` on its way to a worker."""

    id: str
    kind: str
    """`shell`, `function`, `container`, `share` (of an elastic unit) or `reduce` (its results)."""
    target: str
    """The command, or `module:function`; of what reduces results the command or function, if it is not built in."""
    image: str
    inputs: dict[str, Any]
    """A tuple anywhere inside is a `Ref`: call, output and path."""
    outputs: dict[str, tuple[str, bool, str, bool]]
    """For each its path, whether it is many, where its value is read from, and whether it may be absent."""
    environment: dict[str, str]
    run: float | None
    silence: float | None
    container: tuple[Any, ...] = ()
    """Whether the image's own entry point is used, and options for the tool. Of a divisible step its function, and how
    its results are reduced."""
    shell: tuple[str, ...] = ()
    """The words that start the shell of a command; none: the usual one."""


class PackedOrder(NamedTuple):
    """An `Order` on its way to a worker."""

    run: str
    unit: int
    attempt: int
    folder: str
    checkpoint: str
    cpus: int
    memory: int | None
    most: int
    variables: dict[str, str]
    """More for the environment of its processes."""
    calls: list[PackedCall]


class Settings(NamedTuple):
    """What a worker is told when it is born."""

    grace: float
    """Seconds between asking a process to end and making it."""
    flood: int
    """Bytes of output kept of each stream."""
    pause: float
    """Seconds between two looks at what runs."""
    root: str
    """A folder for what belongs to no attempt."""
    path: list[str]
    """Where Python looks for the modules of functions."""
    homes: list[str]
    """Where the programs of divisible steps are looked for."""
    room: float = 600.0
    """Seconds that an attempt waits for room on a full disk before it fails."""
    agents: str = ""
    """A folder where workers are found by whoever comes after their engine; empty: they end with it."""
    store: str = ""
    """Whose workers they are."""
    unattended: float = 3600.0
    """Seconds without an engine after which a worker that has nothing to do ends itself."""


def frame(message: Any) -> bytes:
    """A message as it travels."""
    body = marshal.dumps(message, 4)  # a later version, or another interpreter, must still be able to read it
    return len(body).to_bytes(4, "big") + body


_LITTLE, _MUCH = 1 << 14, 1 << 18
"""Bytes to be read at once: much where a frame is long, but memory for that costs more than reading most frames."""


class Link:
    """One end of a socket that carries frames and never blocks."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)  # noqa: FBT003
        self.socket = sock
        self._came = b""
        self._unsent = b""

    def read(self) -> list[Any] | None:
        """All messages that have come; None: the other end is gone."""
        try:
            data = self.socket.recv(_MUCH if self._came else _LITTLE)
        except (BlockingIOError, InterruptedError):
            return []
        except OSError:
            return None
        return self.take(data) if data else None

    def take(self, data: bytes) -> list[Any]:
        """The messages that are complete with some more bytes."""
        if self._came:
            data = self._came + data
        size = len(data)
        if size == 4 + int.from_bytes(data[:4], "big"):  # mostly it is one frame
            self._came = b""
            return [marshal.loads(data[4:])]  # noqa: S302 - from our own kind
        messages = []
        at = 0
        while size - at >= 4:
            end = at + 4 + int.from_bytes(data[at : at + 4], "big")
            if end > size:
                break
            messages.append(marshal.loads(data[at + 4 : end]))  # noqa: S302 - from our own kind
            at = end
        self._came = data[at:]
        return messages

    def write(self, data: bytes = b"") -> bool:
        """Send, with what could not be sent before; whether nothing is left to be sent."""
        if self._unsent:
            data = self._unsent + data
        try:
            sent = self.socket.send(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:  # the other end is gone: reading will tell
            sent = len(data)
        self._unsent = data[sent:]
        return not self._unsent

    def close(self) -> None:
        """Give the socket up."""
        self.socket.close()
