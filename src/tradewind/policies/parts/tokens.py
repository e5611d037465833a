"""Token waves: estimate the work ahead from the graph, without run times.

The token-based approximator of the PFA paper (section 3.3.2). Wave 1 consists of every unfinished task whose parents
have all finished, running or not; the next wave of every task whose unfinished parents all hold a token. The walk stops
early once it has found more work than the caller can use, so that its cost does not grow with the backlog.
"""

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from tradewind.policies.protocol import Unit


class Waves(NamedTuple):
    """The result of a token walk."""

    tasks: int
    """Number of tasks in the waves visited (theta)."""
    widest: int
    """Number of tasks in the widest wave (lambda), the approximate level of parallelism."""
    is_cut: bool = False
    """Whether there may be more of both."""


class Enough(NamedTuple):
    """When a walk may stop early: after this many tasks, or one wave this wide."""

    tasks: int | None = None
    width: int | None = None


ALL = Enough()
"""Walk to the end."""


def token_waves(active: Iterable[Unit], depth: int | None, enough: Enough = ALL) -> Waves:
    """Walk tokens through at most `depth` waves, visiting each edge at most once."""
    most = min((bound for bound in enough if bound is not None), default=None)
    wave = list(islice(active, most))  # the first wave, up to the width that is enough
    tasks = widest = visited = 0
    missing: dict[int, int] = {}
    left_of = missing.get
    while wave and (depth is None or visited < depth):
        visited += 1
        tasks += len(wave)
        widest = max(widest, len(wave))
        if _suffices(tasks, enough.tasks) or _suffices(widest, enough.width):
            return Waves(tasks, widest, is_cut=True)
        if visited == depth:
            break
        following: list[Unit] = []
        follow = following.append
        for unit in wave:
            for child in unit.children:
                waits = child.waits
                # A child with several parents joins the wave of its last one; a counter per child avoids looking back.
                if waits > 1:
                    number = child.id
                    waits = left_of(number, waits)
                    missing[number] = waits - 1
                if waits == 1:
                    follow(child)
        wave = following
    return Waves(tasks, widest)


def _suffices(found: int, bound: int | None) -> bool:
    return bound is not None and found >= bound
