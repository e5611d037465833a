"""Read server-sent events, and resume after the last one if the connection is lost.

The format is that of the HTML standard (section 9.2): one field per line, an empty line ends an event, and comments
serve as heartbeats.
"""

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager

import httpx
import orjson

from tradewind.client.backend import Event
from tradewind.client.errors import UnreachableError
from tradewind.client.problems import check

PAUSES = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Seconds before each reconnection; the last value is repeated."""
PATIENCE = 40.0
"""Seconds without any event after which the stream is given up."""
SILENCE = 45.0
"""Seconds after which a connection without a heartbeat counts as lost; a server sends one every 15 s."""

Open = Callable[[dict[str, str]], AbstractContextManager[httpx.Response]]


def parse(lines: Iterable[str]) -> Iterator[Event]:
    """Yield events from the lines of a stream; an incomplete event at the end is dropped."""
    id, name, data = "", "", list[str]()
    for line in lines:
        if not line:
            if data:
                yield Event(id, name or "message", _value("\n".join(data)))
            name, data = "", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            data.append(value)
        elif field == "event":
            name = value
        elif field == "id" and "\0" not in value:
            id = value


def read(
    connect: Open,
    after: str | None = None,
    sleep: Callable[[float], None] = time.sleep,
    patience: float = PATIENCE,
) -> Generator[Event, None, None]:
    """Yield all events of a stream once, over as many connections as necessary, until one is named `end`."""
    last = after
    tries, waited = 0, 0.0
    while True:
        try:
            with connect({} if last is None else {"Last-Event-ID": last}) as answer:
                for event in parse(check(answer).iter_lines()):
                    tries, waited = 0, 0.0
                    last = event.id or last
                    yield event
                    if event.name == "end":
                        return
        except (httpx.TransportError, httpx.StreamError) as error:
            reason = str(error) or type(error).__name__
        else:
            reason = "the server ended the stream"
        pause = PAUSES[min(tries, len(PAUSES) - 1)]
        if waited + pause > patience:
            raise UnreachableError(f"the event stream was lost ({reason}); try again later")
        sleep(pause)
        tries, waited = tries + 1, waited + pause


def _value(text: str) -> object:
    try:
        return orjson.loads(text)
    except ValueError:
        return text
