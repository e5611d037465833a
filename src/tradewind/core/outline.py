"""Units that are expected of a run: where a program will go, for policies that look ahead.

Expected units are never placed, counted or stored. Each stands in `Run.graph` where the real one will; when that comes,
it takes the place, with what waits for it. One whose parents have all ended, and that has not come with what they made
possible, will not come: it is dropped, and what waits for it waits for one less.
"""

from collections import deque
from collections.abc import Sequence

from tradewind.core.elastic.division import Share
from tradewind.core.elastic.events import arrange
from tradewind.core.state import State
from tradewind.core.work import CANCELLED, Need, Run, Unit
from tradewind.model.workflow import Workflow

LARGE = 5_000
"""In a graph of more units than this, those that come unexpectedly are put at the end, where nothing follows."""


class Expected:
    """What is expected of one run and has not come."""

    __slots__ = ("_by_name", "due", "last", "places")

    def __init__(self, units: Sequence[Unit]) -> None:
        self._by_name: dict[str, deque[Unit]] = {}
        self.places = {unit.id: place for place, unit in enumerate(units)}
        """Where each stands in the graph of its run."""
        self.last: dict[str, Unit] = {}
        """By name: the last that took the place of one of them."""
        self.due: list[Unit] = []
        """Those that nothing holds back any more."""
        for unit in units:
            self._by_name.setdefault(unit.task.name, deque()).append(unit)

    def take(self, name: str) -> Unit | None:
        """The first one of a name that is still expected."""
        waiting = self._by_name.get(name)
        while waiting:
            unit = waiting.popleft()
            if unit.id in self.places:
                return unit
        return None


def expect(state: State, run: Run, outline: Workflow) -> None:
    """Look ahead in a run, unless no machine could run a part of it."""
    needs: list[Need] = [state.need(task.requirement) for task in outline.tasks]
    if not needs or not all(need.kinds for need in needs):
        return
    first = state.next_expected
    state.next_expected -= len(needs)
    units = [
        Unit(first - place, run, task, need, len(row))
        for place, (task, need, row) in enumerate(zip(outline.tasks, needs, outline.parents, strict=True))
    ]
    for unit, row in zip(units, outline.parents, strict=True):
        for parent in row:
            units[parent].adopt(unit)
    state.expected.update((unit.id, unit) for unit in units)
    run.expected = Expected(units)
    run.graph = list(units)
    meet(state, run, [unit for unit in run.units if not isinstance(unit.elastic, Share)])
    if run.is_elastic:
        arrange(run)
    run.expected.due += [unit for unit in units if not unit.waits]
    drop_overdue(state, run)


def meet(state: State, run: Run, units: Sequence[Unit]) -> None:
    """Units have come: each takes the place of one that was expected."""
    expected = run.expected
    if expected is None or not isinstance(run.graph, list):
        return
    more: dict[int, list[Unit]] = {}
    for unit in units:
        name = unit.task.name
        found = expected.take(name)
        if found is None:
            last = expected.last.get(name)
            if last is None or len(run.graph) > LARGE:
                run.graph.append(unit)
            else:
                more.setdefault(last.id, []).append(unit)
                _join(state, unit, last)
            continue
        run.graph[expected.places.pop(found.id)] = expected.last[name] = unit
        if unit.is_ended:
            _release(state, run, found)
        unit.children = found.children
        _forget(state, found)
    if more:  # behind the last of their kind, so that what follows on them still comes later
        run.graph = [each for unit in run.graph for each in (unit, *more.get(unit.id, ()))]
        expected.places = {unit.id: place for place, unit in enumerate(run.graph) if unit.id in expected.places}


def _join(state: State, unit: Unit, last: Unit) -> None:
    """One more has come than was expected: what follows on the others waits for it too."""
    waiting = [child for child in last.children if child.id in state.expected]
    if not unit.is_ended:
        unit.children = waiting
        for child in waiting:
            child.waits += 1


def drop_overdue(state: State, run: Run) -> None:
    """What nothing holds back and has not come will not come."""
    expected = run.expected
    while expected is not None and expected.due:
        unit = expected.due.pop()
        if expected.places.pop(unit.id, None) is not None:
            _forget(state, unit)
            _release(state, run, unit)


def forget_expected(state: State, run: Run) -> None:
    """A run has ended or will not grow."""
    if run.expected is not None:
        for number in run.expected.places:
            _forget(state, state.expected[number])
        run.expected = None


def _release(state: State, run: Run, unit: Unit) -> None:
    """What waits for a unit that will not come, or has ended, waits for one less."""
    for child in unit.children:
        child.waits -= 1
        if not child.waits and child.id in state.expected and run.expected is not None:
            run.expected.due.append(child)


def _forget(state: State, unit: Unit) -> None:
    unit.state = CANCELLED
    state.expected.pop(unit.id, None)
