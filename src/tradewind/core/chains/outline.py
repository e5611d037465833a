"""Outlines: what is known of a program beyond the chains that can start, as a workflow for policies to look ahead in.

Each chain of steps stands for itself, each loop for as many as its items are expected to be: as many as there are,
where the list depends on parameters alone; else as many as earlier runs had, or as the program declares; else one.
Conditions are expected to hold. An outline is a guess: what really comes takes its place, chain by chain.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tradewind.core.chains.chain import pattern_of, task_of
from tradewind.core.chains.plan import Body, Part, place_of, prepare
from tradewind.model.action import Json
from tradewind.model.expression import Allowance, ExpressionError, fill
from tradewind.model.program import Program
from tradewind.model.workflow import Task, Workflow

MOST = 2_000
"""Tasks in an outline; loops beyond that count as shorter."""
_EDGES = 50
"""At most as many tasks before a join are linked to what follows; more of them say nothing new."""

Count = Callable[[str], int | None]
"""How many items a loop is expected to have, by where it stands in its program; None: nothing is known."""


def outline(program: Program, parameters: Mapping[str, Json], count: Count, body: Body | None = None) -> Workflow:
    """The whole program as it is expected to unfold."""
    sketch = _Sketch(count)
    sketch.add(body or prepare(program), (), parameters)
    return Workflow(program.name, tuple(sketch.tasks), tuple(sketch.parents), program.priority, program.deadline)


class _Sketch:
    """A workflow that is being drawn."""

    def __init__(self, count: Count) -> None:
        self._count = count
        self._allowance = Allowance()
        self.tasks: list[Task] = []
        self.parents: list[tuple[int, ...]] = []

    def add(self, body: Body, after: Sequence[int], parameters: Mapping[str, Json] | None) -> Sequence[int]:
        """Draw a body that begins after some tasks; return its last tasks."""
        before: list[list[int]] = [[] for _ in body.parts]
        for part in body.parts:
            for child in part.children:
                before[child].append(part.at)
        following = {part.follower for part in body.parts if part.follower >= 0}
        ends: dict[int, Sequence[int]] = {}
        for part in body.parts:
            if part.at in following:
                continue  # drawn with the first of its chain
            waits = [end for at in before[part.at] for end in ends.get(at, ())]
            last = self._draw(body, part, tuple(dict.fromkeys(waits))[-_EDGES:] or after, parameters)
            at = part.at
            while at >= 0:
                ends[at] = last
                at = body.parts[at].follower
        inner = {at for row in before for at in row}
        found = [end for part in body.parts if part.at not in inner for end in ends.get(part.at, ())]
        return tuple(dict.fromkeys(found))[-_EDGES:] or after

    def _draw(
        self, body: Body, part: Part, after: Sequence[int], parameters: Mapping[str, Json] | None
    ) -> Sequence[int]:
        if part.body is None:
            return self._chain(body, part, after)
        if part.step.include:
            return self.add(part.body, after, None)
        if part.step.loop is None:
            return self.add(part.body, after, parameters)
        ends: list[int] = []
        for _ in range(self._items(body, part, parameters)):
            if len(self.tasks) >= MOST:
                break
            ends += self.add(part.body, after, None)
        return ends[-_EDGES:] or after

    def _chain(self, body: Body, part: Part, after: Sequence[int]) -> Sequence[int]:
        members = [part]
        while members[-1].follower >= 0:
            members.append(body.parts[members[-1].follower])
        pattern = pattern_of([each.step for each in members])
        number = len(self.tasks)
        self.tasks.append(task_of(replace(pattern, id=f"{part.step.id}?{number}")))
        self.parents.append(tuple(sorted(after)))
        return (number,)

    def _items(self, body: Body, part: Part, parameters: Mapping[str, Json] | None) -> int:
        loop = part.step.loop
        if loop is None:
            return 1
        if parameters is not None:
            try:
                found = fill(loop.over, lambda name: _parameters(name, parameters), self._allowance)
            except ExpressionError:
                found = None
            if isinstance(found, list):
                return len(found)
        known = self._count(place_of(body, part))
        return known if known is not None else loop.expected if loop.expected is not None else 1


def _parameters(name: str, parameters: Mapping[str, Json]) -> Json:
    if name != "params":
        raise ExpressionError(f"{name!r} is not known yet")
    return parameters
