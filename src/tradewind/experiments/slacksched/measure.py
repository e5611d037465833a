"""Measure one simulation: completion times of jobs, wasted work, and the cost of machines."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import fmean

from tradewind.core.elastic.events import DELIVERED
from tradewind.core.log import Record
from tradewind.core.state import State
from tradewind.core.summary import percentile
from tradewind.model.command import Acquire, Admitted, Ended, Kill, Release, Start
from tradewind.model.event import Finished, MachineLost, MachineReady, MachineResized, Progressed
from tradewind.model.machine import MachineType
from tradewind.model.units import HOUR, UNIT, Duration, Time
from tradewind.sim.traces.provider import cores_of


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a simulation."""

    completion: tuple[float, ...]
    """Hours from submission to end of each job."""
    unfinished: int
    starts: int
    preemptions: int
    useful: float
    """Core-hours of successful attempts."""
    wasted: float
    """Core-hours of attempts that were preempted."""
    cost: float
    used: float
    """Fraction of the held cores in use, from the first job to the end of the last."""
    machines: float
    """Mean number held during that time."""
    stable: float = 0.0
    """Fraction of the machines held at the end that are on stable servers, if known."""
    converging: tuple[float, ...] = ()
    """The same after each hour."""
    interruptible: tuple[bool, ...] = ()
    """For each job, whether it saves its progress."""

    @property
    def waste(self) -> float:
        """Return wasted work as a fraction of all work."""
        return self.wasted / (self.wasted + self.useful) if self.useful else 0.0

    @property
    def extra(self) -> float:
        """Return wasted work as a fraction of useful work."""
        return self.wasted / self.useful if self.useful else 0.0


