"""For programs: the iterations of a partition, chunk by chunk, and where their results go.

    with tradewind.iterations(total=1_000_000) as it:
        for chunk in it:
            it.deliver(simulate(chunk.start, len(chunk)))

Under `tradewind worker` the iterations come from the service, and results are sent with the reports; started by hand,
the same program does `total` iterations alone, and `it.results` has what was delivered.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from tradewind.worker.client import CallError, Client

_CHUNK = 0.25
"""Seconds that a chunk should take, unless its size is given."""
Piece = tuple[int, int]


class Iterations:
    """A partition as its program sees it."""

    def __init__(
        self,
        *,
        total: int | None = None,
        chunk: int | None = None,
        combine: Callable[[Any, Any], Any] | None = None,
        url: str | None = None,
        lease: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = url if url is not None else os.environ.get("TRADEWIND_URL", "")
        self._lease = lease if lease is not None else os.environ.get("TRADEWIND_LEASE", "")
        where = urlsplit(self._url)
        self._server = os.environ.get("TRADEWIND_SERVER") or f"{where.scheme}://{where.netloc}"
        if not self._url and total is None:
            raise ValueError("no partition: start this program with `tradewind worker`, or give `total`")
        self._total = total or 0
        self._size = chunk
        self._combine = combine
        self._clock = clock
        self._client: Client | None = None
        self._todo: list[Piece] = []
        self._undelivered: list[Piece] = []
        """Done since the last delivery."""
        self._pending: list[dict[str, Any]] = []
        """Deliveries not sent yet."""
        self._done = 0
        self._deliveries = 0
        self._began = self._due = 0.0
        self._speed = 0.0
        self._before: Any = None
        self.input = os.environ.get("TRADEWIND_INPUT", "")
        """Path of the job's input data; empty: there is none."""
        self.results: list[Any] = []
        """Delivered, if the program was started by hand."""
        self.is_draining = False
        """Whether the worker ends: after the present chunk no other comes."""
        self.is_lost = False
        """Whether the lease is over; what was not delivered is done by others."""

    def __enter__(self) -> Self:
        self._began = self._clock()
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGTERM, self._drain)
        if self._url:
            self._client = Client(self._url, self._lease)
            self._obey(self._call("start", {}))
        else:
            self._todo = [(0, self._total)]
        return self

    def __iter__(self) -> Iterator[range]:
        while not self.is_draining and not self.is_lost:
            if self._client is not None and (not self._todo or self._clock() >= self._due):
                if not self._report():
                    return
                continue
            if not self._todo:
                return
            piece = self._next_piece()
            began = self._clock()
            yield range(*piece)
            took = max(1e-6, self._clock() - began)
            count = piece[1] - piece[0]
            self._speed = count / took if not self._speed else 0.5 * self._speed + 0.5 * count / took
            self._done += count
            if self._is_open(piece):
                self._undelivered.append(piece)

    def deliver(self, result: Any, *, checkpoint: bool = False) -> None:
        """Hand over the result of all chunks since the last delivery, the present one included.

        With `checkpoint` it stands for everything since the start of the partition.
        """
        ranges = [*self._undelivered, *([self._current] if self._current else [])]
        self._undelivered, self._current = [], None
        if self._client is None:
            self.results = [result] if checkpoint else [*self.results, result]
            return
        if not ranges:
            return
        last = self._pending[-1] if self._pending else None
        if last is not None and checkpoint and len(last["ranges"]) + len(ranges) <= _RANGES:
            last.update(ranges=_joined([*last["ranges"], *ranges]), result=result, checkpoint=True)
            return
        if last is not None and self._combine is not None and len(last["ranges"]) + len(ranges) <= _RANGES:
            last.update(ranges=_joined([*last["ranges"], *ranges]), result=self._combine(last["result"], result))
            return
        self._deliveries += 1
        self._pending.append(
            {"number": self._deliveries, "ranges": _joined(ranges), "result": result, "checkpoint": checkpoint}
        )

    def upload(self, content: bytes, *, checkpoint: bool = False) -> None:
        """Hand over a large result of all chunks since the last delivery as an object."""
        if self._client is None:
            self.deliver(content, checkpoint=checkpoint)
            return
        told = self._call("uploads", {"number": self._deliveries + 1})
        if told is None:
            return
        address = told["url"]
        self._client.transfer("PUT", address if "://" in address else f"{self._server}{address}", content)
        combine, self._combine = self._combine, None
        pending, self._pending = self._pending, []
        self.deliver(None, checkpoint=checkpoint)
        self._pending[-1]["object"] = told["key"]
        self._pending = [*pending, *self._pending]
        self._combine = combine

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)
        if self._client is None:
            return
        try:
            if not self.is_lost and self._pending and error is None:
                self._report()
            if not self.is_lost:
                failure = "" if error is None else f"{kind.__name__ if kind else ''}: {error}"[:2000]
                self._call("finish", {"failure": failure})
        finally:
            self._client.close()

    _current: Piece | None = None

    def _is_open(self, piece: Piece) -> bool:
        """Whether a chunk was not delivered while it was the present one."""
        is_open = self._current == piece
        self._current = None
        return is_open

    def _next_piece(self) -> Piece:
        begin, end = self._todo[0]
        size = self._size or max(1, round(self._speed * _CHUNK))
        piece = (begin, min(end, begin + size))
        self._todo[0:1] = [(piece[1], end)] if piece[1] < end else []
        self._current = piece
        return piece

    def _report(self) -> bool:
        """Tell how far we are; False: this was all."""
        sent = self._pending
        told = self._call("report", {"done": self._done, "elapsed": self._clock() - self._began, "deliveries": sent})
        if told is None:
            return False
        self._pending = []
        self._obey(told)
        if told["next"] == "wait":
            self._rest(told["interval"])
        return bool(told["next"] != "end" or self._todo)

    def _rest(self, seconds: float) -> None:
        until = self._clock() + seconds
        while not self.is_draining and self._clock() < until:
            time.sleep(min(0.1, seconds))

    def _obey(self, told: Any) -> None:
        if told is None:
            return
        held = [(begin, end) for begin, end in told["ranges"]]
        self._todo = _without(held, [*self._undelivered, *([self._current] if self._current else [])])
        self._due = self._clock() + told["interval"]

    def _call(self, verb: str, body: Any) -> Any:
        """The answer; None: the lease is over."""
        client = self._client
        if client is None:
            return None
        try:
            return client.call("POST", f"{self._url}/{verb}", body)
        except CallError as refused:
            if not refused.is_stale:
                raise
            self.is_lost = True
            return None

    def _drain(self, _number: int, _frame: FrameType | None) -> None:
        self.is_draining = True


_RANGES = 60
"""Of one delivery."""


def _joined(ranges: list[Piece]) -> list[Piece]:
    found: list[Piece] = []
    for begin, end in ranges:
        if found and found[-1][1] == begin:
            found[-1] = (found[-1][0], end)
        else:
            found.append((begin, end))
    return found


def _without(ranges: list[Piece], gone: list[Piece]) -> list[Piece]:
    """What is left of some ranges."""
    left = ranges
    for first, last in gone:
        left = [
            part
            for begin, end in left
            for part in ((begin, min(end, first)), (max(begin, last), end))
            if part[0] < part[1]
        ]
    return left


def iterations(
    *, total: int | None = None, chunk: int | None = None, combine: Callable[[Any, Any], Any] | None = None
) -> Iterations:
    """The iterations of this partition.

    `total` is for runs by hand. `chunk` is how many iterations come at once; without it, about a quarter of a second's
    worth. With `combine`, results that wait to be sent are put together, so that fewer are sent.
    """
    return Iterations(total=total, chunk=chunk, combine=combine)
