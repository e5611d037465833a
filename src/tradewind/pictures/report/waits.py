"""Compute waiting times: for each start of an attempt, how long it could have run earlier, and what blocked it."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tradewind.model.units import Duration, Time
from tradewind.pictures.report.facts import FAILED, Attempt, Cut, Facts, Unit


class Held(StrEnum):
    """What blocked a unit."""

    PARENTS = "its slowest parent"
    BUSY = "a busy machine"
    BUDGET = "the budget"
    LIMIT = "the limit of machines"
    BOOT = "a booting machine"
    RETRY = "a retry"
    SUSPENDED = "its run to be resumed"
    DECISION = "a decision"


@dataclass(frozen=True, slots=True)
class Wait:
    """A period in which a unit waited."""

    unit: int
    attempt: int
    begin: Time
    end: Time
    held: Held
    other: str = ""
    """What it waited for, by name: a step, or a machine type."""

    @property
    def length(self) -> Duration:
        """Return its length."""
        return self.end - self.begin


def waits_of(facts: Facts, units: Sequence[Unit]) -> Iterator[Wait]:
    """Yield all waits of some units, in order of units."""
    for unit in units:
        yield from _for_parents(facts, unit)
        before: Attempt | None = None
        for attempt in unit.attempts:
            since = unit.eligible if before is None else before.end
            if since is not None and since < attempt.begin:
                yield from _for_machine(facts, unit, attempt, since, before)
            before = attempt


def _for_parents(facts: Facts, unit: Unit) -> Iterator[Wait]:
    """Yield the wait from the end of all other parents to that of the last one."""
    ends = sorted(
        (end, number)
        for number in unit.parents or ()
        if number in facts.units and (end := facts.units[number].end) is not None
    )
    if len(ends) > 1 and ends[-2][0] < ends[-1][0]:
        last = facts.units[ends[-1][1]]
        yield Wait(unit.number, 1, ends[-2][0], ends[-1][0], Held.PARENTS, last.kind)


def _for_machine(facts: Facts, unit: Unit, attempt: Attempt, since: Time, before: Attempt | None) -> Iterator[Wait]:
    happening = facts.happenings.get(attempt.cause)
    machine = facts.machines.get(attempt.machine)
    kind = machine.kind if machine is not None else ""
    number, end = attempt.number, attempt.begin
    if happening is not None and happening.name == "machine-ready" and machine is not None:
        rented = min(max(machine.acquired, since), end)
        if since < rented:
            yield Wait(
                unit.number, number, since, rented, _why_not_more(facts, unit, since, rented, Held.DECISION), kind
            )
        if rented < end:
            yield Wait(unit.number, number, rented, end, Held.BOOT, kind)
        return
    if before is not None and before.outcome == FAILED and (happening is None or happening.name == "timer"):
        yield Wait(unit.number, number, since, end, Held.RETRY)
        return
    usual = Held.DECISION if happening is not None and happening.name in ("timer", "submitted") else Held.BUSY
    yield Wait(unit.number, number, since, end, _why_not_more(facts, unit, since, end, usual), kind)


def _why_not_more(facts: Facts, unit: Unit, since: Time, until: Time, otherwise: Held) -> Held:
    """Return whether its run was suspended, or budget or limits cut a decision in the meantime."""
    if any(since < at <= until for at in facts.resumed.get(unit.run, ())):
        return Held.SUSPENDED
    run = facts.runs.get(unit.run)
    cuts = facts.cuts.get(run.tenant, []) if run is not None else []
    place = bisect_left(cuts, Cut(since, ""))
    if place == len(cuts) or cuts[place].at > until:
        return otherwise
    return Held.BUDGET if "budget" in cuts[place].because else Held.LIMIT
