"""Replay: a recorded workflow as a program whose steps take the recorded time, divided by a speed.

Nothing is started for a step: a warm interpreter sleeps, or burns, in its place, so that thousands of steps of
milliseconds are no matter. A step asks for no more of anything than the largest machine has, as recordings often come
from larger ones.
"""

import re
from collections.abc import Sequence

from tradewind.model.action import Function
from tradewind.model.machine import MachineType
from tradewind.model.program import Program, Step
from tradewind.model.requirement import ANYTHING, Requirement, amounts_of
from tradewind.model.units import in_seconds
from tradewind.model.workflow import Task, Workflow

_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
_MODULE = "tradewind.live.worker.replay"


class NothingRecordedError(ValueError):
    """A workflow that declares no run times."""


def replayed(workflow: Workflow, machines: Sequence[MachineType], speed: float, *, burns: bool = False) -> Program:
    """The program that takes as long as the workflow did, so many times faster."""
    if speed <= 0:
        raise ValueError("a speed must be above zero")
    if not any(task.runtime for task in workflow.tasks):
        raise NothingRecordedError(f"{workflow.name} declares no run times; there is nothing to replay")
    ids = _ids(workflow)
    action = Function(f"{_MODULE}:{'burn' if burns else 'sleep'}")
    steps = []
    for task, identity, parents in zip(workflow.tasks, ids, workflow.parents, strict=True):
        time = round((task.runtime or 0) / speed)
        steps.append(
            Step(
                identity,
                task.name,
                action,
                needs=tuple(ids[parent] for parent in parents),
                inputs={"seconds": in_seconds(time)},
                requirement=_modest(task, machines),
                runtime=time,
            )
        )
    return Program(workflow.name, tuple(steps), priority=workflow.priority)


def _ids(workflow: Workflow) -> list[str]:
    """Ids that are fit for folders, one for each task."""
    found: dict[str, None] = {}
    for task in workflow.tasks:
        plain = _UNFIT.sub("_", task.id)[:100]
        identity, number = plain, 1
        while identity in found:
            number += 1
            identity = f"{plain}_{number}"
        found[identity] = None
    return list(found)


def _modest(task: Task, machines: Sequence[MachineType]) -> Requirement:
    """What a task asks for, as far as any machine has it."""
    wanted = task.requirement
    if wanted == ANYTHING:
        return wanted
    most = {name: max(dict(kind.amounts).get(name, 0) for kind in machines) for name, _ in wanted.amounts}
    amounts = {name: min(count, most[name]) for name, count in wanted.amounts if most[name]}
    return Requirement(wanted.capabilities, amounts_of(amounts))
