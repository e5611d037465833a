"""Token waves: how much work lies ahead, read off the graph without run times.

The token-based approximator of the PFA paper (section 3.3.2). Wave 1 is every unfinished task whose parents have all
finished, running or not; the next wave is every task whose unfinished parents all hold a token.
"""

from collections.abc import Iterable
from typing import NamedTuple

from tradewind.policies.protocol import Unit


class Waves(NamedTuple):
    """What a walk of tokens found."""

    tasks: int
    """How many tasks lie in the waves visited (theta)."""
    widest: int
    """How many tasks the widest of them has (lambda), the approximated level of parallelism."""


def token_waves(active: Iterable[Unit], depth: int | None) -> Waves:
    """Walk tokens through at most `depth` waves, looking at each edge once."""
    wave = list(active)
    tasks = widest = visited = 0
    missing: dict[int, int] = {}
    left_of = missing.get
    while wave and (depth is None or visited < depth):
        visited += 1
        tasks += len(wave)
        widest = max(widest, len(wave))
        if visited == depth:
            break
        following: list[Unit] = []
        follow = following.append
        for unit in wave:
            for child in unit.children:
                waits = child.waits
                if waits > 1:
                    number = child.id
                    waits = left_of(number, waits)
                    missing[number] = waits - 1
                if waits == 1:
                    follow(child)
        wave = following
    return Waves(tasks, widest)
