"""Cursors: where a list goes on, in a form that nobody is tempted to make up."""

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import Query

from tradewind.server.problems import Problem

_LARGEST = 2**62

Limit = Annotated[int, Query(ge=1, le=1000, description="How many at most.")]
Cursor = Annotated[str | None, Query(max_length=200, description="`next` of the page before.")]

Row = TypeVar("Row")


def cursor(kind: str, *numbers: int) -> str:
    """Where a list goes on."""
    text = ":".join((kind, *map(str, numbers)))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def numbers_of(kind: str, text: str | None, count: int = 1) -> tuple[int, ...] | None:
    """The numbers in a cursor of a kind; None: there is no cursor."""
    if text is None:
        return None
    try:
        padded = text.encode("ascii") + b"=" * (-len(text) % 4)
        found, *numbers = base64.b64decode(padded, b"-_", validate=True).decode("ascii").split(":")
        values = tuple(map(int, numbers))
    except (ValueError, binascii.Error):
        found, values = "", ()
    if found != kind or len(values) != count or not all(-1 <= value <= _LARGEST for value in values):
        raise Problem(422, "the cursor is not one of this list; begin without one")
    return values


def page(rows: Sequence[Row], limit: int, show: Callable[[Row], Any], mark: Callable[[Row], str]) -> dict[str, Any]:
    """Rows, of which one more than the limit was asked for, as a page."""
    shown = rows[:limit]
    return {"items": [show(row) for row in shown], "next": mark(shown[-1]) if len(rows) > limit else None}
