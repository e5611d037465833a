"""Deadline assignment: choose a machine type for each task so that a job meets its deadline (Algorithm 1 of the paper).

Start from the cheapest type of each task. Put siblings into sequences while no task has to leave its type. Then, while
the job takes too long, move the task with the largest (makespan saved)/(extra cost) to its next faster type. Where the
paper leaves a choice:
- An extra cost of zero or less ranks first.
- If there are several longest paths, no single upgrade reduces the makespan. An upgrade that shortens one of them then
  counts by the time it saves, ranked behind all that do reduce it. Otherwise the loop would stop before a feasible
  plan.
- Only siblings on the same machine type are put into a sequence: others would not share a machine.
- In jobs of more than a hundred tasks, several upgrades are made, best first, before the paths are recomputed. Much
  larger jobs may have thousands of paths that are almost as long as the longest; after some rounds, upgrades are made
  on all paths that are too long, so that the number of rounds does not grow with the job.
- Bundles that had to leave their preferred type are split, and the better of both results is kept, so that bundling
  never makes a job late or more expensive.
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
"""Fraction of the tasks upgraded at a time: a fiftieth."""
_PATIENCE = 100_000
"""Number of tasks visited, over all rounds, before upgrades are made on all paths that are too long."""
_WIDE = 16
"""Fraction of the tasks upgraded at a time from then on: a sixteenth."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """The machine type of each task, and the resulting dependencies."""

    kinds: tuple[int, ...]
    """By task."""
    bundles: tuple[Bundle, ...]
    parents: tuple[tuple[int, ...], ...]
    """By bundle, including sequences of siblings."""
    times: tuple[Duration, ...]
    """By bundle."""
    makespan: Duration
    is_feasible: bool
    cost: float
    """Slot time x price, summed over all tasks."""


def assign(shape: Shape, prices: Sequence[float], deadline: Duration, alone: Collection[int] = ()) -> Assignment:
    """Return the plan of a job within a deadline, or its fastest plan; tasks in `alone` are not bundled."""
    first = _assign(shape, prices, deadline, alone)
    # Bundles that left the preferred type of a member may have been a mistake: try again with those split.
    moved = {
        task
        for bundle in first.bundles
        for task in bundle
        if len(bundle) > 1 and first.kinds[task] != preferred(shape.work[task], prices)
    }
    if first.is_feasible and not moved:
        return first
    second = _assign(shape, prices, deadline, moved.union(alone) if first.is_feasible else range(len(shape.times)))
    return min(first, second, key=lambda plan: (not plan.is_feasible, plan.cost, plan.makespan))


def _assign(shape: Shape, prices: Sequence[float], deadline: Duration, opened: Collection[int]) -> Assignment:
    bundles = bundles_of(shape, prices, opened)
    whole = bundled(shape, bundles)
    choice = [preferred(row, prices) for row in whole.work]
    network = Network([row[kind] for row, kind in zip(whole.times, choice, strict=True)], whole.parents)
    reduce_parallelism(network, whole, choice, deadline)
    is_feasible = whole.tightest <= deadline and upgrade(network, whole, choice, prices, deadline)
    if not is_feasible:
        choice = [_fastest(row, prices) for row in whole.times]
        network = Network([row[kind] for row, kind in zip(whole.times, choice, strict=True)], whole.parents)
    kinds = [0] * len(shape.times)
    for bundle, kind in zip(bundles, choice, strict=True):
        for task in bundle:
            kinds[task] = kind
    spent = sum(cost(shape.work[task][kind], prices[kind]) for task, kind in enumerate(kinds))
    return Assignment(
        tuple(kinds), bundles, tuple(network.parents), tuple(network.times), network.makespan, is_feasible, spent
    )


def keep(shape: Shape, prices: Sequence[float], kinds: Sequence[int], deadline: Duration) -> Assignment:
    """Return the plan of a job whose machine types are already chosen."""
    network = Network([row[kind] for row, kind in zip(shape.times, kinds, strict=True)], shape.parents)
    spent = sum(cost(row[kind], prices[kind]) for row, kind in zip(shape.work, kinds, strict=True))
    alone = tuple((task,) for task in range(len(kinds)))
    is_feasible = network.makespan <= deadline
    return Assignment(tuple(kinds), alone, shape.parents, tuple(network.times), network.makespan, is_feasible, spent)


def _fastest(times: Sequence[Duration], prices: Sequence[float]) -> int:
    return min(range(len(times)), key=lambda kind: (times[kind], prices[kind], kind))


def reduce_parallelism(network: Network, shape: Shape, choice: Sequence[int], deadline: Duration) -> None:
    """Put siblings into sequences, group by group, while the job still meets its deadline on its cheapest types."""
    if network.makespan > deadline:
        return
    for group in siblings(shape, choice):
        together = sum(network.times[task] for task in group)
        # In sequence the group takes the sum of its times, instead of the longest one.
        if network.heads[group[0]] + together + network.tails[group[0]] <= deadline:
            network.put_in_sequence(group)


def upgrade(network: Network, shape: Shape, choice: list[int], prices: Sequence[float], deadline: Duration) -> bool:
    """Move tasks to faster types until the job meets its deadline, and return whether it does."""
    if network.makespan <= deadline:
        return True
    ladders = ladders_of(shape)
    batch = max(1, len(ladders) // _BATCHES)
    patience = _PATIENCE
    while network.makespan > deadline:
        patience -= len(ladders)
        # Large jobs can have thousands of nearly critical paths, and one path at a time would take too many rounds.
        if patience < 0:
            return _upgrade_widely(network, shape, choice, prices, deadline)
        critical = network.critical()
        steps = {
            task: _step(shape, task, choice[task], ladders[task][choice[task]], prices)
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


def _upgrade_widely(
    network: Network, shape: Shape, choice: list[int], prices: Sequence[float], deadline: Duration
) -> bool:
    """Do the same in large batches on all paths that are longer than the deadline or the fastest types allow."""
    ladders = ladders_of(shape)
    # No upgrade can beat the fastest types, so a tighter deadline is not worth chasing.
    goal = max(deadline, shape.tightest)
    while network.makespan > goal:
        ways = zip(network.heads, network.times, network.tails, strict=True)
        late = {task: way - goal for task, way in enumerate(map(sum, ways)) if way > goal}
        steps = [
            _step(shape, task, choice[task], ladders[task][choice[task]], prices)
            for task in late
            if choice[task] in ladders[task]
        ]
        if not steps:
            return False
        # Saving more than a path is late by is worth nothing.
        steps.sort(key=lambda step: (step.extra > 0, -min(step.saved, late[step.task]) / (step.extra or 1), step.task))
        chosen = steps[: max(1, len(ladders) // _WIDE)]
        for step in chosen:
            choice[step.task] = step.kind
        network.change({step.task: step.time for step in chosen})
    return network.makespan <= deadline


class Step(NamedTuple):
    """A task on its next faster machine type."""

    task: int
    kind: int
    time: Duration
    saved: Duration
    """Reduction in the task's time."""
    extra: float
    """Increase in its cost."""


