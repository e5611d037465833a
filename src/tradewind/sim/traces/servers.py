"""Synthetic servers: regular machines come and go on each, and the rest is free (SlackSched, section 2.1).

The times between two changes of a server follow its cluster's distribution exactly, but not independently: a server has
quiet and busy periods. The mood of a server is a normal deviate that drifts slowly from change to change; together with
chance it determines the next quantile of the distribution. At each change a regular machine starts or ends, whichever
brings the server closer to its usual load; it is cut to the free cores if it is larger. Harvest machines get the rest.
The provider keeps 2, 4 or 8 cores of a server, the minimum of a harvest machine there, free of regular machines while
these find room elsewhere: evictions are rare.
"""

import random
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import erfc, exp, log, sqrt, tanh

from tradewind.model.units import MINUTE, SECOND, Duration, Time
from tradewind.sim.traces.steps import Steps

SIZES = (1, 2, 4, 8, 16, 32)
"""Cores of regular machines."""
MINIMA = (2, 4, 8)
"""Minimum sizes of harvest machines."""
WEIGHTS = (3, 8, 17, 30, 30, 12)
"""How often each size is requested, so that the mean change is 9 cores, the middle of the published range (5 to 13)."""
HOUR_IN_MINUTES = 60
LONGEST = 31 * 24 * 60
"""Minutes: the length of the published traces, one month each."""
BEFORE = 500
"""Number of intervals that a server has been running when its trace begins."""
_SILVER = 0.41421356237309515
"""The fractional parts of its multiples are evenly distributed."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """The behaviour of the servers of a cluster."""

    name: str
    lasting: tuple[tuple[float, float], ...]
    """Points of the time between two changes: minutes, and the fraction that lasts longer, from (0, 1) on. In between,
    the rate of change is constant; beyond an hour, it falls with the time elapsed."""
    tail: float
    """How fast the fraction falls beyond the last point: by this power of time."""
    cores: int = 64
    """Of each server."""
    free: tuple[tuple[float, float], ...] = ((0.0, 1.0), (0.5, 6.0), (0.8, 16.0), (0.95, 38.0), (1.0, 48.0))
    """Quantiles of the usual number of free cores on a server, beyond those kept for a harvest machine."""
    rush: float = 0.02
    """Fraction of regular machines that take even the cores kept for a harvest machine."""
    mood: float = 0.7
    """How much the mood of a server determines what comes next, the rest being chance."""
    memory: float = 0.95
    """Correlation of the moods at two consecutive changes."""
    pull: float = 10.0
    """How many cores a server may deviate from its usual load."""

    @property
    def mean(self) -> float:
        """Return the mean time between two changes, in minutes."""
        return sum(piece.area for piece in _pieces(self))


@dataclass(frozen=True, slots=True)
class _Piece:
    """A period in which the fraction of intervals that last longer falls steadily, or as a power of time."""

    begin: float
    end: float
    share: float
    """At the start."""
    rate: float
    """The rate, or the power."""
    is_power: bool

    def time(self, risk: float) -> float:
        """Return when the logarithm of the fraction has fallen by an amount."""
        if self.is_power:
            return min(self.end, self.begin * exp(risk / self.rate))
        return self.begin + risk / self.rate

    @property
    def area(self) -> float:
        """Return the contribution of the period to the mean."""
        if not self.is_power:
            return self.share * (1 - exp(-self.rate * (self.end - self.begin))) / self.rate
        beyond = 1 - self.rate
        if abs(beyond) < 1e-9:
            return self.share * self.begin * log(self.end / self.begin)
        return self.share * self.begin * (exp(beyond * log(self.end / self.begin)) - 1) / beyond


def _pieces(cluster: Cluster) -> list[_Piece]:
    found = []
    for (begin, before), (end, after) in pairwise(cluster.lasting):
        is_power = begin >= HOUR_IN_MINUTES
        rate = log(before / after) / (log(end / begin) if is_power else end - begin)
        found.append(_Piece(begin, end, before, rate, is_power))
    last, share = cluster.lasting[-1]
    return [*found, _Piece(last, LONGEST, share, cluster.tail, is_power=True)]


class _Intervals:
    """Times between two changes, by the fraction of intervals that last longer."""

    def __init__(self, cluster: Cluster) -> None:
        self._pieces = _pieces(cluster)
        self._risks = [-log(piece.share) for piece in self._pieces]

    def __call__(self, share: float) -> float:
        """Return the minutes that a fraction of the intervals exceeds."""
        risk = -log(share)
        place = bisect_right(self._risks, risk) - 1
        return self._pieces[place].time(risk - self._risks[place])


class _Quantiles:
    """A distribution given by some of its quantiles, with linear interpolation."""

    def __init__(self, knots: Sequence[tuple[float, float]]) -> None:
        self._shares = [share for share, _ in knots]
        self._values = [value for _, value in knots]

    def __call__(self, share: float) -> float:
        shares, values = self._shares, self._values
        place = min(bisect_right(shares, share), len(shares) - 1)
        low, high = shares[place - 1], shares[place]
        return values[place - 1] + (values[place] - values[place - 1]) * (share - low) / (high - low)


def minimum_of(server: int) -> int:
    """Return the minimum size of a harvest machine for which a server keeps room."""
    return MINIMA[server % len(MINIMA)]


def make_servers(cluster: Cluster, count: int, length: Duration, seed: int | str) -> list[Steps]:
    """Return the free cores of servers from time 0 on; a server does not depend on how many there are.

    Their usual loads are spread evenly, so that a few dozen servers resemble the whole cluster.
    """
    intervals = _Intervals(cluster)
    free_of = _Quantiles(cluster.free)
    first = random.Random(f"{seed}/{cluster.name}").random()
    servers = []
    for number in range(count):
        usual = minimum_of(number) + free_of((first + number * _SILVER) % 1)
        rng = random.Random(f"{seed}/{cluster.name}/{number}")
        servers.append(_server(cluster, minimum_of(number), usual, intervals, length, rng))
    return servers


def _server(
    cluster: Cluster, kept: int, usual: float, intervals: _Intervals, length: Duration, rng: random.Random
) -> Steps:
    gauss, uniform = rng.gauss, rng.random
    by_mood, by_chance = sqrt(cluster.mood / 2), sqrt((1 - cluster.mood) / 2)
    memory, surprise = cluster.memory, sqrt(1 - cluster.memory**2)
    free, machines = _filled(cluster.cores, usual, rng)
    mood = gauss(0, 1)
    times: list[Time] = [0]
    values = [free]
    now = -BEFORE * cluster.mean * MINUTE
    while True:
        now += intervals(0.5 * erfc(by_mood * mood + by_chance * gauss(0, 1))) * MINUTE
        if now > length:
            return Steps(times, values)
        mood = memory * mood + surprise * gauss(0, 1)
        room = free if uniform() < cluster.rush else free - kept
        if room > 0 and (not machines or uniform() < 0.5 + 0.5 * tanh((free - usual) / cluster.pull)):
            size = min(room, _size(uniform()))
            machines.append(size)
            free -= size
        else:
            place = int(uniform() * len(machines))
            machines[place], machines[-1] = machines[-1], machines[place]
            free += machines.pop()
        if now <= 0:
            values[0] = free
            continue
        times.append(max(round(now / SECOND) * SECOND, times[-1] + SECOND))
        values.append(free)


_BOUNDS = [bound / sum(WEIGHTS) for bound in accumulate(WEIGHTS)]


def _size(share: float) -> int:
    return SIZES[min(bisect_right(_BOUNDS, share), len(SIZES) - 1)]


def _filled(cores: int, usual: float, rng: random.Random) -> tuple[int, list[int]]:
    """Return regular machines of a server at its usual load, and the free cores."""
    free = cores
    machines = []
    while free > usual:
        size = min(free, _size(rng.random()))
        machines.append(size)
        free -= size
    return free, machines
