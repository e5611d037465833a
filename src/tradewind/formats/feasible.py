"""Whether any machine type could ever run a task or a step."""

from collections.abc import Callable, Sequence

from tradewind.formats.errors import Problems, quoted
from tradewind.model.machine import MachineType
from tradewind.model.program import Program
from tradewind.model.requirement import Requirement
from tradewind.model.units import show_size
from tradewind.model.unserved import unserved
from tradewind.model.workflow import Workflow


def check_feasible(
    workflow: Workflow,
    machines: Sequence[MachineType],
    *,
    file: str = "",
    line_of: Callable[[str], int | None] = lambda _: None,
) -> None:
    """Refuse a workflow with a task that no machine type can run; each requirement is told once."""
    problems = Problems(file or workflow.name)
    told: dict[Requirement, bool] = {}
    for task in workflow.tasks:
        if task.requirement in told:
            continue
        told[task.requirement] = True
        if not any(kind.offers(task.requirement) for kind in machines):
            reason = f"task {quoted(task.id)} needs {_lacking(task.requirement, machines)}"
            problems.add((), reason, line=line_of(task.id))
    problems.settle()


def check_program(
    program: Program,
    machines: Sequence[MachineType],
    *,
    file: str = "",
    line_of: Callable[[str], int | None] = lambda _: None,
    only_certain: bool = False,
) -> None:
    """Refuse a program with a step that no machine type can run; or only if it cannot end without that step."""
    problems = Problems(file or program.name)
    for place, step, is_certain in unserved(program, machines):
        if is_certain or not only_certain:
            reason = f"step {quoted('.'.join(place))} needs {_lacking(step.requirement, machines)}"
            problems.add((), reason, line=line_of(place[0]))
    problems.settle()


def _lacking(requirement: Requirement, machines: Sequence[MachineType]) -> str:
    """What is asked for in vain, and what there is instead."""
    offered = frozenset[str]().union(*(kind.capabilities for kind in machines))
    missing = sorted(requirement.capabilities - offered)
    if missing:
        there = f"only {', '.join(sorted(offered))}" if offered else "no capabilities"
        return f"{' and '.join(map(quoted, missing))}, but machine types offer {there}"
    for name, count in requirement.amounts:
        most = max((dict(kind.amounts).get(name, 0) for kind in machines), default=0)
        if most < count:
            there = f"at most {_amount(name, most)}" if most else "none"
            return f"{_amount(name, count)} of {name}, but machine types offer {there}"
    return f"{requirement}, but no machine type offers all of it"


def _amount(name: str, count: int) -> str:
    return show_size(count) if name == "memory" else f"{count:,}"
