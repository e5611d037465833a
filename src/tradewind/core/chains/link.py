"""Chains of a workflow whose graph is known: what the simulator and the live driver place instead of single tasks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tradewind.core.chains.order import followers
from tradewind.model.units import Duration
from tradewind.model.workflow import NO_RUNTIMES, Retry, Task, Workflow


@dataclass(frozen=True, slots=True)
class Linked:
    """A workflow's tasks in chains; chains, like tasks, stand after their parents."""

    workflow: Workflow
    chains: tuple[tuple[int, ...], ...]
    """The indices of each chain's tasks, in the order in which they run."""
    parents: tuple[tuple[int, ...], ...]
    """For each chain the chains that must finish before it starts."""
    chain_of: tuple[int, ...]
    """For each task the chain that it is in."""

    def condensed(self) -> Workflow:
        """The workflow with one task for each chain; a chain of one task is that task."""
        tasks = self.workflow.tasks
        merged = tuple(
            tasks[chain[0]] if len(chain) == 1 else _merged([tasks[index] for index in chain]) for chain in self.chains
        )
        return replace(self.workflow, tasks=merged, parents=self.parents)


def link(workflow: Workflow) -> Linked:
    """Join tasks into maximal chains (see `order`), in time linear in tasks and edges."""
    tasks = workflow.tasks

    def fit(one: int, other: int) -> bool:
        one_task, other_task = tasks[one], tasks[other]
        is_whole = one_task.elastic is None and other_task.elastic is None
        return is_whole and one_task.requirement == other_task.requirement

    following = followers(workflow.parents, fit)
    begins = [True] * len(tasks)
    for after in following:
        if after >= 0:
            begins[after] = False
    runs: list[tuple[int, ...]] = []
    for index in range(len(tasks)):
        if begins[index]:
            run = [index]
            while (after := following[run[-1]]) >= 0:
                run.append(after)
            runs.append(tuple(run))
    # In the order of their first tasks: whatever a chain waits for, its first task waits for.
    chain_of = [0] * len(tasks)
    for number, run_of_tasks in enumerate(runs):
        for index in run_of_tasks:
            chain_of[index] = number
    parents = tuple(
        tuple(sorted({chain_of[parent] for index in run for parent in workflow.parents[index]} - {number}))
        for number, run in enumerate(runs)
    )
    return Linked(workflow, tuple(runs), parents, tuple(chain_of))


def summed(
    times: Sequence[tuple[Duration | None, Mapping[str, Duration]]],
) -> tuple[Duration | None, dict[str, Duration]]:
    """The declared run time of a chain, and by machine type: where a step declares none for a type that another
    names, its general one counts.
    """
    declared = [time for time, _ in times if time is not None]
    types = {name for _, by_type in times for name in by_type}
    by_type = {name: sum(given.get(name, time or 0) for time, given in times) for name in sorted(types)}
    return (sum(declared) if declared else None), by_type


def most_patient(retries: Sequence[Retry]) -> Retry:
    """One retry that allows whatever any of the given ones allows, for a chain is tried again as a whole."""
    longest = max(retries, key=lambda retry: (retry.attempts, retry.delay, retry.factor, retry.max_delay))
    if all(retry == longest for retry in retries):
        return longest
    causes = sorted({cause for retry in retries for cause in retry.by_cause})
    return replace(
        longest,
        by_cause={cause: max(retry.by_cause.get(cause, retry.attempts) for retry in retries) for cause in causes},
        lost=max(retry.lost for retry in retries),
        memory_growth=max(retry.memory_growth for retry in retries),
    )


def _merged(tasks: Sequence[Task]) -> Task:
    runtime, runtimes = summed([(task.runtime, task.runtimes) for task in tasks])
    inside = {file.name for task in tasks for file in task.outputs}
    timeouts = [task.timeout for task in tasks if task.timeout is not None]
    return Task(
        id=tasks[0].id,
        name="+".join(dict.fromkeys(task.name for task in tasks)),
        requirement=tasks[0].requirement,
        runtime=runtime,
        runtimes=runtimes or NO_RUNTIMES,
        inputs=tuple({f.name: f for task in tasks for f in task.inputs if f.name not in inside}.values()),
        outputs=tuple({f.name: f for task in tasks for f in task.outputs}.values()),
        retry=most_patient([task.retry for task in tasks]),
        timeout=sum(timeouts) if len(timeouts) == len(tasks) else None,
        command="\n".join(task.command for task in tasks if task.command),
    )
