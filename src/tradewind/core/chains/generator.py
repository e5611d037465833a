"""The process-chain generator: unfolds a program into chains as results come in (Steep paper, sections 3 and 4).

    generator = Generator(program, bind(program, given))
    chains = generator.begin()
    ...
    chains = generator.finished(chain.id, results)      # {call id: {output: value}}

It is a pure function of the program, its parameters and the results: no clock, no chance, no I/O. Chains and outputs
are the same in whatever order results arrive. `save` gives plain JSON from which `load` goes on; the results of
finished chains replayed in any order will do as well. A finished chain costs what it enables, never the size of the
program.

Differs from the paper's controller in that it keeps counts of what each step waits for instead of looking through the
remaining graph after every chain, does not unite requirements, and never cuts a chain by what happens to be finished.

Failures are not its business: it is told of chains that ended well. What cannot be unfolded (an expression without a
value, a loop over something that is no list) is a `Fault`; the steps that wait for it then never start.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence

from tradewind.core.chains import state
from tradewind.core.chains.chain import Chain, chain_of, pattern_of
from tradewind.core.chains.frame import (
    BROKEN,
    DONE,
    OPEN,
    PASSING,
    SKIPPED,
    UNFOLDED,
    WAITING,
    Fault,
    Frame,
    Opened,
    Path,
    Place,
    Unfolded,
    members_of,
    opened,
    wait_outside,
)
from tradewind.core.chains.plan import Body, Part, place_of, prepare
from tradewind.core.chains.render import LaterError, call_of, pending_outputs
from tradewind.model.action import Call, Json
from tradewind.model.expression import ExpressionError, MissingError, Outputs, kind_of
from tradewind.model.parameters import ParameterError, bind
from tradewind.model.program import Program


class Generator:
    """One run of a program on its way."""

    def __init__(self, program: Program, parameters: Mapping[str, Json], *, plan: Body | None = None) -> None:
        self.program = program
        self.faults: list[Fault] = []
        self._root = Frame(Unfolded(plan or prepare(program)), {"params": dict(parameters)})
        self._open: dict[str, Opened] = {}
        """Chains that have not finished."""
        self._ready: deque[tuple[Frame, int]] = deque()
        self._made: list[Chain] = []
        self._outputs: Outputs | None = None
        self.counted: dict[str, int] = {}
        """How many items loops had that have begun, by where they stand in the program."""

    # What is asked of it

    def begin(self) -> list[Chain]:
        """The chains that wait for nothing."""
        self._enter(self._root)
        return self._unfold()

    def finished(self, chain: str, results: Mapping[str, Mapping[str, Json]]) -> list[Chain]:
        """Take the results of a chain that ended well; the chains that can start now."""
        if chain not in self._open:
            raise KeyError(f"no chain {chain!r} is open")
        frame, members = members_of(self._open.pop(chain))
        for at in members:
            if frame.states[at] == PASSING:
                self._end(frame, at, SKIPPED)
            else:
                self._take(frame, at, results.get(frame.call_id(at), {}))
        return self._unfold()

    @property
    def plan(self) -> Body:
        """The program, made ready to be unfolded."""
        return self._root.body

    @property
    def open(self) -> Collection[str]:
        """The ids of the chains that have not finished."""
        return self._open.keys()

    def chain(self, id: str) -> Chain:
        """A chain that has not finished, made anew."""
        return self._chain(*members_of(self._open[id]))

    def open_chains(self) -> list[Chain]:
        """The chains that have not finished, made anew."""
        return [self.chain(id) for id in self._open]

    @property
    def is_done(self) -> bool:
        """Whether every step has ended well or was skipped, and the program's outputs are known."""
        return self._outputs is not None

    def outputs(self) -> dict[str, Json]:
        """The outputs of the program once it is done, without those of steps that were skipped."""
        if self._outputs is None:
            raise ValueError(f"the program {self.program.name!r} is not done")
        return dict(self._outputs)

    def save(self) -> Json:
        """All there is to know, as plain JSON."""
        frames = {chain: members_of(each)[1] for chain, each in self._open.items()}
        return state.save(self._root, frames, self.faults, self._outputs)

    @classmethod
    def load(cls, program: Program, saved: Json, *, plan: Body | None = None) -> "Generator":
        """Go on from what was saved."""
        self = cls(program, saved["root"]["variables"]["params"], plan=plan)
        self._root, self._open = state.load(self._root.body, saved)
        self.faults = [Fault(step, reason) for step, reason in saved["faults"]]
        self._outputs = None if saved["outputs"] is None else Outputs(saved["outputs"])
        return self

    # Steps that begin

    def _unfold(self) -> list[Chain]:
        """Begin whatever can begin."""
        while self._ready:
            frame, at = self._ready.popleft()
            if frame.states[at] != WAITING:
                continue  # it has begun with what its source had collected, and now that one has ended
            try:
                self._begin(frame, at)
            except MissingError:
                self._end(frame, at, SKIPPED)
            except (ExpressionError, ParameterError) as error:
                self._break(frame, at, str(error))
        made, self._made = self._made, []
        return made

    def _begin(self, frame: Frame, at: int) -> None:
        part = frame.part(at)
        if not _wanted(frame, part):
            self._end(frame, at, SKIPPED)
        elif part.body is None:
            self._link(frame, at)
        else:
            self._open_body(frame, part, part.body)

    def _link(self, frame: Frame, first: int) -> None:
        """Make the chain that begins with a step: as far as its followers can be known now."""
        part = frame.body.parts[first]
        calls = [call_of(frame, first, {})]
        members = [first]
        frame.mark(first, OPEN)
        at = part.follower
        pending: dict[str, Json] = {} if at < 0 else {part.step.id: pending_outputs(frame, first)}
        while at >= 0 and not self._looks_at(frame.part(at), frame):
            part = frame.part(at)
            try:
                call = _call_or_skip(frame, part, pending)
            except (ExpressionError, LaterError):
                break  # once it is first in a chain of its own, it will be told or computed
            frame.mark(at, PASSING if call is None else OPEN)
            members.append(at)
            if call is not None:
                calls.append(call)
                pending[part.step.id] = pending_outputs(frame, at)
            at = part.follower
        chain = chain_of(_pattern(frame, members), calls)
        self._open[chain.id] = opened(frame, members)
        self._made.append(chain)

    @staticmethod
    def _looks_at(part: Part, frame: Frame) -> bool:
        """Whether what a step must know beforehand comes from a call that has not run."""
        return any(frame.states[at] == OPEN for at in part.before)

    @staticmethod
    def _chain(frame: Frame, members: Iterable[int]) -> Chain:
        """A chain once more, from what was decided about its steps."""
        calls: list[Call] = []
        pending: dict[str, Json] = {}
        live = [at for at in members if frame.states[at] == OPEN]
        for at in live:
            calls.append(call_of(frame, at, pending))
            pending[frame.part(at).step.id] = pending_outputs(frame, at)
        return chain_of(_pattern(frame, live), calls)

    # Bodies

    def _open_body(self, frame: Frame, part: Part, body: Body) -> None:
        step = part.step
        unfolded = Unfolded(body, frame, part.at)
        if step.include:
            given = {name: frame.fill(value) for name, value in part.inputs.items()}
            items: Iterable[tuple[Place, Json]] = [((), {"params": bind(body.program, given)})]
        elif self._is_fed(frame, part):
            items = self._drawn(part, frame.progress.unfolded[part.source].gave.items(), unfolded)
        elif step.loop is not None:
            items = self._items(part, frame.fill(step.loop.over), (), unfolded)
            self.counted[place_of(frame.body, part)] = unfolded.count
        else:
            items = [((), {})]
        frame.mark(part.at, UNFOLDED)
        frame.progress.unfolded[part.at] = unfolded
        self._enter_all(frame, part, body, items)
        for child in part.feeds:
            self._begin_early(frame, child)

    def _begin_early(self, frame: Frame, at: int) -> None:
        """Let a loop begin that waits for nothing but its source, once that one is on its way."""
        if frame.waits[at] == 1 and frame.states[at] == WAITING and self._is_fed(frame, frame.part(at)):
            self._ready.append((frame, at))

    @staticmethod
    def _is_fed(frame: Frame, part: Part) -> bool:
        """Whether a loop takes the items of another one that is on its way."""
        return part.source >= 0 and frame.states[part.source] == UNFOLDED

    def _drawn(self, part: Part, gave: Iterable[tuple[Path, Outputs]], unfolded: Unfolded) -> list[tuple[Place, Json]]:
        """Items that a loop takes from what its source has collected so far; each keeps its position."""
        items: list[tuple[Place, Json]] = [(path[0], outputs[part.collected]) for path, outputs in gave]
        self._items(part, [value for _, value in items], (), unfolded)  # counts them
        return items

    def _items(self, part: Part, values: Json, after: Path, unfolded: Unfolded) -> Iterable[tuple[Place, Json]]:
        """The items of a loop and where they are; `after` is the item that fed them."""
        loop = part.step.loop
        if loop is None or not isinstance(values, list):
            raise ExpressionError(f"for_each takes a list, not {kind_of(values)}")
        unfolded.count += len(values)
        if unfolded.count > loop.most:
            raise ExpressionError(f"the loop has more than {loop.most:,} items")
        return [((*after, at), value) for at, value in enumerate(values)] if after else enumerate(values)

    def _enter_all(self, frame: Frame, part: Part, body: Body, items: Iterable[tuple[Place, Json]]) -> None:
        """Enter a frame for each item; without any, the step has ended."""
        unfolded = frame.progress.unfolded[part.at]
        for place, given in items:
            self._enter(unfolded.enter(given, place))
        if not unfolded.left and not self._is_fed(frame, part):
            gave = unfolded.collected(body.gives) if part.step.loop is not None else unfolded.gave[()]
            del frame.progress.unfolded[part.at]
            self._end(frame, part.at, DONE, gave)

    def _enter(self, frame: Frame) -> None:
        wait_outside(frame)
        for at, waits in enumerate(frame.waits):
            if waits == 0:
                self._ready.append((frame, at))

    # Steps that end

    def _take(self, frame: Frame, at: int, result: Mapping[str, Json]) -> None:
        """Note the outputs of a call."""
        declared = frame.part(at).step.outputs
        lacking = [name for name in declared if name not in result]
        if lacking:
            self._break(frame, at, f"left no output {lacking[0]!r}")
        else:
            self._end(frame, at, DONE, Outputs({name: result[name] for name in declared}))

    def _end(self, frame: Frame, at: int, ended: int, outputs: Outputs | None = None) -> None:
        """A step has ended: let those go on that waited for it."""
        frame.mark(at, ended)
        progress = frame.progress
        if outputs is not None:
            progress.values[at] = outputs
        for child in frame.part(at).children:
            self._release(frame, child)
        for inner, child in progress.waiting.pop(at, ()):
            self._release(inner, child)
        progress.left -= 1
        if progress.left == 0:
            self._close(frame)

    def _release(self, frame: Frame, at: int) -> None:
        waits = frame.progress.waits
        waits[at] -= 1
        part = frame.part(at)
        if waits[at] == 0 and frame.states[at] == WAITING:
            self._ready.append((frame, at))
        elif waits[at] == 0 and part.source >= 0 and part.body is not None and frame.states[at] == UNFOLDED:
            self._enter_all(frame, part, part.body, ())  # its source has ended: no more will come
        elif part.source >= 0:
            self._begin_early(frame, at)

    def _close(self, frame: Frame) -> None:
        """A frame has ended: note what it gives, and go on outside."""
        outer = frame.outer
        try:
            gave = _given(frame)
            if outer is None:
                self._outputs = gave
                return
            part, body = outer.part(frame.at), frame.body
            unfolded = outer.progress.unfolded[frame.at]
            fed = self._fed(frame, part, unfolded)
        except ExpressionError as error:
            if outer is None:
                self.faults.append(Fault("", str(error)))
            elif outer.states[frame.at] != BROKEN:
                self._break(outer, frame.at, str(error))
            return
        unfolded.gave[frame.path] = gave
        unfolded.leave(frame)
        self._pass_on(outer, part, frame.path, gave)
        self._enter_all(outer, part, body, fed)

    def _pass_on(self, frame: Frame, part: Part, path: Path, gave: Outputs) -> None:
        """Give what an item of a loop left behind to the loops that go over it."""
        for child in part.feeds:
            taker = frame.part(child)
            if frame.states[child] == UNFOLDED and taker.body is not None:
                try:
                    items = self._drawn(taker, [(path, gave)], frame.progress.unfolded[child])
                except ExpressionError as error:
                    self._break(frame, child, str(error))
                else:
                    self._enter_all(frame, taker, taker.body, items)

    def _fed(self, frame: Frame, part: Part, unfolded: Unfolded) -> Iterable[tuple[Place, Json]]:
        """The items that a loop feeds to itself after one of its items."""
        if part.step.loop is None or not part.step.loop.feed:
            return []
        try:
            values = frame.fill(part.step.loop.feed)
        except MissingError:
            return []
        values = [] if values is None else values if isinstance(values, list) else [values]
        return self._items(part, values, frame.path, unfolded)

    def _break(self, frame: Frame, at: int, reason: str) -> None:
        frame.mark(at, BROKEN)
        self.faults.append(Fault(frame.call_id(at), reason))


def _pattern(frame: Frame, members: Sequence[int]) -> Chain:
    """What a chain of these steps looks like, those left out that are passed over."""
    live = tuple(at for at in members if frame.states[at] == OPEN)
    patterns = frame.body.patterns
    if live not in patterns:
        patterns[live] = pattern_of([frame.part(at).step for at in live])
    return patterns[live]


def _wanted(frame: Frame, part: Part) -> bool:
    when = part.step.when
    return bool(when if isinstance(when, bool) else frame.fill(when))


def _call_or_skip(frame: Frame, part: Part, pending: Mapping[str, Json]) -> Call | None:
    """The call of a step, or None if it is to be skipped."""
    try:
        return call_of(frame, part.at, pending) if _wanted(frame, part) else None
    except MissingError:
        return None


def _given(frame: Frame) -> Outputs:
    """What a body gives; outputs that touch a skipped step are left out."""
    gave = Outputs()
    for name, value in frame.body.gives.items():
        try:
            found = frame.fill(value)
            frame.within.allowance.pass_on(found)
            gave[name] = found
        except MissingError:
            continue
        except ExpressionError as error:
            raise ExpressionError(f"outputs.{name}: {error}") from None
    return gave
