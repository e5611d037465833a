"""Compute the cost of each step and machine type, and how much of it was wasted.

The cost of a machine is spread evenly over the time it was held. At each instant it is divided equally among the
attempts running there: it is *useful* if the attempt succeeded, and *repeated* work otherwise. The time in which a
machine boots or runs nothing also costs: *booting* and *idle*.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tradewind.model.units import Duration, Time
from tradewind.pictures.report.facts import DONE, RUNNING, Attempt, Facts, Machine


@dataclass(slots=True)
class Use:
    """How the money and time of a step or machine type were used."""

    useful: float = 0.0
    """Money; fractions need not be whole."""
    repeated: float = 0.0
    booting: float = 0.0
    idle: float = 0.0
    busy: Duration = 0
    """Total time of all attempts."""
    at_work: Duration = 0
    """Time in which machines ran anything, including other runs."""
    held: Duration = 0
    """Time for which machines were held."""
    machines: int = 0
    lost: int = 0

    @property
    def cost(self) -> float:
        """Return the total paid."""
        return self.useful + self.repeated + self.booting + self.idle

    @property
    def waste(self) -> float:
        """Return the wasted part."""
        return self.cost - self.useful


@dataclass(slots=True)
class Costs:
    """The breakdown of the cost."""

    steps: dict[str, Use] = field(default_factory=lambda: defaultdict(Use))
    types: dict[str, Use] = field(default_factory=lambda: defaultdict(Use))
    total: Use = field(default_factory=Use)


def share_costs(facts: Facts, machines: Iterable[Machine], run: int | None, begin: Time, end: Time) -> Costs:
    """Distribute the cost of machines over the work of a run, or of all runs.

    The share of other runs is theirs, and so is the cost of machines before a run began and after it ended.
    """
    costs = Costs()
    attempts: dict[int, list[Attempt]] = defaultdict(list)
    for unit in facts.units.values():
        for attempt in unit.attempts:
            attempts[attempt.machine].append(attempt)
    for machine in machines:
        _share(facts, machine, attempts[machine.number], costs, run, (begin, end))
    return costs


def _share(
    facts: Facts,
    machine: Machine,
    attempts: list[Attempt],
    costs: Costs,
    run: int | None,
    window: tuple[Time, Time],
) -> None:
    last = max(facts.end, machine.acquired) if machine.gone is None else machine.gone
    life = last - machine.acquired
    rate = machine.cost / life if life else 0.0
    since = machine.acquired if run is None else max(machine.acquired, min(window[0], last))
    gone = last if run is None else max(since, min(window[1], last))
    up = max(since, min(machine.up if machine.up is not None else gone, gone))
    type_use = costs.types[machine.kind]
    everything = (type_use, costs.total)
    for use in everything:
        use.machines += 1
        use.lost += machine.is_lost
        use.held += gone - since
        use.booting += rate * (up - since)
        if not life:
            use.idle += machine.cost
    moments = sorted(
        [(attempt.begin, 1, place) for place, attempt in enumerate(attempts)]
        + [(gone if attempt.end is None else attempt.end, 0, place) for place, attempt in enumerate(attempts)]
    )
    running: dict[int, Attempt] = {}
    before = up
    share = 0.0  # cumulative cost per running attempt: an attempt costs what this rises by while it runs
    began: dict[int, float] = {}
    for moment, is_begin, place in [*moments, (gone, 2, -1)]:
        at = min(max(moment, up), gone)
        if running:
            share += rate * (at - before) / len(running)
        for use in everything:
            if running:
                use.at_work += at - before
            else:
                use.idle += rate * (at - before)
        before = at
        if is_begin == 1:
            running[place] = attempts[place]
            began[place] = share
        elif place in running:
            _settle(facts, running.pop(place), share - began[place], gone, costs, everything, run)


def _settle(
    facts: Facts, attempt: Attempt, cost: float, gone: Time, costs: Costs, everything: tuple[Use, Use], run: int | None
) -> None:
    unit = facts.units[attempt.unit]
    if run is not None and unit.run != run:
        return
    length = (gone if attempt.end is None else attempt.end) - attempt.begin
    useful = _useful_part(attempt, length)
    for use in (costs.steps[unit.kind], *everything):
        use.busy += length
        use.useful += useful * cost
        use.repeated += (1 - useful) * cost


def _useful_part(attempt: Attempt, length: Time) -> float:
    """Return the fraction of an attempt that is not repeated: all if it succeeded; for a share, what it delivered."""
    if attempt.outcome in (DONE, RUNNING):
        return 1.0
    if attempt.delivered is None or length <= 0:
        return 0.0
    return min(1.0, (attempt.delivered - attempt.begin) / length)