class Meter:
    """A meter that measures a simulation from its records, starting at the end of the warm-up."""

    def __init__(self, state: State, begin: Time) -> None:
        self._state = state
        self._begin = begin
        self._end = begin
        self._submitted: dict[int, Time] = {}
        self._ended: dict[int, Time] = {}
        self._running: dict[int, dict[int, tuple[int, Time, int]]] = {}
        """By machine and unit: attempt, start and cores."""
        self._sizes: dict[int, tuple[MachineType, int, Time, bool]] = {}
        """By machine: its type, its cores, since when, and whether it is up."""
        self._spells: list[tuple[Time, Time, int, MachineType]] = []
        self._starts = self._preemptions = self._unneeded = 0
        self._useful = self._wasted = 0
        self._delivered: dict[int, Time] = {}
        """By share of an elastic unit: the time of its last delivery."""
        self._busy: list[tuple[Time, Time, int]] = []

    def observe(self, record: Record) -> None:
        """Process the next record."""
        match record:
            case Start():
                unit = self._state.units[record.unit]
                cores = cores_of(unit.need.requirement.amounts)
                self._running.setdefault(record.machine, {})[record.unit] = (record.attempt, record.at, cores)
                self._starts += 1
            case Finished():
                self._stop(record.machine, record.unit, record.attempt, record.at, is_useful=True)
            case Kill():
                self._stop(record.machine, record.unit, record.attempt, record.at, is_useful=False)
                self._unneeded += record.because == DELIVERED
            case Progressed() if record.deliveries:
                self._delivered[record.unit] = record.at
            case MachineResized():
                self._resize(record.machine, record.at, cores_of(record.amounts))
            case MachineReady():
                type, cores, _, _ = self._sizes[record.machine]
                self._sizes[record.machine] = (type, cores, record.at, True)
            case MachineLost():
                for number, (attempt, _, _) in list(self._running.get(record.machine, {}).items()):
                    self._stop(record.machine, number, attempt, record.at, is_useful=False)
                self._leave(record.machine, record.at)
            case Release():
                self._leave(record.machine, record.at)
            case Acquire():
                type = self._state.kinds[record.kind].type
                self._sizes[record.machine] = (type, cores_of(type.amounts), record.at, False)
            case Admitted() if record.at >= self._begin:
                self._submitted[record.run] = record.at
            case Ended() if record.run in self._submitted:
                self._ended[record.run] = record.at
                self._end = max(self._end, record.at)

    def figures(self) -> Figures:
        """Return all figures."""
        for machine in list(self._sizes):
            self._leave(machine, self._end)
        begin, end = self._begin, max(self._end, self._begin + 1)
        held = sum(cores * _overlap(since, until, begin, end) for since, until, cores, _ in self._spells)
        time = sum(_overlap(since, until, begin, end) for since, until, _, _ in self._spells)
        cost = sum(
            _price(type, cores) * _overlap(since, until, begin, end) / type.billing.period
            for since, until, cores, type in self._spells
        )
        busy = sum(cores * _overlap(since, until, begin, end) for since, until, cores in self._busy)
        ended = {run: self._ended[run] - at for run, at in self._submitted.items() if run in self._ended}
        return Figures(
            completion=tuple(ended[run] / HOUR for run in sorted(ended)),
            unfinished=len(self._submitted) - len(ended),
            starts=self._starts,
            preemptions=self._preemptions - self._unneeded,
            useful=self._useful / HOUR,
            wasted=self._wasted / HOUR,
            cost=cost / UNIT,
            used=busy / held if held else 0.0,
            machines=time / (end - begin),
        )

    def _stop(self, machine: int, unit: int, attempt: int, at: Time, *, is_useful: bool) -> None:
        running = self._running.get(machine, {}).get(unit)
        if running is None or running[0] != attempt:
            return
        del self._running[machine][unit]
        _, since, cores = running
        self._busy.append((since, at, cores))
        work = cores * (at - since)
        delivered = cores * max(0, self._delivered.pop(unit, since) - since)
        if is_useful:
            self._useful += work
        elif delivered:  # a share loses only the work after its last report
            self._useful += delivered
            self._wasted += work - delivered
        else:
            kept = self._state.units[unit].kept if unit in self._state.units else 0
            self._wasted += max(0, work - cores * kept)
        self._preemptions += not is_useful

    def _resize(self, machine: int, at: Time, cores: int) -> None:
        type, before, since, is_up = self._sizes[machine]
        if is_up:
            self._spells.append((since, at, before, type))
        self._sizes[machine] = (type, cores, at, is_up)

    def _leave(self, machine: int, at: Time) -> None:
        size = self._sizes.pop(machine, None)
        if size is not None and size[3]:
            self._spells.append((size[2], at, size[1], size[0]))


def _overlap(since: Time, until: Time, begin: Time, end: Time) -> Duration:
    return max(0, min(until, end) - max(since, begin))


def _price(type: MachineType, cores: int) -> float:
    """Return the price of a machine for a billing period as in the ledger: missing cores are refunded."""
    return float(type.price - type.core_price * (cores_of(type.amounts) - cores))


def ratios(ours: Figures, theirs: Figures) -> list[float]:
    """Return the completion time of each job relative to another simulation."""
    return [mine / other for mine, other in zip(ours.completion, theirs.completion, strict=True) if other > 0]


def mean_reduction(ours: Sequence[Figures], theirs: Sequence[Figures]) -> float:
    """Return one minus the geometric mean of the ratios of all jobs (the paper's mean reduction)."""
    logs = [log(ratio) for mine, other in zip(ours, theirs, strict=True) for ratio in ratios(mine, other)]
    return 1 - exp(fmean(logs)) if logs else 0.0


def reduction_in(share: float | None, ours: Sequence[Figures], theirs: Sequence[Figures]) -> float:
    """Return the reduction of the mean (None) or a percentile of all completion times."""

    def figure(all_: Sequence[Figures]) -> float:
        times = sorted(time for each in all_ for time in each.completion)
        return fmean(times) if share is None else percentile(times, share)

    return 1 - figure(ours) / figure(theirs)
