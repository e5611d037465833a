"""Checks from the log alone that no iteration is lost, held twice or delivered twice; one elastic task per run."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from tradewind.core.log import Record
from tradewind.model.command import Admitted, Assign, Grown, Kill
from tradewind.model.elastic import Range
from tradewind.model.event import Failed, Finished, MachineLost, Progressed

Holder = tuple[int, int]
"""Unit and attempt."""


def numbers(ranges: Sequence[Range]) -> set[int]:
    """Every iteration by itself: slow, and hard to get wrong."""
    found = {number for begin, end in ranges for number in range(begin, end)}
    assert len(found) == sum(end - begin for begin, end in ranges), f"overlap in {ranges}"
    return found


class ElasticAudit:
    """Follows who holds what."""

    def __init__(self) -> None:
        self.delivered: dict[int, set[int]] = {}
        """By run."""
        self.most_at_once: dict[int, int] = {}
        self._held: dict[int, dict[Holder, set[int]]] = {}
        self._machines: dict[Holder, int] = {}
        self._deliveries: dict[Holder, int] = {}
        self._firsts: list[int] = []
        self._owners: list[int] = []

    def check(self, records: Iterable[Record]) -> "ElasticAudit":
        for record in records:
            self._take(record)
        return self

    def _take(self, record: Record) -> None:
        if isinstance(record, Admitted | Grown):
            self._firsts.append(record.first)
            self._owners.append(record.run)
        elif isinstance(record, Assign):
            self._assigned(record)
        elif isinstance(record, Progressed):
            self._progressed(record)
        elif isinstance(record, Finished | Failed | Kill):
            self._drop((record.unit, record.attempt))
        elif isinstance(record, MachineLost):
            for holder in [each for each, machine in self._machines.items() if machine == record.machine]:
                self._drop(holder)

    def _assigned(self, record: Assign) -> None:
        run, holder, mine = self._run_of(record.unit), (record.unit, record.attempt), numbers(record.ranges)
        held = self._held.setdefault(run, {})
        held[holder] = mine
        self._machines[holder] = record.machine
        self.most_at_once[run] = max(self.most_at_once.get(run, 0), len(held))
        assert not mine & self.delivered.setdefault(run, set()), f"{record} assigns what is delivered"
        for other, theirs in held.items():
            assert other == holder or not mine & theirs, f"{record} assigns what {other} holds"

    def _progressed(self, record: Progressed) -> None:
        run, holder = self._run_of(record.unit), (record.unit, record.attempt)
        for number, ranges in record.deliveries if holder in self._machines else ():
            if number <= self._deliveries.get(holder, 0):
                continue
            given = numbers(ranges)
            assert given <= self._held[run][holder], f"{record} delivers what it does not hold"
            self._held[run][holder] -= given
            self.delivered[run] |= given
            self._deliveries[holder] = number

    def _drop(self, holder: Holder) -> None:
        if self._machines.pop(holder, None) is not None:
            self._held[self._run_of(holder[0])].pop(holder, None)

    def _run_of(self, unit: int) -> int:
        return self._owners[bisect_right(self._firsts, unit) - 1]
