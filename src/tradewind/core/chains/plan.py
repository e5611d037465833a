"""A program made ready to be unfolded: who waits for whom in each body, and who follows whom in a chain.

All of this is worked out once for each program, so that a finished chain costs no more than what it enables.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tradewind.core.chains.chain import Chain
from tradewind.core.chains.order import followers
from tradewind.model.action import Action, Container, Divisible, Json, Output, Shell
from tradewind.model.expression import OPEN, Expression, references, template
from tradewind.model.program import Program, Step
from tradewind.model.scope import OUTPUTS, bare, loop_names, marked, names_before, names_in, names_to_start, unfolded


class ProgramError(ValueError):
    """A program that makes no sense: unknown names, cycles, programs that are not there."""


@dataclass(slots=True)
class Part:
    """A step at its place in a body."""

    step: Step
    at: int
    waits: int = 0
    """How many steps of the same body must have ended before it can start."""
    outer: "tuple[_Found, ...]" = ()
    """Steps of bodies around it that may still be on their way when its body begins: levels up, and place there."""
    children: list[int] = field(default_factory=list)
    """Who waits for it in the same body."""
    follower: int = -1
    """Who follows it in its chain."""
    source: int = -1
    """Of a loop over what another loop of the same body collects: that one, whose items it takes as they come."""
    collected: str = ""
    """The output of that one that it goes over."""
    feeds: list[int] = field(default_factory=list)
    """The loops of which this one is the source."""
    before: frozenset[int] = frozenset()
    """Steps of the same body whose outputs must be known before it can be made part of a chain."""
    body: "Body | None" = None
    action: Action | None = None
    """With names for expressions in its command."""
    inputs: Mapping[str, Json] = field(default_factory=dict)
    """Those of the step."""
    generated: Mapping[str, str] = field(default_factory=dict)
    """Expressions in its command, made into inputs."""
    sees_own: bool = False
    """Whether such an expression looks at the step's own inputs and outputs."""
    outputs: Mapping[str, Output] | None = None
    """Those of the step, unless there are expressions in them."""
    environment: Mapping[str, str] | None = None
    """That of the step, unless there are expressions in it."""


@dataclass(slots=True)
class Body:
    """Steps that are run together: those of a program, of a group, or of a loop for one of its items."""

    program: Program
    parts: list[Part]
    places: Mapping[str, int]
    gives: Mapping[str, Json]
    path: str
    """Where it stands in its program, for people."""
    patterns: dict[tuple[int, ...], Chain] = field(default_factory=dict)
    """Chains of its steps, as far as they are always the same."""
    waits: tuple[int, ...] = ()
    """How many steps each of its steps waits for when it begins."""
    unbegun: bytes = b""
    """The states of its steps then."""


_COLLECTED = re.compile(
    r"\{\{\s*(?:steps\[['\"]([\w-]+)['\"]\]|([A-Za-z_]\w*))(?:\[['\"]([\w.-]+)['\"]\]|\.(\w+))\s*\}\}"
)
"""An output of a step, and nothing else."""

_Found: TypeAlias = tuple[int, int]
"""How many levels up a step is, and its place there."""


@dataclass(slots=True)
class _Scope:
    """The bodies around the one that is being prepared."""

    places: Mapping[str, int]
    outer: "_Scope | None"
    variables: frozenset[str]
    ended: frozenset[_Found]
    """Steps of bodies around that have surely ended when this body begins."""

    def find(self, name: str) -> _Found | None:
        """The step that a name stands for; None: it is a variable."""
        scope: _Scope | None = self
        levels = 0
        while scope is not None:
            if name in scope.variables:
                return None
            if bare(name) in scope.places:
                return levels, scope.places[bare(name)]
            scope, levels = scope.outer, levels + 1
        raise ProgramError(f"nothing is named {bare(name)!r}")


def place_of(body: Body, part: Part) -> str:
    """Where a step stands in its program."""
    return f"{body.path}.{part.step.id}"


def prepare(program: Program) -> Body:
    """The body of a program, with all bodies inside it."""
    return _prepare(program, program.steps, program.outputs, None, frozenset({"params"}), frozenset(), program.name)


