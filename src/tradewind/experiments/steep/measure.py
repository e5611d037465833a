"""Measure a run from its lanes."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import thread_time

from tradewind.core.log import Record
from tradewind.experiments.steep.settings import SETS, SHARED
from tradewind.model.command import Start
from tradewind.model.event import Finished
from tradewind.model.units import Duration, Time
from tradewind.pictures.lanes import Lane

TENTHS = 10


@dataclass(frozen=True, slots=True)
class Length:
    """The length of a run, and the time until the last chain finished that a heuristic can affect."""

    whole: Duration
    shared: Duration
    is_right: bool
    """Whether every chain ran on an agent that offers what it requires."""


def length_of(lanes: Sequence[Lane], start: Time) -> Length:
    """Return the length of a run from its start."""
    return Length(
        last_end(lanes, SETS) - start,
        last_end(lanes, SHARED) - start,
        all(bar.what in lane.kind.split("+") for lane in lanes for bar in lane.bars),
    )


def last_end(lanes: Sequence[Lane], sets: Sequence[str]) -> Time:
    """Return when the last chain that required one of some sets finished; 0 if there was none."""
    return max((bar.end for lane in lanes for bar in lane.bars if bar.what in sets and bar.is_done), default=0)


def done(lanes: Sequence[Lane], start: Time) -> int:
    """Return the number of finished chains."""
    return sum(bar.is_done and bar.begin >= start for lane in lanes for bar in lane.bars)


def longest_gap(lanes: Sequence[Lane], start: Time) -> Duration:
    """Return the longest time for which an agent was idle between two chains."""
    return max(
        later.begin - earlier.end for lane in lanes for earlier, later in pairwise(lane.bars) if earlier.begin >= start
    )


def finish_spread(lanes: Sequence[Lane], start: Time) -> float:
    """Return the time between the first and the last agent finishing, as a fraction of the run."""
    ends = [lane.bars[-1].end for lane in lanes]
    return (max(ends) - min(ends)) / (max(ends) - start)


def longest_without(lanes: Sequence[Lane], name: str, start: Time) -> tuple[Time, Duration]:
    """Return when, and for how long at most, no running agent offered a set that chains still required."""
    until = last_end(lanes, (name,))
    able = [lane for lane in lanes if name in lane.kind.split("+") and lane.up is not None]
    stays = sorted((lane.up or 0, lane.gone if lane.gone is not None else until) for lane in able)
    longest = (start, 0)
    covered = start
    for up, gone in stays:
        if min(up, until) - covered > longest[1]:
            longest = (covered, min(up, until) - covered)
        covered = max(covered, gone)
    return longest


class Tenths:
    """A meter of the processor time that each tenth of the chains takes, from the first start to the last end."""

    def __init__(self, chains: int, start: Time) -> None:
        self._start = start
        self._size = -(-chains // TENTHS)
        self._starts = 0
        self._left = chains
        self._marks: list[float] = []

    def observe(self, record: Record) -> None:
        """Process the next record of the log."""
        if type(record) is Start and record.at >= self._start:
            if self._starts % self._size == 0:
                self._marks.append(thread_time())
            self._starts += 1
        elif type(record) is Finished and record.at >= self._start:
            self._left -= 1
            if self._left == 0:
                self._marks.append(thread_time())

    def microseconds(self) -> list[float]:
        """Return the time per chain in each tenth: its placement, its end, and the simulated cloud."""
        return [1e6 * (later - earlier) / self._size for earlier, later in pairwise(self._marks)]
