"""The clusters C1 to C8 of the SlackSched paper, generated from its published figures (sections 2.1 and 4.2.1).

Nothing is fitted: the fractions of intervals within a minute, ten minutes and an hour, the 95th percentile and the mean
define the distribution that servers draw from. Up to an hour the rate of change is constant between two of these;
beyond, it falls as one over time, following Fig. 13: to stay stable for the length of a task with 70 %, a machine must
have been stable for 2.6 times as long, for tasks of any length.

The paper gives ranges, so only their ends are known: fractions within an hour and mean intervals of C1, C6, C7 and C8,
the 95th percentiles of C1 and C6, the fractions of C2 and Fig. 13, which we assume to be of C2, too. Values in between
are interpolated, and marked as such in the comparison. The split below an hour is that of C2 for all clusters.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from tradewind.sim.traces.servers import Cluster


@dataclass(frozen=True, slots=True)
class Published:
    """The paper's figures of a cluster; missing ones are interpolated between its neighbours."""

    within_hour: float
    gap: float
    """Mean time between two changes, in minutes."""
    gap_p95: float
    """Hours."""
    is_given: tuple[bool, bool, bool]
    """Which of the three the paper gives."""
    within_10_minutes: float | None = None
    within_minute: float | None = None


PUBLISHED: Mapping[str, Published] = MappingProxyType(
    {
        "C1": Published(0.93, 26, 1.2, (True, True, True)),
        "C2": Published(0.84, 73, 2.9, (True, False, False), 0.40, 0.16),
        "C3": Published(0.81, 97, 4.1, (False, False, False)),
        "C4": Published(0.78, 128, 5.7, (False, False, False)),
        "C5": Published(0.75, 169, 8.0, (False, False, False)),
        "C6": Published(0.72, 224, 11.2, (True, True, True)),
        "C7": Published(0.61, 480, 48, (True, True, False)),
        "C8": Published(0.55, 600, 60, (True, True, False)),
    }
)
SIZES = (5, 13)
"""Mean number of cores of a change, over all clusters."""
CORES = (15, 17, 20)
"""Mean cores of harvest machines with a minimum of 2, 4 and 8."""
TOP = (36, 38, 39)
"""Minimum of the best tenth."""
BOTTOM = (3, 3, 2)
"""Maximum of the worst tenth, beyond the minimum size."""
STABILITY = 2.6
"""How many times a task's length a machine must have been stable, to stay stable with 70 %."""
PER_HOUR = (1, 10)
"""Changes per hour: the median over machines; "tens" is what the worst tenth can see."""


def _cluster(name: str, known: Published) -> Cluster:
    split = PUBLISHED["C2"]
    lasting = (
        (0.0, 1.0),
        (1.0, 1 - known.within_hour * (split.within_minute or 0) / split.within_hour),
        (10.0, 1 - known.within_hour * (split.within_10_minutes or 0) / split.within_hour),
        (60.0, 1 - known.within_hour),
        (60 * known.gap_p95, 0.05),
    )
    return _with_mean(Cluster(name, lasting, tail=1.0), known.gap)


def _with_mean(cluster: Cluster, mean: float) -> Cluster:
    """Return the cluster with the tail that gives a mean interval, found by bisection."""
    low, high = 0.1, 10.0
    for _ in range(50):
        middle = (low + high) / 2
        if replace(cluster, tail=middle).mean > mean:
            low = middle
        else:
            high = middle
    return replace(cluster, tail=low)


CLUSTERS: Mapping[str, Cluster] = MappingProxyType({name: _cluster(name, known) for name, known in PUBLISHED.items()})
