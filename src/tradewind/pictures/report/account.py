"""The account of a run: everything a report shows, computed once."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tradewind.model.program import Program
from tradewind.model.units import Duration, Time
from tradewind.model.workflow import Workflow
from tradewind.pictures.report.costs import Costs, share_costs
from tradewind.pictures.report.facts import DONE, RUNNING, Facts, Machine, Plain, Run, Unit
from tradewind.pictures.report.names import Edges, name_units
from tradewind.pictures.report.path import Link, critical_path
from tradewind.pictures.report.waits import Held, Wait, waits_of


@dataclass(frozen=True, slots=True)
class Source:
    """The input of a report."""

    title: str
    records: Iterable[Plain]
    run: int | None = None
    """The run in question; None: everything in the log."""
    document: Workflow | Program | None = None
    kinds: Mapping[int, str] = field(default_factory=dict)
    """The step of each unit, if known."""
    tails: Mapping[tuple[int, int], str] = field(default_factory=dict)
    """The last lines of output of failed attempts, by unit and attempt."""
    is_real: bool = False
    """Whether times are wall-clock times."""


@dataclass(slots=True)
class Step:
    """All units of one kind."""

    name: str
    units: int = 0
    done: int = 0
    attempts: int = 0
    failed: int = 0
    busy: Duration = 0
    longest: Duration = 0
    waited: Duration = 0
    """Total cost of machines."""
    first: Time = 0


@dataclass(frozen=True, slots=True)
class Account:
    """Everything known about a run."""

    source: Source
    facts: Facts
    runs: Sequence[Run]
    units: Sequence[Unit]
    machines: Sequence[Machine]
    steps: Mapping[str, Step]
    """In the order in which they started."""
    edges: Edges
    costs: Costs
    path: Sequence[Link]
    waits: Sequence[Wait]
    begin: Time
    end: Time

    @property
    def status(self) -> str:
        """Return how the run ended or, for several, how many ended in which way."""
        if len(self.runs) == 1:
            return self.runs[0].status
        counts: dict[str, int] = defaultdict(int)
        for run in self.runs:
            counts[run.status] += 1
        return ", ".join(f"{count:,} {status}" for status, count in sorted(counts.items())) or "nothing was submitted"


def account(source: Source) -> Account:
    """Fold the log of a run into an account."""
    facts = Facts().take(source.records)
    edges = name_units(facts, source.run, source.document, source.kinds)
    runs = [run for run in facts.runs.values() if source.run in (None, run.number)]
    units = [unit for unit in facts.units.values() if source.run in (None, unit.run)]
    begin = min([run.submitted for run in runs], default=facts.begin or 0)
    ends = [run.ended for run in runs]
    end = facts.end if None in ends or not ends else max(each for each in ends if each is not None)
    machines = _machines_of(facts, units, runs, source.run)
    waits = list(waits_of(facts, units))
    path = critical_path(facts, units, begin)
    costs = share_costs(facts, machines, source.run, begin, max(end, begin))
    return Account(
        source, facts, runs, units, machines, _steps(units, waits), edges, costs, path, waits, begin, max(end, begin)
    )


def _machines_of(facts: Facts, units: Sequence[Unit], runs: Sequence[Run], run: int | None) -> list[Machine]:
    """Return the machines of a run: those it used, and unused ones held for its tenant in the meantime."""
    found: Iterable[Machine] = facts.machines.values()
    if run is not None:
        used = {attempt.machine for unit in units for attempt in unit.attempts}
        others = {attempt.machine for unit in facts.units.values() for attempt in unit.attempts} - used
        mine = runs[0] if runs else None
        found = [each for each in found if each.number in used or (each.number not in others and _serves(each, mine))]
    return sorted(found, key=lambda machine: (machine.kind, machine.acquired, machine.number))


def _serves(machine: Machine, run: Run | None) -> bool:
    if run is None or machine.tenant != run.tenant:
        return False
    is_late = run.ended is not None and machine.acquired > run.ended
    return not is_late and (machine.gone is None or machine.gone >= run.submitted)


def _steps(units: Sequence[Unit], waits: Sequence[Wait]) -> dict[str, Step]:
    steps: dict[str, Step] = {}
    kinds = {}
    for unit in sorted(units, key=lambda unit: (unit.attempts[0].begin, unit.number)):
        kinds[unit.number] = unit.kind
        step = steps.setdefault(unit.kind, Step(unit.kind, first=unit.attempts[0].begin))
        step.units += 1
        step.attempts += len(unit.attempts)
        step.done += unit.attempts[-1].outcome == DONE
        for attempt in unit.attempts:
            step.failed += attempt.outcome not in (DONE, RUNNING)
            length = (attempt.end or attempt.begin) - attempt.begin
            step.busy += length
            step.longest = max(step.longest, length)
    for wait in waits:
        if wait.held is not Held.PARENTS:
            steps[kinds[wait.unit]].waited += wait.length
    return steps
