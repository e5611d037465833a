"""Connections of a server: a request has to arrive within some time, and those that do not arrive are few.

uvicorn waits for the rest of a request for ever. Here a request gets some patience, and more with every byte, so that a
large body over a slow line arrives, and a drip of bytes does not. Where too many connections wait for the rest of a
request that nobody has been let in with, the oldest makes room. A request that arrives in one piece pays nothing.
"""

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_SLOWEST = 16 << 10
"""Bytes that a sender sends in a second, at least."""
_LONGEST_HEAD = 64 << 10
"""Bytes of a request before its body."""
_YOUNG = 2.0
"""Seconds for which a connection that sends nothing may be an honest one whose bytes are still on their way."""
_FLOOD = 8
"""With so many times more than allowed, no connection is too young."""


class Connection(HttpToolsProtocol):
    """A connection that waits for requests with limited patience."""

    patience: ClassVar[float]
    """Seconds for a request to arrive, and one more for each 16 KB of it."""
    most: ClassVar[int]
    """How many may be incomplete at once, apart from those of callers who were let in."""
    pending: ClassVar[dict["Connection", float]]
    """Connections in the middle of a request, oldest first, and since when."""

    _timer: asyncio.TimerHandle | None = None
    _is_whole = False
    _has_head = False
    _arrived = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Expect a first request."""
        super().connection_made(transport)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing more."""
        self._be_content()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what has arrived; what is not a whole request yet is waited for."""
        self._arrived += len(data)
        super().data_received(data)
        if self._is_whole:
            if self._timer is not None:
                self._be_content()
        elif not self._has_head and self._arrived > _LONGEST_HEAD:
            self.hang_up(b"431 Request Header Fields Too Large")
        elif self._timer is None:
            self._expect()

    @property
    def is_let_in(self) -> bool:
        """Whether whoever sends the request has shown a secret that is known."""
        return self._has_head and "caller" in self.scope.get("state", {})

    def hang_up(self, status: bytes) -> None:
        """Say why, unless an answer is on its way, and close the connection."""
        self._be_content()
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            self.transport.write(b"HTTP/1.1 " + status + b"\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
        self.transport.close()

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._is_whole = self._has_head = False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Pass on a request whose body may be still to come."""
        self._has_head = True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that all of a request is there."""
        self._is_whole = True
        self._arrived = 0
        super().on_message_complete()

    def _expect(self) -> None:
        """Give the request time to arrive, and let the oldest one go if there are too many."""
        if self.transport.is_closing():
            return
        self.pending[self] = self.loop.time()
        self._timer = self.loop.call_later(self.patience, self._look)
        while len(self.pending) > self.most:
            oldest = next((each for each in self.pending if not each.is_let_in), self)
            is_young = self.loop.time() - self.pending[oldest] < _YOUNG
            if oldest is self or (is_young and len(self.pending) <= _FLOOD * self.most):
                break
            oldest.hang_up(b"503 Service Unavailable")

    def _be_content(self) -> None:
        self.pending.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        """Hang up on a sender who is too slow; one whom we keep waiting ourselves is not."""
        left = self.pending[self] + self.patience + self._arrived / _SLOWEST - self.loop.time()
        if self.flow.read_paused:
            left = self.patience
        if left > 0:
            self._timer = self.loop.call_later(left, self._look)
        else:
            self.hang_up(b"408 Request Timeout")


def connections(patience: float, most: int) -> type[Connection]:
    """The connections of one server."""

    class Ours(Connection):
        pass

    Ours.patience, Ours.most, Ours.pending = patience, most, {}
    return Ours
