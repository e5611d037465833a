"""Made-up servers: regular machines come and go on each, and what they leave is free (SlackSched, section 2.1).

Each server changes at intervals drawn from its cluster's distribution, times a factor of the server's own and one that
drifts over hours, so that there are quiet servers and quiet times. At each change a regular
machine is started or ends, whichever brings the server nearer to its own usual load; it takes what is free where its
size is more than that. Harvest machines get what is left. The provider keeps 2, 4 or 8 cores of a server, the minimum
of a harvest machine there, from regular machines as long as they find room elsewhere: evictions are rare.
"""

import random
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import exp, log, sqrt, tanh
from statistics import NormalDist

from tradewind.model.units import HOUR, MINUTE, SECOND, Duration, Time
from tradewind.sim.traces.steps import Steps

SIZES = (1, 2, 4, 8, 16, 32)
"""Cores of regular machines."""
MINIMA = (2, 4, 8)
"""Minimum sizes of harvest machines."""
WEIGHTS = (3, 8, 17, 30, 30, 12)
"""How often each size is asked for: so that a change is of 9 cores, the middle of what is published (5 to 13)."""
_GOLDEN, _SILVER = 0.6180339887498949, 0.41421356237309515
"""Multiples of these, without their whole parts, lie evenly in any number."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """How the servers of a cluster behave."""

    name: str
    gaps: tuple[tuple[float, float], ...]
    """Quantiles of the time between two changes of a server: shares and minutes, both growing, from 0 to 1."""
    cores: int = 64
    """Of each server."""
    free: tuple[tuple[float, float], ...] = ((0.0, 1.0), (0.5, 6.0), (0.8, 16.0), (0.95, 38.0), (1.0, 48.0))
    """Quantiles of how many cores are usually free on a server beyond what is kept for a harvest machine."""
    rush: float = 0.02
    """Share of regular machines that take even what is kept for a harvest machine."""
    between: float = 0.6
    """How much servers differ: deviation of the logarithm of their factors."""
    drifting: float = 0.6
    """How much hours differ: deviation of the logarithm of the drifting factor."""
    drift: Duration = 6 * HOUR
    """How long it takes that factor to become another."""
    pull: float = 10.0
    """How many cores away from its usual load a server may well be."""


class _Quantiles:
    """A distribution given by some of its quantiles; values in between lie evenly, in their logarithm if told so."""

    def __init__(self, knots: Sequence[tuple[float, float]], *, is_logarithmic: bool) -> None:
        self._shares = [share for share, _ in knots]
        self._values = [log(value) if is_logarithmic else value for _, value in knots]
        self._is_logarithmic = is_logarithmic

    def __call__(self, share: float) -> float:
        shares, values = self._shares, self._values
        place = min(bisect_right(shares, share), len(shares) - 1)
        low, high = shares[place - 1], shares[place]
        value = values[place - 1] + (values[place] - values[place - 1]) * (share - low) / (high - low)
        return exp(value) if self._is_logarithmic else value


def minimum_of(server: int) -> int:
    """The minimum size of a harvest machine for which a server keeps room."""
    return MINIMA[server % len(MINIMA)]


def make_servers(cluster: Cluster, count: int, length: Duration, seed: int | str) -> list[Steps]:
    """Free cores of so many servers from time 0 on; a server does not depend on how many there are.

    What sets servers apart is spread evenly over them, so that a few dozen resemble the whole cluster.
    """
    gap_of = _Quantiles(cluster.gaps, is_logarithmic=True)
    free_of = _Quantiles(cluster.free, is_logarithmic=False)
    normal = NormalDist().inv_cdf
    rng = random.Random(f"{seed}/{cluster.name}")
    first, second = rng.random(), rng.random()
    servers = []
    for number in range(count):
        own = exp(cluster.between * normal(min(1 - 1e-9, max(1e-9, (first + number * _GOLDEN) % 1))))
        usual = minimum_of(number) + free_of((second + number * _SILVER) % 1)
        rng = random.Random(f"{seed}/{cluster.name}/{number}")
        servers.append(_server(cluster, minimum_of(number), own * MINUTE, usual, gap_of, length, rng))
    return servers


def _server(
    cluster: Cluster, kept: int, own: float, usual: float, gap_of: _Quantiles, length: Duration, rng: random.Random
) -> Steps:
    gauss, uniform = rng.gauss, rng.random
    drifting = cluster.drifting
    free, machines = _filled(cluster.cores, usual, rng)
    drift = gauss(0, 1)
    times: list[Time] = [0]
    values = [free]
    now = -HOUR * 24.0
    while True:
        gap = own * exp(drifting * drift) * gap_of(uniform())
        now += gap
        if now > length:
            return Steps(times, values)
        alike = exp(-gap / cluster.drift)
        drift = alike * drift + sqrt(1 - alike * alike) * gauss(0, 1)
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
    """Regular machines of a server at its usual load, and what they leave free."""
    free = cores
    machines = []
    while free > usual:
        size = min(free, _size(rng.random()))
        machines.append(size)
        free -= size
    return free, machines
