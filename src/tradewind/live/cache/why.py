"""Why a call was run although something like it had been run before: which parts of its key differed."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tradewind.live.store.rows import CacheRow
from tradewind.model.action import Json

_GENERATED = re.compile(r"inputs\._(\d+)")
"""Expressions in a command are inputs without names."""


class Difference(NamedTuple):
    """A part of a key that was not the same."""

    part: str
    """`command`, `code`, `image`, `inputs.NAME`, `env.NAME` or `outputs`."""
    was: str | None
    """In a few words; None: it was not there."""
    now: str | None

    def __str__(self) -> str:
        part = _GENERATED.sub(r"value \1 of the command", self.part)
        if self.was is None:
            return f"{part} is new: {self.now}"
        if self.now is None:
            return f"{part} is no longer there; it was {self.was}"
        if self.was == self.now:
            return f"{part} has changed inside: {self.now}"
        return f"{part} was {self.was}, is {self.now}"


class Why(NamedTuple):
    """Why a call was not taken from the cache."""

    closest: CacheRow | None
    """The most similar earlier one; None: there is none."""
    differences: tuple[Difference, ...]

    def __str__(self) -> str:
        if self.closest is None:
            return "nothing is remembered of it from any other run"
        return f"closest is {self.closest.call} of run {self.closest.run}: " + "; ".join(map(str, self.differences))


def why_not_cached(entry: CacheRow, earlier: Iterable[CacheRow]) -> Why:
    """Which parts of a call's key differ from those of the most similar earlier call of the same step."""
    others = [row for row in earlier if row.step == entry.step and row.run != entry.run and row.made <= entry.made]
    if not others:
        return Why(None, ())

    def distance(row: CacheRow) -> tuple[int, bool, int, str]:
        return len(_differing(row.parts, entry.parts)), row.call != entry.call, -row.made, row.key

    closest = min(others, key=distance)
    names = _differing(closest.parts, entry.parts)
    differences = [Difference(name, _shown(closest.parts, name), _shown(entry.parts, name)) for name in names]
    return Why(closest, tuple(differences))


def _differing(was: Mapping[str, Json], now: Mapping[str, Json]) -> list[str]:
    return [name for name in sorted({*was, *now}) if was.get(name, [None])[0] != now.get(name, [None])[0]]


def _shown(parts: Mapping[str, Json], name: str) -> str | None:
    return parts[name][1] if name in parts else None
