"""Find the step of each unit, and the units it waited for: from the workflow, or as far as a log tells."""

import re
from collections.abc import Iterator, Mapping, Sequence

from tradewind.core.chains.link import link
from tradewind.core.chains.plan import Body, Part, prepare
from tradewind.model.program import Program
from tradewind.model.workflow import Workflow, edges
from tradewind.pictures.report.facts import Facts, Unit

Edges = dict[tuple[str, str], int]
"""Dependencies between steps, with the number of task pairs; zero: from the program, for any number."""

_INDEX = re.compile(r"\[[^\]]*\]")
_NUMBER = re.compile(r"(?<=[^0-9])[_\-.#]?[0-9]+$")


def guess_kind(id: str) -> str:
    """Guess the step of a task: its id without numbers, such as `align` for `align_17` and `align[3]`."""
    return _NUMBER.sub("", _INDEX.sub("", id)) or id


def name_units(
    facts: Facts, run: int | None, document: Workflow | Program | None, kinds: Mapping[int, str] | None = None
) -> Edges:
    """Assign each unit its step, its parents and the time it became eligible, as far as known."""
    known = kinds or {}
    for unit in facts.units.values():
        unit.kind = known.get(unit.number) or guess_kind(unit.id)
    if isinstance(document, Workflow):
        return _by_workflow(facts, run, document)
    if isinstance(document, Program):
        return _by_program(facts, run, document)
    return _observed(facts)


def _by_workflow(facts: Facts, run: int | None, workflow: Workflow) -> Edges:
    condensed = link(workflow).condensed()
    found: Edges = {}
    for each in facts.runs.values():
        if run not in (None, each.number) or each.name != workflow.name:
            continue
        graph = condensed if each.tasks == len(condensed.tasks) else workflow
        first = facts.first_of(each.number)
        if each.tasks == len(graph.tasks) and first is not None:
            _settle(facts, graph, first, each.submitted)
            for parent, child in edges(graph):
                key = graph.tasks[parent].name, graph.tasks[child].name
                found[key] = found.get(key, 0) + 1
    return found


def _settle(facts: Facts, workflow: Workflow, first: int, submitted: int) -> None:
    for place, (task, parents) in enumerate(zip(workflow.tasks, workflow.parents, strict=True)):
        unit = facts.units.get(first + place)
        if unit is None:
            continue
        unit.kind = task.name
        unit.parents = tuple(first + parent for parent in parents)
        ends = [end for parent in unit.parents if parent in facts.units and (end := facts.units[parent].end)]
        unit.eligible = max([submitted, *ends])


def _by_program(facts: Facts, run: int | None, program: Program) -> Edges:
    kinds = {unit.kind for unit in facts.units.values() if run in (None, unit.run)}
    home = {part: kind for kind in sorted(kinds) for part in kind.split("+")}
    found: Edges = {}
    for parent, child in _steps(prepare(program)):
        key = home.get(parent, parent), home.get(child, child)
        if key[0] != key[1]:
            found.setdefault(key, 0)
    for observed, count in _observed(facts).items():
        found[observed] = found.get(observed, 0) + count
    return found


def _steps(body: Body) -> Iterator[tuple[str, str]]:
    """Yield pairs of acting steps, of which the second waits for the first."""
    for part in body.parts:
        for child in part.children:
            for before in _ends(part):
                for after in _begins(body.parts[child]):
                    yield before, after
        if part.follower >= 0:
            yield _label(part), _label(body.parts[part.follower])
        if part.body is not None:
            yield from _steps(part.body)


def _ends(part: Part) -> Sequence[str]:
    """Return the last steps inside a part."""
    if part.body is None:
        return (_label(part),)
    return [name for each in part.body.parts if not each.children for name in _ends(each)]


def _begins(part: Part) -> Sequence[str]:
    """Return the first steps inside a part."""
    if part.body is None:
        return (_label(part),)
    return [name for each in part.body.parts if not each.waits for name in _begins(each)]


def _label(part: Part) -> str:
    return part.step.name or part.step.id


def _observed(facts: Facts) -> Edges:
    """Return the dependencies observed in runs that grew."""
    found: Edges = {}
    for unit in facts.units.values():
        for parent in _known_parents(facts, unit):
            if parent.kind != unit.kind:
                key = parent.kind, unit.kind
                found[key] = found.get(key, 0) + 1
    return found


def _known_parents(facts: Facts, unit: Unit) -> Iterator[Unit]:
    for number in unit.parents or ():
        if number in facts.units:
            yield facts.units[number]
