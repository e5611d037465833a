"""Outlines of programs for policies that look ahead, with what earlier runs showed about the length of loops."""

from collections.abc import Mapping

from tradewind.core.handle import Core
from tradewind.core.outline import expect
from tradewind.core.state import State
from tradewind.live.jobs import Job
from tradewind.model.workflow import Workflow


def outline_of(core: Core, job: Job) -> Workflow | None:
    """What is expected of a job, if the policy wants to know."""
    return job.outline(core.state.items) if core.policy.looks_ahead else None


def look_ahead(core: Core, jobs: Mapping[int, Job]) -> None:
    """After a restart, expect of the runs that go on what their programs have still to do."""
    for number, run in core.state.runs.items():
        outline = outline_of(core, jobs[number]) if run.is_open else None
        if outline is not None:
            expect(core.state, run, outline)


def learn_items(state: State, job: Job) -> None:
    """Remember how many items the loops of a job had that have begun since this was last called."""
    generator = job.generator
    if state.learned is not None and generator is not None and generator.counted:
        state.learned.learn_items(generator.counted)
        generator.counted.clear()
