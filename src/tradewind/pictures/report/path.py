"""The actual critical path: the last attempt, what it waited for, and so on back to the submission."""

from collections.abc import Sequence
from typing import NamedTuple

from tradewind.model.units import Duration, Time
from tradewind.pictures.report.facts import DONE, Attempt, Facts, Unit


class Link(NamedTuple):
    """One attempt on the path, and the wait before it."""

    unit: Unit
    attempt: Attempt
    waited: Duration
    """Time from the end of the previous link, or the submission, to its start."""
    after: str
    """The predecessor: its last `parent`, an earlier `attempt`, what ran on its `machine`, or the `submission`."""

    @property
    def length(self) -> Duration:
        """Return how long it ran."""
        return (self.attempt.end or self.attempt.begin) - self.attempt.begin


def critical_path(facts: Facts, units: Sequence[Unit], submitted: Time) -> list[Link]:
    """Return the path from the first link to the one that ended last."""
    ended = [unit for unit in units if unit.end is not None]
    if not ended:
        return []
    wanted = {unit.number for unit in units}
    links: list[Link] = []
    unit: Unit | None = max(ended, key=lambda unit: (unit.end or 0, unit.number))
    place = len(unit.attempts) - 1 if unit is not None else 0
    while unit is not None:
        attempt = unit.attempts[place]
        before, after = _before(facts, unit, place, wanted)
        since = submitted if before is None else before.end or submitted
        links.append(Link(unit, attempt, max(0, attempt.begin - since), after))
        if before is None:
            break
        unit = facts.units[before.unit]
        place = unit.attempts.index(before)
    return links[::-1]


def _before(facts: Facts, unit: Unit, place: int, wanted: set[int]) -> tuple[Attempt | None, str]:
    """Return the attempt whose end allowed another one to start."""
    if place > 0:
        return unit.attempts[place - 1], "attempt"
    begin = unit.attempts[0].begin
    if unit.parents:
        attempts = [facts.units[number].attempts[-1] for number in unit.parents if number in facts.units]
        ended = [each for each in attempts if each.end is not None and each.end <= begin]
        return max(ended, key=lambda each: (each.end or 0, each.unit), default=None), "parent"
    happening = None if unit.parents is not None else facts.happenings.get(unit.attempts[0].cause)
    if happening is None or happening.name != "finished" or happening.number not in wanted:
        return None, "submission"
    last = facts.units[happening.number].attempts[-1]
    if last.outcome != DONE or last.end is None or last.end > begin or last.unit == unit.number:
        return None, "submission"
    return last, "machine" if last.machine == unit.attempts[0].machine else "parent"
