"""Check whether some machine type can run each task or step."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from tradewind.formats.errors import Problems, quoted
from tradewind.model.machine import MachineType
from tradewind.model.program import Program
from tradewind.model.requirement import Requirement
from tradewind.model.units import show_size
from tradewind.model.unserved import unserved
from tradewind.model.workflow import Workflow


def check_feasible(
    work: Workflow | Program,
    machines: Sequence[MachineType],
    *,
    file: str = "",
    line_of: Callable[[str], int | None] = lambda _: None,
    only_certain: bool = False,
) -> None:
    """Reject work if no machine type can run part of it; with `only_certain`, only if that part cannot be skipped."""
    problems = Problems(file or work.name)
    found = _tasks(work, machines) if isinstance(work, Workflow) else _steps(work, machines, only_certain=only_certain)
    for what, id, requirement in found:
        problems.add((), f"{what} needs {_lacking(requirement, machines)}", line=line_of(id))
    problems.settle()


def check_runnable(work: Workflow | Program, *, file: str, line_of: Callable[[str], int | None]) -> None:
    """Reject tasks that can only be simulated."""
    problems = Problems(file)
    for task in work.tasks if isinstance(work, Workflow) else ():
        if task.elastic is not None:
            remedy = "write it as a `divisible` step of a program, which defines what each share runs"
            problems.add(
                (), f"task {quoted(task.id)} is divisible and can only be simulated; {remedy}", line=line_of(task.id)
            )
    problems.settle()


_Found: TypeAlias = Iterator[tuple[str, str, Requirement]]
"""A description, the id in the file, and the requirement that no machine type meets."""


def _tasks(workflow: Workflow, machines: Sequence[MachineType]) -> _Found:
    """Yield the first task of each requirement that no machine type meets."""
    told: set[Requirement] = set()
    for task in workflow.tasks:
        if task.requirement not in told:
            told.add(task.requirement)
            if not any(kind.offers(task.requirement) for kind in machines):
                yield f"task {quoted(task.id)}", task.id, task.requirement


def _steps(program: Program, machines: Sequence[MachineType], *, only_certain: bool) -> _Found:
    for place, step, is_certain in unserved(program, machines):
        if is_certain or not only_certain:
            yield f"step {quoted('.'.join(place))}", place[0], step.requirement


def _lacking(requirement: Requirement, machines: Sequence[MachineType]) -> str:
    """Describe what is missing, and what is available instead."""
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
