"""Where calls are taken: those that wait at the same time go into one transaction.

A synced commit takes some milliseconds, so that one for each call would bound the service to a few hundred calls a
second. Between transactions nothing is kept: any number of processes may work on the same store.
"""

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from tradewind.core.divisible import beat
from tradewind.core.divisible.errors import Refused
from tradewind.core.divisible.settings import Settings
from tradewind.core.divisible.turn import Turn
from tradewind.live.divisible.book import SqlBook
from tradewind.live.loop import wall_clock
from tradewind.live.store.sql import Session
from tradewind.model.units import Time

T = TypeVar("T")

AT_ONCE = 500
"""Calls that go into one transaction at most."""
BUSY = 4
"""After a transaction of so many calls the next one waits for others to come along."""
GATHER = 0.004
"""For so many seconds; half of what a call costs is the transaction around it."""


@dataclass(slots=True)
class _Call:
    work: Callable[[Turn], Any]
    loop: asyncio.AbstractEventLoop | None
    future: "asyncio.Future[Any] | Future[Any]"
    value: Any = None
    error: BaseException | None = None


class Desk:
    """Takes calls from any thread and any event loop."""

    def __init__(self, session: Session, settings: Settings, clock: Callable[[], Time] = wall_clock) -> None:
        self.settings = settings
        self.clock = clock
        self.session = session
        self._waiting: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="divisible", daemon=True)
        self._thread.start()

    def do(self, work: Callable[[Turn], T]) -> T:
        """Have something done, and wait for it."""
        future: Future[T] = Future()
        self._waiting.put(_Call(work, None, future))
        return future.result()

    async def ask(self, work: Callable[[Turn], T]) -> T:
        """Have something done."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._waiting.put(_Call(work, loop, future))
        return await future

    def close(self) -> None:
        """Do what waits, and end."""
        self._waiting.put(None)
        self._thread.join()
        self.session.close()

    def _serve(self) -> None:
        is_open = True
        calls: list[_Call] = []
        while is_open:
            is_busy = len(calls) >= BUSY
            calls = []
            first = self._waiting.get()
            if is_busy:
                time.sleep(GATHER)
            while first is not None:
                calls.append(first)
                if len(calls) >= AT_ONCE or self._waiting.empty():
                    break
                first = self._waiting.get()
            is_open = first is not None
            if calls:
                self._carry_out(calls)
                _answer(calls)

    def _carry_out(self, calls: list[_Call]) -> None:
        try:
            self.session.transact(lambda: self._work(calls))
        except Exception as error:
            if len(calls) == 1:
                calls[0].error = error
                return
            for call in calls:  # one of them is to blame; the others need not suffer
                self._carry_out([call])

    def _work(self, calls: list[_Call]) -> None:
        book = SqlBook(self.session)
        book.open()
        now = self.clock()
        turn = Turn(book, self.settings, now)
        if beat.is_due(turn):
            beat.beat(turn)
        for call in calls:
            call.error = None
            try:
                call.value = call.work(Turn(book, self.settings, now))
            except Refused as refused:
                call.error = refused
        book.close()


def _answer(calls: list[_Call]) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[_Call]] = {}
    for call in calls:
        if call.loop is None:
            _settle(call)
        else:
            by_loop.setdefault(call.loop, []).append(call)
    for loop, some in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_settle_all, some)


def _settle_all(calls: list[_Call]) -> None:
    for call in calls:
        if not call.future.done():
            _settle(call)


def _settle(call: _Call) -> None:
    if call.error is not None:
        call.future.set_exception(call.error)
    else:
        call.future.set_result(call.value)