def _prepare(
    program: Program,
    steps: Sequence[Step],
    gives: Mapping[str, Json],
    outer: _Scope | None,
    variables: frozenset[str],
    ended: frozenset[_Found],
    path: str,
) -> Body:
    steps = [unfolded(step, program) for step in steps]
    steps = _arranged(steps, path)
    places = {step.id: at for at, step in enumerate(steps)}
    scope = _Scope(places, outer, variables, ended)
    parts = [Part(step, at) for at, step in enumerate(steps)]
    body = Body(program, parts, places, gives, path)
    beyond: dict[_Found, int] = {}
    rows: list[list[int]] = []
    starts: list[list[int]] = []
    for part in parts:
        try:
            rows.append(_row(names_in(part.step), scope, beyond))
            starts.append(_row(names_to_start(part.step), scope, beyond))
            _connect(part, scope, parts)
        except ProgramError as error:
            raise ProgramError(f"{path}.{part.step.id}: {error}") from None
    _follow(parts, rows, starts, len(beyond))
    if not _may_skip(program):  # else an item may be missing, and those behind it move up
        for part in parts:
            _draw_on(part, scope, parts)
    for part in parts:
        _fill_in(part, body, scope, rows)
    body.waits = tuple(part.waits for part in parts)
    body.unbegun = bytes(len(parts))
    return body


def _row(names: frozenset[str], scope: _Scope, beyond: dict[_Found, int]) -> list[int]:
    """Places of names; steps of outer bodies that may not have ended yet count from -1 downwards."""
    wanted = {found for name in names if (found := scope.find(name)) is not None}
    here = [at for levels, at in sorted(wanted) if levels == 0]
    around = [found for found in sorted(wanted - scope.ended) if found[0] > 0]
    return here + [beyond.setdefault(found, -1 - len(beyond)) for found in around]


def _connect(part: Part, scope: _Scope, parts: list[Part]) -> None:
    wanted = {found for name in names_to_start(part.step) if (found := scope.find(name)) is not None}
    for levels, at in sorted(wanted):
        if levels == 0:
            part.waits += 1
            parts[at].children.append(part.at)
    part.outer = tuple(sorted(found for found in wanted - scope.ended if found[0] > 0))
    known = (scope.find(name) for name in names_before(part.step))
    part.before = frozenset(found[1] for found in known if found is not None and found[0] == 0)


def _follow(parts: list[Part], rows: list[list[int]], starts: list[list[int]], beyond: int) -> None:
    def fit(one: int, other: int) -> bool:
        if one < beyond:
            return False
        first, second = parts[one - beyond].step, parts[other - beyond].step
        return _can_share(first) and _can_share(second) and first.requirement == second.requirement

    # Steps of outer bodies stand before those of this one, for all that is known about them is who waits for them.
    shifted: list[list[int]] = [[] for _ in range(beyond)] + [[at + beyond for at in row] for row in rows]
    begin: list[list[int]] = [[] for _ in range(beyond)] + [[at + beyond for at in row] for row in starts]
    for one, other in enumerate(followers(shifted, fit, begin)):
        if other >= 0:
            parts[one - beyond].follower = other - beyond


def _can_share(step: Step) -> bool:
    return step.action is not None and not step.alone and step.total is None


def _fill_in(part: Part, body: Body, scope: _Scope, rows: list[list[int]]) -> None:
    """Prepare what is inside a step."""
    step, program = part.step, body.program
    path = f"{body.path}.{step.id}"
    if step.include:
        included = program.includes.get(step.include)
        if included is None:
            raise ProgramError(f"{path}: no program named {step.include!r} is included")
        part.body = prepare(included)
    elif step.steps:
        ended = frozenset((levels + 1, at) for levels, at in scope.ended | _ended_before(part, scope, rows))
        part.body = _prepare(program, step.steps, step.gives, scope, loop_names(step.loop), ended, path)
    elif step.action is None:
        raise ProgramError(f"{path}: has nothing to do")
    part.inputs = dict(step.inputs)
    part.action, part.generated = _with_names(step)
    own = {*step.inputs, OUTPUTS}
    part.sees_own = any(reference.name in own for reference in references(part.generated))
    if not any(OPEN in output.path for output in step.outputs.values()):
        part.outputs = dict(step.outputs)
    if not any(OPEN in text for text in step.environment.values()):
        part.environment = dict(step.environment)


