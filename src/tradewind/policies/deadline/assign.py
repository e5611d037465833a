"""Deadline assignment: which machine type each task runs on, so that a job ends in time (Algorithm 1 of the SCS paper).

Start from the cheapest type of each task; put siblings into sequences as long as no task has to leave its type; then,
while the job takes too long, move the task with the best (makespan saved)/(extra cost) to its next faster type. Where
the paper leaves a choice:
- An extra cost of zero or less ranks first.
- Where several longest ways are equal, no single upgrade moves the makespan; one that shortens one of them then counts
  by the time it saves, behind all that do move it. Otherwise the loop would stop short of a feasible plan.
- Only siblings of one machine type are put into a sequence: others would share no machine.
- In jobs of more than a hundred tasks several upgrades are made, best first, before the ways are looked at again.
- Bundles that had to leave their preferred type are opened, and the better of both answers is kept, so that bundling
  never makes a job late or dearer.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, cast

from tradewind.model.units import Duration
from tradewind.policies.deadline.bundle import (
    Bundle,
    bundled,
    bundles_of,
    cost,
    preferred,
    siblings,
)
from tradewind.policies.deadline.network import Network
from tradewind.policies.deadline.shape import NEVER, Shape

_BATCHES = 50
"""A fiftieth of the tasks is upgraded at a time."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """The machine type of each task, and how the tasks hang together."""

    kinds: tuple[int, ...]
    """By task."""
    bundles: tuple[Bundle, ...]
    parents: tuple[tuple[int, ...], ...]
    """By bundle, sequences of siblings included."""
    times: tuple[Duration, ...]
    """By bundle."""
    makespan: Duration
    is_feasible: bool
    cost: float
    """Time x price, over all tasks."""


def assign(shape: Shape, prices: Sequence[float], deadline: Duration, alone: Collection[int] = ()) -> Assignment:
    """The plan of a job that has so long, or its fastest one if that is too short; some tasks stay out of bundles."""
    first = _assign(shape, prices, deadline, alone)
    moved = {
        task
        for bundle in first.bundles
        for task in bundle
        if len(bundle) > 1 and first.kinds[task] != preferred(shape.times[task], prices)
    }
    if first.is_feasible and not moved:
        return first
    second = _assign(shape, prices, deadline, moved.union(alone) if first.is_feasible else range(len(shape.times)))
    return min(first, second, key=lambda plan: (not plan.is_feasible, plan.cost, plan.makespan))


def _assign(shape: Shape, prices: Sequence[float], deadline: Duration, opened: Collection[int]) -> Assignment:
    bundles = bundles_of(shape, prices, opened)
    whole = bundled(shape, bundles)
    choice = [preferred(row, prices) for row in whole.times]
    network = Network([row[kind] for row, kind in zip(whole.times, choice, strict=True)], whole.parents)
    reduce_parallelism(network, whole, choice, deadline)
    is_feasible = upgrade(network, whole, choice, prices, deadline)
    if not is_feasible:
        choice = [_fastest(row, prices) for row in whole.times]
        network = Network([row[kind] for row, kind in zip(whole.times, choice, strict=True)], whole.parents)
    kinds = [0] * len(shape.times)
    for bundle, kind in zip(bundles, choice, strict=True):
        for task in bundle:
            kinds[task] = kind
    spent = sum(cost(shape.times[task][kind], prices[kind]) for task, kind in enumerate(kinds))
    return Assignment(
        tuple(kinds), bundles, tuple(network.parents), tuple(network.times), network.makespan, is_feasible, spent
    )


def keep(shape: Shape, prices: Sequence[float], kinds: Sequence[int], deadline: Duration) -> Assignment:
    """The plan of a job whose machine types are settled."""
    network = Network([row[kind] for row, kind in zip(shape.times, kinds, strict=True)], shape.parents)
    spent = sum(cost(time, prices[kind]) for time, kind in zip(network.times, kinds, strict=True))
    alone = tuple((task,) for task in range(len(kinds)))
    is_feasible = network.makespan <= deadline
    return Assignment(tuple(kinds), alone, shape.parents, tuple(network.times), network.makespan, is_feasible, spent)


def _fastest(times: Sequence[Duration], prices: Sequence[float]) -> int:
    return min(range(len(times)), key=lambda kind: (times[kind], prices[kind], kind))


def reduce_parallelism(network: Network, shape: Shape, choice: Sequence[int], deadline: Duration) -> None:
    """Put siblings into sequences, group by group, as long as the job still ends in time on its cheapest types."""
    if network.makespan > deadline:
        return
    for group in siblings(shape, choice):
        together = sum(network.times[task] for task in group)
        if network.heads[group[0]] + together + network.tails[group[0]] <= deadline:
            network.put_in_sequence(group)


def upgrade(network: Network, shape: Shape, choice: list[int], prices: Sequence[float], deadline: Duration) -> bool:
    """Move tasks to faster types until the job ends in time; whether it does."""
    if network.makespan <= deadline:
        return True
    ladders = ladders_of(shape)
    batch = max(1, len(ladders) // _BATCHES)
    while network.makespan > deadline:
        critical = network.critical()
        steps = {
            task: _step(task, shape.times[task], choice[task], ladders[task][choice[task]], prices)
            for task in critical
            if choice[task] in ladders[task]
        }
        if not steps:
            return False
        chosen = _first(network, steps, critical, batch, network.makespan - deadline)
        for step in chosen:
            choice[step.task] = step.kind
        network.change({step.task: step.time for step in chosen})
    return True


class Step(NamedTuple):
    """A task on its next faster machine type."""

    task: int
    kind: int
    time: Duration
    saved: Duration
    """By how much the task takes less."""
    extra: float
    """By how much it costs more."""


def ladders_of(shape: Shape) -> Sequence[Mapping[int, int]]:
    """The ladder of each task, worked out once."""
    if "ladders" not in shape.memory:
        shape.memory["ladders"] = tuple(map(ladder, shape.times))
    return cast("Sequence[Mapping[int, int]]", shape.memory["ladders"])


def ladder(times: Sequence[Duration]) -> dict[int, int]:
    """For each machine type the next faster one; of equals the last."""
    able = sorted((kind for kind, time in enumerate(times) if time < NEVER), key=lambda kind: (times[kind], kind))
    following: dict[int, int] = {}
    for faster, kind in pairwise(able):
        if times[faster] < times[kind]:
            following[kind] = faster
        elif faster in following:
            following[kind] = following[faster]
    return following


def _step(task: int, times: Sequence[Duration], kind: int, to: int, prices: Sequence[float]) -> Step:
    extra = cost(times[to], prices[to]) - cost(times[kind], prices[kind])
    return Step(task, to, times[to], times[kind] - times[to], extra)


def _first(
    network: Network, steps: Mapping[int, Step], critical: Sequence[int], most: int, lacking: Duration
) -> list[Step]:
    """The upgrades that rank first, as many as wanted, but no more than it takes to save what is lacking."""
    free = [step for step in steps.values() if step.extra <= 0]
    if free:
        return free[:most]
    decisive = [steps[task] for task in sorted(network.decisive(critical)) if task in steps]
    if decisive:
        bound = network.makespan - max(step.saved for step in decisive)
        others = network.without([step.task for step in decisive], bound)
        saved = {step.task: min(step.saved, network.makespan - others[step.task]) for step in decisive}
        decisive = [step for step in decisive if saved[step.task] > 0]
    if not decisive:  # several longest ways are equal
        decisive = list(steps.values())
        saved = {step.task: step.saved for step in decisive}
    decisive.sort(key=lambda step: (-saved[step.task] / step.extra, step.task))
    chosen: list[Step] = []
    for step in decisive[:most]:
        chosen.append(step)
        lacking -= saved[step.task]
        if lacking <= 0:
            break
    return chosen