def ladders_of(shape: Shape) -> Sequence[Mapping[int, int]]:
    """Return the ladder of each task, computed once."""
    if "ladders" not in shape.memory:
        shape.memory["ladders"] = tuple(map(ladder, shape.times))
    return cast("Sequence[Mapping[int, int]]", shape.memory["ladders"])


def ladder(times: Sequence[Duration]) -> dict[int, int]:
    """Return the next faster type for each machine type; the last of equals."""
    able = sorted((kind for kind, time in enumerate(times) if time < NEVER), key=lambda kind: (times[kind], kind))
    following: dict[int, int] = {}
    for faster, kind in pairwise(able):
        if times[faster] < times[kind]:
            # `able` is sorted by time, so the previous entry is faster, or equal and then shares its next type.
            following[kind] = faster
        elif faster in following:
            following[kind] = following[faster]
    return following


def _step(shape: Shape, task: int, kind: int, to: int, prices: Sequence[float]) -> Step:
    times, work = shape.times[task], shape.work[task]
    extra = cost(work[to], prices[to]) - cost(work[kind], prices[kind])
    return Step(task, to, times[to], times[kind] - times[to], extra)


def _first(
    network: Network, steps: Mapping[int, Step], critical: Sequence[int], most: int, lacking: Duration
) -> list[Step]:
    """Return the best upgrades, up to a number, but no more than it takes to save the missing time."""
    free = [step for step in steps.values() if step.extra <= 0]
    if free:
        # They save time without extra cost, so the ratio would divide by zero or less.
        return free[:most]
    decisive = [steps[task] for task in sorted(network.decisive(critical)) if task in steps]
    if decisive:
        # An upgrade saves no more than the distance to the longest path that avoids the task.
        bound = network.makespan - max(step.saved for step in decisive)
        others = network.without([step.task for step in decisive], bound)
        saved = {step.task: min(step.saved, network.makespan - others[step.task]) for step in decisive}
        decisive = [step for step in decisive if saved[step.task] > 0]
    if not decisive:  # several paths are longest, so no single task shortens the makespan
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
