"""Events as they happen, for any number of listeners, and from any point of the log on.

An event's id is the batch of the log it stands in and its place there, so it is the same after a restart, and whoever
comes back with the id of the last event seen gets all that follow: from the store first, then from what has just been
saved. Nothing is queued for a listener; a slow one reads from the store what others have long seen.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, NamedTuple

from tradewind.live.store import coding
from tradewind.live.store.pages import Batch, Pages
from tradewind.live.store.port import Changes

_RECENT = 256
"""Batches that are kept in memory for listeners that keep up."""
_PAGE = 64
_DECODED = 512
_ALL = 1 << 40
"""A place behind all others of a batch."""
_PAUSE = 0.05
"""Seconds for which batches are collected before listeners are woken."""

Ask = Callable[..., Any]


class Position(NamedTuple):
    """A batch of the log and a place in it: all up to here has been seen."""

    first: int
    place: int

    def __str__(self) -> str:
        return f"{self.first}-{self.place}"


BEGINNING = Position(-1, 0)


def position_of(text: str) -> Position | None:
    """The position that an event's id names; None: it names none."""
    if text == "start":
        return BEGINNING
    first, dash, index = text.rpartition("-")
    if not dash or not first.removeprefix("-").isdecimal() or not index.isdecimal() or len(text) > 40:
        return None
    return Position(max(-1, int(first)), int(index)) if int(first) < 2**62 else None


class Event(NamedTuple):
    """An event with whom it concerns, ready to be sent."""

    at: Position
    run: int | None
    tenant: str | None
    """None: nobody in particular."""
    unit: int | None
    name: str
    text: bytes


class Stream:
    """Where listeners get events from."""

    def __init__(self, pages: Pages, owner: Callable[[dict[str, Any]], str | None]) -> None:
        self.ask: Ask = asyncio.to_thread
        """Asks the store."""
        self._pages = pages
        self._owner = owner
        self._recent: OrderedDict[int, bytes] = OrderedDict()
        self._base = -1
        """All batches behind this one are in memory."""
        self._decoded: OrderedDict[int, list[Event]] = OrderedDict()
        self._fresh = asyncio.Event()
        self._wake: asyncio.TimerHandle | None = None
        self.last = BEGINNING
        self.is_closed = False
        self.listeners = 0
        self._announced = 0
        self._announcements: deque[Event] = deque(maxlen=_RECENT)

    def begin(self, last: int) -> None:
        """Say where the log stands: the first number of its last batch."""
        self._base = last
        self.last = Position(last, _ALL)

    def saved(self, changes: Changes) -> None:
        """A batch is durable: its events may be told."""
        for row in changes.log:
            self._recent[row.first] = row.payload
            self.last = Position(row.first, _ALL)
            if len(self._recent) > _RECENT:
                self._base, _ = self._recent.popitem(last=False)
        if changes.log and self._wake is None and not self.is_closed:
            self._wake = asyncio.get_running_loop().call_later(_PAUSE, self._tell)

    def announce(self, name: str, data: dict[str, Any]) -> None:
        """Tell whoever listens now to all tenants something that is in no log."""
        self._announced += 1
        self._announcements.append(Event(BEGINNING, None, None, None, name, told(name, data)))
        self._tell()

    def _tell(self) -> None:
        self._wake = None
        self._fresh.set()
        self._fresh = asyncio.Event()

    def close(self) -> None:
        """Let all listeners go."""
        self.is_closed = True
        if self._wake is not None:
            self._wake.cancel()
        self._tell()

    async def events(self, after: Position, heartbeat: float) -> AsyncIterator[list[Event] | None]:
        """Events behind a position, a batch at a time, for ever; None: nothing has happened for a while."""
        self.listeners += 1
        heard = self._announced
        try:
            while not self.is_closed:
                fresh = self._fresh
                if missed := self._announced - heard:
                    heard = self._announced
                    yield list(self._announcements)[-missed:]
                batches = await self._behind(after)
                for first, events in batches:
                    wanted = [event for event in events if event.at > after]
                    after = Position(first, max(len(events) - 1, after.place if first == after.first else 0))
                    if wanted:
                        yield wanted
                if batches or fresh is not self._fresh:
                    continue
                try:
                    async with asyncio.timeout(heartbeat):
                        await fresh.wait()
                except TimeoutError:
                    yield None
        finally:
            self.listeners -= 1

    async def _behind(self, after: Position) -> list[tuple[int, list[Event]]]:
        """The next batches that hold something behind a position, or that might."""
        if after.first > self._base or (after.first == self._base and self._is_whole(after)):
            return [(first, self._events(first, self._recent[first])) for first in self._recent_after(after)]
        rows: Sequence[Batch] = await self.ask(self._pages.batches, max(0, after.first), _PAGE)
        found = [(row.first, self._events(row.first, row.payload)) for row in rows]
        return [(first, events) for first, events in found if events and events[-1].at > after]

    def _is_whole(self, after: Position) -> bool:
        """Whether a position is known to be the end of its batch."""
        events = self._decoded.get(after.first)
        return after.place >= _ALL or (events is not None and after.place >= len(events) - 1)

    def _recent_after(self, after: Position) -> list[int]:
        """Batches in memory with something behind a position, from the newest back, as most listeners are there."""
        wanted = []
        for first in reversed(self._recent):
            if first < after.first:
                break
            if first == after.first and len(self._events(first, self._recent[first])) - 1 <= after.place:
                break
            wanted.append(first)
        return wanted[::-1]

    def _events(self, first: int, payload: bytes) -> list[Event]:
        found = self._decoded.get(first)
        if found is None:
            found = self._decoded[first] = [
                self._event(Position(first, index), record) for index, record in enumerate(coding.unpack(payload))
            ]
            if len(self._decoded) > _DECODED:
                self._decoded.popitem(last=False)
        return found

    def _event(self, at: Position, record: dict[str, Any]) -> Event:
        name = str(record.get("event", "event"))
        text = b"id: %s\nevent: %s\ndata: %s\n\n" % (str(at).encode(), name.encode(), coding.to_bytes(record))
        return Event(at, record.get("run"), self._owner(record), record.get("unit"), name, text)


def told(name: str, data: Any, id: str = "") -> bytes:
    """An event of the server's own."""
    head = f"id: {id}\n" if id else ""
    return f"{head}event: {name}\n".encode() + b"data: " + coding.to_bytes(data) + b"\n\n"


HEARTBEAT = b": \n\n"
