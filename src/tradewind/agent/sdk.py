"""The SDK of divisible programs: iterate over the iterations of a share, chunk by chunk, and deliver results.

    with tradewind.iterations(total=1_000_000) as it:
        for chunk in it:
            it.deliver(simulate(chunk.start, len(chunk)))

In a share of a divisible step the iterations come from the server, and results are sent with the reports. By hand,
the same program does `total` iterations alone, and `it.results` has what was delivered.

Reports are sent by a separate thread. The program continues with iterations it holds, and only pauses when it has none
left. Each report says how many iterations those may be (`ahead`), so that they are not given to another share.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from tradewind.agent.calls import CallError, Client
from tradewind.model.units import seconds

_CHUNK = 0.25
"""Seconds that a chunk should take, unless its size is given."""
Piece = tuple[int, int]


class _Pending:
    """A call on its way, in a thread that lives no longer than that."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._answer: Any = None
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="report", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._answer = self._call()
        except Exception as error:
            self._error = error

    @property
    def is_answered(self) -> bool:
        return not self._thread.is_alive()

    def answer(self) -> Any:
        """Wait for it."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._answer


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
            remedy = "submit this program with `tradewind submit --iterations`, or give `total`"
            raise ValueError(f"not a share of a divisible step; {remedy}")
        self._total = total or 0
        self._size = chunk
        self._combine = combine
        self._clock = clock
        self._client: Client | None = None
        self._todo: list[Piece] = []
        self._undelivered: list[Piece] = []
        """Done since the last delivery."""
        self._unsent: list[dict[str, Any]] = []
        """Deliveries that no report has taken along yet."""
        self._pending: _Pending | None = None
        """The report on its way, if we go on meanwhile."""
        self._done = 0
        self._deliveries = 0
        self._began = self._due = self._interval = 0.0
        self._idle = 0.0
        """Seconds that went by with nothing to do, for want of an answer."""
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
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGTERM, self._drain)
        if self._url:
            self._client = Client(self._url, self._lease)
            told = self._call("start", {})
            if told is not None:
                self._obey(told)
        else:
            self._todo = [(0, self._total)]
        self._began, self._idle = self._clock(), 0.0
        return self

    def __iter__(self) -> Iterator[range]:
        while not self.is_draining and not self.is_lost:
            must_report = not self._todo or len(self._unsent) >= _DELIVERIES
            if self._pending is not None and (must_report or self._pending.is_answered):
                if not self._hear(self._pending.answer):
                    return
                continue
            if self._client is not None and self._pending is None and (must_report or self._clock() >= self._due):
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
        last = self._unsent[-1] if self._unsent else None
        if last is not None and checkpoint and len(last["ranges"]) + len(ranges) <= _RANGES:
            last.update(ranges=_joined([*last["ranges"], *ranges]), result=result, checkpoint=True)
            return
        if last is not None and self._combine is not None and len(last["ranges"]) + len(ranges) <= _RANGES:
            last.update(ranges=_joined([*last["ranges"], *ranges]), result=self._combine(last["result"], result))
            return
        self._deliveries += 1
        self._unsent.append(
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
        before, self._unsent = self._unsent, []
        self.deliver(None, checkpoint=checkpoint)
        self._unsent[-1]["object"] = told["key"]
        self._unsent = [*before, *self._unsent]
        self._combine = combine

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)
        if self._client is None:
            return
        try:
            if self._pending is not None and error is None:
                self._answer(self._pending.answer)
            if self._unsent and error is None and not self.is_lost:
                self._call("report", self._progress(ahead=0))
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

    @property
    def _chunk(self) -> int:
        """Iterations that come at once."""
        return self._size or max(1, round(self._speed * _CHUNK))

    def _next_piece(self) -> Piece:
        begin, end = self._todo[0]
        piece = (begin, min(end, begin + self._chunk))
        self._todo[0:1] = [(piece[1], end)] if piece[1] < end else []
        self._current = piece
        return piece

    def _report(self) -> bool:
        """Tell how far we are, and go on meanwhile with an interval's worth of what we hold; False: this was all."""
        ahead = max(self._chunk, round(self._speed * self._interval))
        self._todo = _first(self._todo, ahead)
        body = self._progress(ahead)
        if not self._todo:
            return self._hear(lambda: self._post("report", body))
        self._pending = _Pending(lambda: self._post("report", body))
        return True

    def _progress(self, ahead: int) -> Any:
        """How far we are, with all that was delivered since the last time."""
        deliveries, self._unsent = self._unsent, []
        elapsed = self._clock() - self._began - self._idle
        return {"done": self._done, "elapsed": elapsed, "ahead": ahead, "deliveries": deliveries}

    def _hear(self, call: Callable[[], Any]) -> bool:
        """Do what the answer to a report says; False: this was all."""
        told = self._answer(call)
        self._pending = None
        if told is None:
            return False
        self._obey(told)
        if told["next"] == "wait":
            self._rest(told["interval"])
        return bool(told["next"] != "end")

    def _rest(self, seconds: float) -> None:
        until = self._clock() + seconds
        while not self.is_draining and self._clock() < until:
            time.sleep(min(0.1, seconds))

    def _obey(self, told: Any) -> None:
        held = [(begin, end) for begin, end in told["ranges"]]
        unsent = [piece for delivery in self._unsent for piece in delivery["ranges"]]
        self._todo = _without(held, [*unsent, *self._undelivered])
        self._interval = told["interval"]
        self._due = self._clock() + self._interval
        if self._client is not None and "silence" in told:
            self._client.silence = seconds(told["silence"])

    def _call(self, verb: str, body: Any) -> Any:
        """The answer; None: the lease is over."""
        return self._answer(lambda: self._post(verb, body))

    def _post(self, verb: str, body: Any) -> Any:
        return self._client.call("POST", f"{self._url}/{verb}", body) if self._client else None

    def _answer(self, call: Callable[[], Any]) -> Any:
        """Wait for an answer, with nothing to do meanwhile; None: the lease is over."""
        began = self._clock()
        try:
            return call()
        except CallError as refused:
            if not refused.is_stale:
                raise
            self.is_lost = True
            return None
        finally:
            self._idle += self._clock() - began

    def _drain(self, _number: int, _frame: FrameType | None) -> None:
        self.is_draining = True


_RANGES = 60
"""Of one delivery."""
_DELIVERIES = 60
"""Of one report."""


def _joined(ranges: list[Piece]) -> list[Piece]:
    found: list[Piece] = []
    for begin, end in ranges:
        if found and found[-1][1] == begin:
            found[-1] = (found[-1][0], end)
        else:
            found.append((begin, end))
    return found


def _first(ranges: list[Piece], many: int) -> list[Piece]:
    """The first iterations of some ranges."""
    found: list[Piece] = []
    for begin, end in ranges:
        if many <= 0:
            break
        found.append((begin, min(end, begin + many)))
        many -= end - begin
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
