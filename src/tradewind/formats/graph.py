"""Build a workflow from tasks and the ids they need, and report what does not fit together."""

from collections.abc import Sequence
from dataclasses import dataclass

from tradewind.formats.errors import Place, Problems, did_you_mean, quoted
from tradewind.model.units import Duration
from tradewind.model.workflow import CycleError, Task, Workflow, arrange


@dataclass(frozen=True, slots=True)
class Step:
    """A task as stated in a file."""

    task: Task
    needs: Sequence[str]
    place: Place
    line: int | None = None


def connect(
    name: str,
    steps: Sequence[Step],
    problems: Problems,
    *,
    needs: str = "needs",
    priority: int = 0,
    deadline: Duration | None = None,
) -> Workflow:
    """Return the workflow of some steps; `needs` is the file's name for the list of parents."""
    index: dict[str, int] = {}
    for position, step in enumerate(steps):
        if index.setdefault(step.task.id, position) != position:
            problems.add(step.place, f"a second task has the id {quoted(step.task.id)}", line=step.line)
    parents: list[list[int]] = []
    for position, step in enumerate(steps):
        row: list[int] = []
        for parent in step.needs:
            at = index.get(parent)
            if at is None:
                remedy = "" if problems.full else did_you_mean(parent, index)
                problems.add((*step.place, needs), f"no task named {quoted(parent)}", remedy, line=step.line)
            elif at == position:
                problems.add((*step.place, needs), "the task waits for itself", line=step.line)
            else:
                row.append(at)
        parents.append(row)
    if not steps:
        problems.add((), "the workflow has no tasks")
    problems.settle()
    try:
        return arrange(name, [step.task for step in steps], parents, priority=priority, deadline=deadline)
    except CycleError as error:
        step = steps[index[error.cycle[0]]]
        problems.add((*step.place, needs), str(error), line=step.line)
        problems.settle()
        raise