def _draw_on(part: Part, scope: _Scope, parts: list[Part]) -> None:
    """Note it if a part is a loop over all that another loop collects, and waits for that one for no other reason."""
    step = part.step
    over = _COLLECTED.fullmatch(step.loop.over) if step.loop is not None and isinstance(step.loop.over, str) else None
    if over is None:
        return
    name = over[1] or over[2]
    found = scope.find(marked(name) if over[1] else name)
    if found is None or found[0] or name in step.needs:
        return
    source = parts[found[1]]
    output = over[3] or over[4]
    if source.step.loop is not None and not source.step.loop.feed and output in source.step.gives:
        part.source, part.collected = source.at, output
        source.feeds.append(part.at)


def _may_skip(program: Program) -> bool:
    """Whether any step of a program, or of those that it includes, is run under a condition."""
    walk = list(program.steps)
    for step in walk:  # grows while it is walked
        walk += step.steps
    return any(step.when is not True for step in walk) or any(map(_may_skip, program.includes.values()))


def _ended_before(part: Part, scope: _Scope, rows: list[list[int]]) -> frozenset[_Found]:
    """The steps, of its body and around, that have surely ended when a part starts."""
    known = {found for name in names_to_start(part.step) if (found := scope.find(name)) is not None}
    known.discard((0, part.source))  # it may still be on its way
    waiting = [at for levels, at in known if levels == 0]
    seen: set[int] = set()
    while waiting:
        at = waiting.pop()
        if at >= 0 and at not in seen:  # those below zero are not of this body
            seen.add(at)
            waiting.extend(rows[at])
    return frozenset(known | {(0, at) for at in seen})


def _with_names(step: Step) -> tuple[Action | None, dict[str, str]]:
    """The step's action with a name in the place of each expression in its command, and what the names stand for."""
    action = step.action
    if not isinstance(action, Shell | Container | Divisible) or OPEN not in action.command:
        return action, {}
    names: dict[str, str] = {}
    pieces: list[str] = []
    for piece in template(action.command).parts:
        if isinstance(piece, Expression):
            if piece.text in step.inputs:
                name = piece.text
            else:
                name = names.get(piece.text) or _fresh(step.inputs, names)
                names[piece.text] = name
            pieces.append(f"{{{{ {name} }}}}")
        else:
            pieces.append(piece)
    command = "".join(pieces)
    generated = {name: f"{OPEN} {text} }}}}" for text, name in names.items()}
    return replace(action, command=command), generated


def _fresh(inputs: Mapping[str, Json], names: Mapping[str, str]) -> str:
    number = len(names) + 1
    while f"_{number}" in inputs:
        number += 1000
    return f"_{number}"


def _arranged(steps: Sequence[Step], path: str) -> list[Step]:
    """Steps in an order in which each stands after those it looks at, as near to the given one as possible."""
    places = {step.id: at for at, step in enumerate(steps)}
    if len(places) < len(steps):
        raise ProgramError(f"{path}: two steps have the same id")
    rows = [sorted({places[bare(name)] for name in names_in(step) if bare(name) in places}) for step in steps]
    left = [len(row) for row in rows]
    children: list[list[int]] = [[] for _ in steps]
    for at, row in enumerate(rows):
        for parent in row:
            children[parent].append(at)
    order = [at for at, count in enumerate(left) if count == 0]
    for at in order:  # grows while it is walked
        for child in children[at]:
            left[child] -= 1
            if left[child] == 0:
                order.append(child)
    if len(order) < len(steps):
        stuck = ", ".join(step.id for at, step in enumerate(steps) if left[at] > 0)
        raise ProgramError(f"{path}: steps wait for each other: {stuck}")
    return [steps[at] for at in order]
