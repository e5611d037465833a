"""Tasks that run several times at once (appendix B.1): the first copy to end counts, and the others are killed.

The core runs one attempt of a unit at a time. Here each copy is a run of its own, and those that are no longer needed
are cancelled, which kills what runs of them.
"""

from collections.abc import Sequence
from heapq import heappush
from itertools import count

from tradewind.core.log import Record
from tradewind.experiments.slacksched.measure import Figures, Meter
from tradewind.experiments.slacksched.settings import WARM_UP
from tradewind.model.command import Admitted, Ended
from tradewind.model.event import Cancelled
from tradewind.model.scenario import Scenario, Submission
from tradewind.model.units import HOUR, Time
from tradewind.model.workflow import Workflow
from tradewind.policies.protocol import Policy
from tradewind.sim.driver import Simulation
from tradewind.sim.traces.provider import Provider

_NUMBERS = 1 << 59
"""Cancellations are numbered from here, behind all other events of their instant but timers."""


class _Copies(Simulation):
    """A simulation in which runs of one name are copies of each other."""

    def __init__(
        self, scenario: Scenario, work: Sequence[Submission], policy: Policy, provider: Provider, meter_from: Time
    ) -> None:
        super().__init__(scenario, work, policy, provider=provider)
        self.meter = Meter(self.state, meter_from)
        self.ended: dict[str, Time] = {}
        self._copies: dict[str, list[int]] = {}
        self._names: dict[int, str] = {}
        self._numbers = count(_NUMBERS)

    def watch(self, record: Record) -> None:
        """Take the next record; when the first copy has ended, the others are cancelled."""
        self.meter.observe(record)
        if isinstance(record, Admitted):
            self._names[record.run] = record.workflow
            self._copies.setdefault(record.workflow, []).append(record.run)
        elif isinstance(record, Ended) and record.status == "done":
            name = self._names[record.run]
            if name not in self.ended:
                self.ended[name] = record.at
                for run in self._copies[name]:
                    if run != record.run:
                        heappush(self._heap, Cancelled(record.at, next(self._numbers), run))


def run_replicated(
    scenario: Scenario, work: Sequence[Submission], policy: Policy, provider: Provider, replicas: int
) -> Figures:
    """Run every task so many times at once; a job is over when one copy of each task has ended."""
    copies = [
        Submission(each.at, Workflow(f"{each.workflow.name}/{task.id}", (task,), ((),)))
        for each in work
        for task in each.workflow.tasks
        for _ in range(replicas)
    ]
    world = _Copies(scenario, copies, policy, provider, WARM_UP)
    world.run(world.watch)
    found = world.meter.figures()
    completion = []
    for each in work:
        if each.at >= WARM_UP:
            ends = [world.ended.get(f"{each.workflow.name}/{task.id}") for task in each.workflow.tasks]
            if all(end is not None for end in ends):
                completion.append((max(end for end in ends if end is not None) - each.at) / HOUR)
    return Figures(
        completion=tuple(completion),
        unfinished=sum(each.at >= WARM_UP for each in work) - len(completion),
        starts=found.starts,
        preemptions=found.preemptions,
        useful=found.useful,
        wasted=found.wasted,
        cost=found.cost,
        used=found.used,
        machines=found.machines,
    )
