"""From a scenario's description of work to submissions: workflows are generated and given times to arrive."""

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle
from statistics import fmean

from tradewind.core.chains.link import link
from tradewind.model.scenario import Generated, Given, Rehearsal, Scenario, Submission
from tradewind.model.units import Duration
from tradewind.model.workflow import Workflow
from tradewind.sim.arrivals import arrive
from tradewind.sim.generators import generate
from tradewind.sim.rehearsal import Prepare, as_it_is, first_part


def submissions(scenario: Scenario, prepare: Prepare = as_it_is) -> list[Submission]:
    """All submissions of a scenario, in order of time, with their tasks prepared; the same seed gives the same ones."""
    found: list[Submission] = []
    for index, source in enumerate(scenario.workload):
        rng = random.Random(f"{scenario.seed}/workload/{index}")
        given = list(_workflows(source, rng))
        if not given:
            continue
        workflows = [first_part(each, prepare) if isinstance(each, Rehearsal) else each for each in given]
        if scenario.chains:
            workflows = [link(workflow).condensed() for workflow in workflows]
        workflows = [_prepared(workflow, prepare) for workflow in workflows]
        mean_work = round(fmean(map(work, workflows)))
        times = arrive(source.arrivals, len(workflows), mean_work, rng)
        rehearsals = [each if isinstance(each, Rehearsal) else None for each in given]
        found += map(Submission, times, workflows, cycle(source.tenants), rehearsals)
    return sorted(found, key=lambda submission: submission.at)


def _workflows(source: Given | Generated, rng: random.Random) -> Iterator[Workflow | Rehearsal]:
    if isinstance(source, Given):
        yield from source.workflows
        return
    for _ in range(source.count):
        workflow = generate(source.family, source.tasks, rng)
        priority = rng.randrange(source.priorities)
        yield Workflow(workflow.name, workflow.tasks, workflow.parents, priority, workflow.deadline)


def _prepared(workflow: Workflow, prepare: Prepare) -> Workflow:
    return workflow if prepare is as_it_is else replace(workflow, tasks=tuple(map(prepare, workflow.tasks)))


def work(workflow: Workflow) -> Duration:
    """All run time of a workflow, averaged over the machine types for which it declares any."""
    return sum(
        round(fmean(task.runtimes.values())) if task.runtimes else (task.runtime or 0) for task in workflow.tasks
    )
