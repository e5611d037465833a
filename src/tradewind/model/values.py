"""The values of expressions: JSON of bounded size, their text form, and their errors."""

import json
import math
from collections.abc import Callable
from itertools import chain
from typing import NoReturn, TypeAlias

from tradewind.model.action import Json
from tradewind.model.bounds import DEEPEST

MOST = 1_000_000
"""Maximum number of characters or items in a computed value."""
EFFORT = 4 * MOST
"""Maximum total number of items that one evaluation may build and visit: about a second and 1 GB at worst."""
RUN_EFFORT = 10 * EFFORT
"""Maximum number of items that all evaluations of one run may visit, apart from small ones."""
PASSED = 4 * MOST
"""Maximum number of items passed to the steps and outputs of one run, apart from small values: 256 MB of text."""
_SMALL_EFFORT = 1000
"""Evaluations of up to this many items are free."""
_SMALL_VALUE = 16
"""Values of up to this many items are free: 1 KB of text."""
_SHORT = 200
"""Text of up to this many characters is always small."""
Lookup: TypeAlias = Callable[[str], Json]
"""Returns the value of a name, or raises an `ExpressionError`."""
LARGEST = 2**63 - 1
"""Larger integers do not fit into files and databases."""


class ExpressionError(ValueError):
    """An expression that cannot be parsed, or has no value."""


class AbsentError(ExpressionError):
    """A field or item that does not exist."""


class MissingError(Exception):
    """An output of a skipped step; a step that uses it is skipped in turn."""


class Outputs(dict[str, Json]):
    """The outputs of a step; a declared output is missing if its step was skipped."""

    def __missing__(self, key: str) -> NoReturn:
        raise MissingError(key)


def show(value: Json) -> str:
    """Return a value as text: words and numbers as written, lists and mappings as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def kind_of(value: Json) -> str:
    """Describe the type of a value in words."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "text"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return "a mapping"


def whole(value: Json) -> Json:
    """Return a number if it fits into files and databases."""
    if isinstance(value, int) and abs(value) > LARGEST:
        raise ExpressionError("the number is too large")
    if isinstance(value, float) and not math.isfinite(value):
        raise ExpressionError("the number is not finite")
    return value


def listed(value: Json) -> Json:
    """Return a value whose items are in lists, not in tuples or ranges."""
    return list(value) if isinstance(value, tuple | range) else value


class Allowance:
    """The work that the expressions of one run may still cause, and the values they may still pass on.

    A loop may have a million items, so bounding each evaluation is not enough. The sums do not depend on the order in
    which steps finish.
    """

    __slots__ = ("_effort", "_passed", "reason")

    def __init__(self) -> None:
        self._effort = RUN_EFFORT
        self._passed = PASSED
        self.reason = ""
        """Why nothing more is evaluated; empty: the allowance is not used up."""

    def spend(self, weight: int) -> None:
        """Charge the items that an evaluation goes over."""
        self._effort -= weight
        if self._effort < 0:
            self.reason = f"takes too long: with the rest of its run it goes over more than {RUN_EFFORT:,} items"
            raise ExpressionError(self.reason)

    def pass_on(self, value: Json) -> None:
        """Charge a value that a step is given or that a loop or program gives."""
        kind = type(value)
        if kind in _ATOMS or (kind is str and len(value) < _SHORT):
            return  # most are, and are not weighed
        found = weight(value, PASSED)
        if found > _SMALL_VALUE:
            self._passed -= found
            if self._passed < 0:
                self.reason = (
                    "the steps of this run are given more than 256 MB of values in all; pass large values on in files"
                )
                raise ExpressionError(self.reason)


class Evaluation:
    """One evaluation: where names are looked up, and its remaining effort."""

    __slots__ = ("_allowance", "_left", "lookup")

    def __init__(self, lookup: Lookup, allowance: Allowance | None = None) -> None:
        if allowance is not None and allowance.reason:
            raise ExpressionError(allowance.reason)
        self.lookup = lookup
        self._allowance = allowance
        self._left = EFFORT

    def walked(self, value: Json) -> Json:
        """Count a value that is searched or copied, and return it."""
        if isinstance(value, str | list | dict):
            self._spend(weight(value, self._left))
        return value

    def built(self, value: Json) -> Json:
        """Count a value that was built from others, and return it."""
        found = weight(value, MOST)
        if found > MOST:
            raise ExpressionError(f"makes more than {MOST:,} items")
        self._spend(found)
        return value

    def _spend(self, weight: int) -> None:
        self._left -= weight
        if self._left < 0:
            raise ExpressionError(f"takes too long: it visits more than {EFFORT:,} items")
        if self._allowance is not None and self._left < EFFORT - _SMALL_EFFORT:
            self._allowance.spend(weight)


_CHARACTERS = 6
"""Text counts as one item per 64 bytes."""
_ATOMS = frozenset({int, float, bool, type(None)})


def weight(value: Json, most: int) -> int:
    """Return the total number of items in a value, up to a maximum."""
    found = 0
    level = [value]
    for _ in range(DEEPEST + 1):
        inside: list[Json] = []
        for each in level:
            if isinstance(each, str):
                found += each.__sizeof__() >> _CHARACTERS
            elif isinstance(each, list | dict):
                found += len(each)
                if found <= most:
                    items = chain(each, each.values()) if isinstance(each, dict) else each
                    inside += [item for item in items if type(item) not in _ATOMS]
            if found > most:
                return found
        level = inside
        if not level:
            return found
    raise ExpressionError(f"is nested more than {DEEPEST} levels deep")
