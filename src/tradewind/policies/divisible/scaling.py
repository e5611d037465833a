"""How many slots each infrastructure should have: the scaling hint (TaScaaS, section III-B).

Time goes in steps: during one, work is measured; then the hint changes, and sites have another step to follow. The
original takes the partitions dispatched in a step for the load, although one may run for many steps. Ours takes the
slots in use and the partitions that wait, in the mean of the step or at its end, whichever is more, and a spare pool
for what arrives before sites have followed. It grows as soon as work waits, shrinks only with a step, and spreads the
slots over sites in proportion to what they can reach and to how fast a slot of theirs was.
"""

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

SPARE = 0.25
"""Of the partitions that arrive in a step: those that come before sites have followed a hint."""
_SLACK = 0.1
"""Of the slots: a smaller drop in need changes nothing."""
_NEWEST = 0.5
"""Weight of the newest step in the rate of arrivals."""


class Load(NamedTuple):
    """What a step has seen."""

    mean: float
    """Slots in use and partitions waiting, in the mean."""
    busy: int
    """Slots in use at its end."""
    queued: int
    """Partitions that wait at its end."""
    dispatched: int
    """Partitions handed out during it."""
    created: int
    """Partitions that jobs asked for during it."""
    slots: int
    """Slots that sites were last asked for."""
    achievable: int
    """Slots that these could have."""


class Reach(NamedTuple):
    """A site, as far as slots go."""

    achievable: int
    speed: int
    """Observed for a slot; 0: unknown."""


class Need(NamedTuple):
    """Slots wanted in all, and what the next step has to know."""

    slots: int = 1
    rate: float = 0.0
    """Partitions created in a step, smoothed."""


def ours(before: Need, load: Load) -> Need:
    """At the end of a step: its load and a spare pool; a small drop changes nothing."""
    rate = before.rate + _NEWEST * (load.created - before.rate)
    wanted = min(load.achievable, max(1, ceil(max(load.mean, load.busy + load.queued) + SPARE * rate)))
    is_small_drop = before.slots * (1 - _SLACK) < wanted < before.slots
    return Need(before.slots if is_small_drop else wanted, rate)


def grown(before: Need, now: int, achievable: int) -> Need:
    """During a step: more, if more are used and waited for than are wanted so far."""
    return Need(max(before.slots, min(achievable, now + ceil(SPARE * before.rate))), before.rate)


def original(before: Need, load: Load) -> Need:
    """The original's: what was dispatched in a step, or more in proportion to what still waits."""
    if load.dispatched == 0:
        wanted = load.queued / 2 + 1
    elif load.dispatched < load.slots:
        wanted = load.dispatched
    elif load.queued > 0.1 * load.dispatched:
        wanted = load.slots * (1 + load.queued / load.dispatched)
    else:
        wanted = before.slots
    return Need(min(load.achievable, max(1, ceil(wanted))))


def spread(slots: int, sites: Sequence[Reach]) -> list[int]:
    """Whole slots for each site: by what it can reach and its speed, never more than it can reach, never too few."""
    mean = [site.speed for site in sites if site.speed > 0]
    usual = sum(mean) / len(mean) if mean else 1.0
    weights = [site.achievable * (site.speed or usual) for site in sites]
    found = [0] * len(sites)
    open_ = [place for place, site in enumerate(sites) if site.achievable > 0]
    left = min(slots, sum(site.achievable for site in sites))
    while left > 0 and open_:
        whole = sum(weights[place] for place in open_)
        shares = [(left * weights[place] / whole, place) for place in open_]
        full = [place for share, place in shares if found[place] + share >= sites[place].achievable]
        if full:
            for place in full:
                left -= sites[place].achievable - found[place]
                found[place] = sites[place].achievable
            open_ = [place for place in open_ if place not in full]
            continue
        for share, place in shares:
            found[place] += int(share)
        left -= sum(int(share) for share, _ in shares)
        for _, place in sorted(shares, key=lambda pair: (int(pair[0]) - pair[0], pair[1]))[:left]:
            found[place] += 1
        left = 0
    return found


def spread_original(slots: int, sites: Sequence[Reach]) -> list[int]:
    """The same part of what it can reach for every site, and at least one slot."""
    whole = sum(site.achievable for site in sites)
    return [min(site.achievable, max(1, ceil(site.achievable * slots / whole))) if whole else 0 for site in sites]
