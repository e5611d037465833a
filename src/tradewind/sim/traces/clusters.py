"""The clusters C1 to C8 of the SlackSched paper, calibrated to what it publishes (sections 2.1 and 4.2.1).

The distribution of a cluster's intervals was fitted to the published figures alone, before any policy had run on it,
and is checked on other seeds. The paper gives ranges, so that only their ends are known: shares within an hour and mean
intervals of C1, C6, C7 and C8, the 95th percentiles of C1 and C6, and the shares of C2. What lies between is
interpolated, and marked as such in the comparison. The split below an hour is that of C2 for all clusters.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tradewind.sim.traces.servers import Cluster


@dataclass(frozen=True, slots=True)
class Published:
    """What the paper says of a cluster; what it does not say is interpolated between its neighbours."""

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
        "C2": Published(0.84, 42, 2.3, (True, False, False), 0.40, 0.16),
        "C3": Published(0.81, 64, 3.4, (False, False, False)),
        "C4": Published(0.78, 97, 5.1, (False, False, False)),
        "C5": Published(0.75, 147, 7.5, (False, False, False)),
        "C6": Published(0.72, 224, 11.2, (True, True, True)),
        "C7": Published(0.61, 480, 48, (True, True, False)),
        "C8": Published(0.55, 600, 60, (True, True, False)),
    }
)
SIZES = (5, 13)
"""Mean cores of a change, over all clusters."""
CORES = (15, 17, 20)
"""Mean cores of harvest machines of a minimum of 2, 4 and 8."""
TOP = (36, 38, 39)
"""What the best tenth has at least."""
BOTTOM = (3, 3, 2)
"""What the worst tenth has beyond the minimum at most."""
STABILITY = 2.6
"""For how many times a task's length a machine must have been stable, to stay so with 70 %."""
PER_HOUR = (1, 10)
"""Changes in an hour: what half of the machines do not exceed; "tens" is what the worst tenth can see."""

_SHARES = (0.0, 0.06, 0.13, 0.22, 0.32, 0.42, 0.52, 0.62, 0.72, 0.80, 0.87, 0.92, 0.96, 0.985, 1.0)


def _cluster(name: str, *minutes: float, spread: float = 0.5) -> Cluster:
    return Cluster(name, tuple(zip(_SHARES, minutes, strict=True)), between=spread, drifting=spread)


# fmt: off
_ALL = (
    _cluster(
        "C1", 0.083, 0.2218, 0.5872, 1.783, 4.357, 13.58, 13.85, 14.42,
        22.59, 41.53, 43.69, 44.76, 82.37, 427.7, 436.2, spread=0.2,
    ),
    _cluster(
        "C2", 0.083, 0.4492, 1.254, 3.413, 8.003, 37.95, 38.71, 39.48,
        56.37, 59.91, 71.3, 82.39, 144.5, 750.5, 765.5,
    ),
    _cluster(
        "C3", 0.083, 0.3998, 1.207, 3.031, 9.757, 35.75, 36.46, 41.3,
        57.5, 58.65, 131.6, 148.1, 227.1, 1543, 1574,
    ),
    _cluster(
        "C4", 0.083, 0.4088, 1.312, 3.189, 12.87, 34.97, 40.7, 41.52,
        50.26, 59.84, 217.5, 221.8, 372.2, 3722, 3797,
    ),
    _cluster(
        "C5", 0.083, 0.4042, 1.587, 3.351, 15.86, 32.93, 38.96, 39.74,
        40.54, 116, 287, 309.3, 676, 6825, 6961,
    ),
    _cluster(
        "C6", 0.083, 0.3914, 1.868, 3.619, 18.42, 25.69, 34.55, 54.39,
        55.48, 264.3, 498.5, 546.3, 909.7, 14590, 14890,
    ),
    _cluster(
        "C7", 0.083, 0.5167, 2.293, 5.887, 29.32, 30.12, 45.67, 61.75,
        364.6, 740.1, 1780, 3032, 4139, 4580, 4671,
    ),
    _cluster(
        "C8", 0.083, 0.6568, 2.512, 9.725, 30.39, 38.78, 48.64, 172,
        501.3, 939.6, 2101, 4917, 5168, 5272, 5377,
    ),
)
# fmt: on
CLUSTERS: Mapping[str, Cluster] = MappingProxyType({cluster.name: cluster for cluster in _ALL})
