"""Frames: bodies on their way. The program has one; a loop has one for each item that is not yet through.

A loop may have a million items that all wait for a machine. So a frame holds no more than where it is: what can be
worked out from that is, and what becomes of its steps has room once there is something to note.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from tradewind.core.chains.plan import Body, Part
from tradewind.model.action import Json
from tradewind.model.expression import Allowance, ExpressionError, MissingError, Outputs, fill
from tradewind.model.program import Loop
from tradewind.model.scope import INDEX, ROUND, STEPS

WAITING, OPEN, PASSING, UNFOLDED, DONE, SKIPPED, BROKEN = range(7)
"""States of a step in a frame: waits; is a call of an open chain; will be skipped when the chain that passes over it
has ended; has frames of its own; has ended well; was skipped; cannot be unfolded."""

ENDED = (False, False, False, False, True, True, False)

Path = tuple[int, ...]
"""Which item of a loop: its position, and if it was fed to the loop, after the path of the item that fed it."""

Place: TypeAlias = int | Path
"""A path; the position alone, where it is the first round."""

_BYTES = tuple(bytes([state]) for state in range(7))
_FEW = 8
"""So many states are changed by making them anew: frames of which nothing has begun, or all, then share them."""
ABSENT: Final = object()


class Fault(NamedTuple):
    """A step that cannot be unfolded, for an expression has no value, or a result lacks an output."""

    step: str
    """Its id with the position in its loops; empty: the program's outputs."""
    reason: str


class Progress:
    """What has become of the steps of a frame."""

    __slots__ = ("left", "states", "unfolded", "values", "waiting", "waits")

    def __init__(self, body: Body, states: bytes) -> None:
        self.states = bytearray(states)
        self.values: dict[int, Outputs] = {}
        self.waits = list(body.waits)
        self.waiting: dict[int, list[tuple[Frame, int]]] = {}
        """Steps of frames inside that wait for a step of this one."""
        self.unfolded: dict[int, Unfolded] = {}
        self.left = len(body.parts)


class Frame:
    """One body on its way, with the state of each of its steps."""

    __slots__ = ("_now", "given", "place", "within")

    def __init__(self, within: "Unfolded", given: Json, place: Place = ()) -> None:
        self.within = within
        self.given = given
        """The item of a loop; elsewhere variables by name."""
        self.place = place
        self._now: bytes | Progress = within.body.unbegun
        """The states of its steps, as long as there is no more to note."""

    @property
    def body(self) -> Body:
        """Its steps."""
        return self.within.body

    @property
    def outer(self) -> "Frame | None":
        """The frame that this one is inside."""
        return self.within.outer

    @property
    def at(self) -> int:
        """The step of the outer frame that this one is inside."""
        return self.within.at

    @property
    def states(self) -> bytes | bytearray:
        """The state of each of its steps."""
        return self._now if isinstance(self._now, bytes) else self._now.states

    @property
    def progress(self) -> Progress:
        """What has become of its steps, to be noted."""
        if isinstance(self._now, bytes):
            self._now = Progress(self.within.body, self._now)
        return self._now

    @property
    def waits(self) -> Sequence[int]:
        """How many steps each step still waits for."""
        return self.within.body.waits if isinstance(self._now, bytes) else self._now.waits

    def mark(self, at: int, state: int) -> None:
        """A step is in another state."""
        now = self._now
        if isinstance(now, bytes) and len(now) <= _FEW:
            self._now = now[:at] + _BYTES[state] + now[at + 1 :]
        else:
            self.progress.states[at] = state

    @property
    def path(self) -> Path:
        """Which item of a loop it is for."""
        return (self.place,) if isinstance(self.place, int) else self.place

    def call_id(self, at: int) -> str:
        """The id of a step here: with its position in loops, after the step that included its program."""
        before, behind = self.affixes()
        return f"{before}{self.within.body.parts[at].step.id}{behind}"

    def affixes(self) -> tuple[str, str]:
        """What stands before and behind the ids of all its steps."""
        outer, place = self.outer, self.place
        if outer is None:
            return "", ""
        if outer.part(self.at).step.include:
            return f"{outer.call_id(self.at)}.", ""
        before, behind = outer.affixes()
        if place == ():
            return before, behind
        return before, f"{behind}[{place if isinstance(place, int) else '.'.join(map(str, place))}]"

    def around(self) -> "Frame | None":
        """The frame whose names are seen from here: none from within an included program."""
        return None if self.outer is None or self.outer.part(self.at).step.include else self.outer

    def part(self, at: int) -> Part:
        """A step of this frame."""
        return self.body.parts[at]

    def variables(self) -> dict[str, Json]:
        """The variables that it brings, by name."""
        loop = self.within.loop
        if loop is None:
            return dict(self.given)
        names = (loop.variable, INDEX, ROUND) if loop.feed else (loop.variable, INDEX)
        return {name: self.variable(name) for name in names}

    def variable(self, name: str) -> Json:
        """A variable that it brings; `ABSENT` if it does not."""
        loop = self.within.loop
        if loop is None:
            return self.given.get(name, ABSENT)
        if name == INDEX:
            return ".".join(map(str, self.path)) if loop.feed else self.path[-1]
        if name == ROUND and loop.feed:
            return len(self.path) - 1
        return self.given if name == loop.variable else ABSENT

    def fill(self, value: Json) -> Json:
        """A value with its templates filled in, at the expense of the run."""
        return fill(value, self.lookup, self.within.allowance)

    def lookup(self, name: str) -> Json:
        """What a name stands for here."""
        frame: Frame | None = self
        while frame is not None:
            found = frame.variable(name)
            if found is not ABSENT:
                return found
            at = frame.body.places.get(name)
            if at is not None:
                return frame.outputs_of(at)
            frame = frame.around()
        if name == STEPS:
            return Steps(self)
        raise ExpressionError(f"nothing is named {name!r} here")

    def lookup_step(self, name: str) -> Json:
        """The outputs of a step that is seen from here."""
        frame: Frame | None = self
        while frame is not None:
            at = frame.body.places.get(name)
            if at is not None:
                return frame.outputs_of(at)
            frame = frame.around()
        raise ExpressionError(f"no step is named {name!r} here")

    def outputs_of(self, at: int) -> Outputs:
        """The outputs of a step that has ended."""
        state = self.states[at]
        if state == DONE:
            return self.progress.values[at]
        if state in (SKIPPED, PASSING):
            raise MissingError(self.call_id(at))
        raise ExpressionError(f"the step {self.call_id(at)!r} has not ended")


class Steps(Mapping[str, Json]):
    """All steps seen from a frame, as the name `steps`."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def __getitem__(self, name: str) -> Json:
        return self._frame.lookup_step(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._frame.body.places)

    def __len__(self) -> int:
        return len(self._frame.body.places)


class Unfolded:
    """A step with a body: its frames that are on their way, and what those that have ended gave."""

    __slots__ = ("_fed", "_first", "allowance", "at", "body", "count", "gave", "left", "loop", "outer")

    def __init__(self, body: Body, outer: Frame | None = None, at: int = 0) -> None:
        self.body = body
        self.outer = outer
        """The frame that the step is in, and where; None: it is the program itself."""
        self.at = at
        self.loop: Loop | None = None if outer is None else outer.part(at).step.loop
        self.allowance: Allowance = Allowance() if outer is None else outer.within.allowance
        """What the whole run may still spend on expressions."""
        self.gave: dict[Path, Outputs] = {}
        self.count = 0
        """How many items there were so far."""
        self.left = 0
        """How many frames are on their way."""
        self._first: list[Frame | None] = []
        """Those of the first round, by position."""
        self._fed: dict[Path, Frame] = {}

    def enter(self, given: Json, place: Place) -> Frame:
        """A new frame."""
        frame = Frame(self, given, place)
        self.left += 1
        if isinstance(place, int):
            self._first += [None] * (place + 1 - len(self._first))
            self._first[place] = frame
        else:
            self._fed[place] = frame
        return frame

    def leave(self, frame: Frame) -> None:
        """A frame has ended."""
        self.left -= 1
        if isinstance(frame.place, int):
            self._first[frame.place] = None
        else:
            del self._fed[frame.place]

    def frames(self) -> Iterator[Frame]:
        """Those on their way, those of the first round first."""
        yield from filter(None, self._first)
        yield from self._fed.values()

    def collected(self, names: Mapping[str, Json]) -> Outputs:
        """A list of each output, in the order of the items; fed ones come after those that fed them, round by round."""
        order = sorted(self.gave, key=lambda path: (len(path), path))
        return Outputs({name: [self.gave[path][name] for path in order if name in self.gave[path]] for name in names})


Opened: TypeAlias = Frame | tuple[Frame, tuple[int, ...]]
"""An open chain: its frame and its steps, passed-over ones included; the frame alone if it has but one step."""


def opened(frame: Frame, members: Sequence[int]) -> Opened:
    """An open chain."""
    return frame if len(frame.body.parts) == 1 else (frame, tuple(members))


def members_of(chain: Opened) -> tuple[Frame, tuple[int, ...]]:
    """The frame that an open chain is in, and its steps."""
    return chain if isinstance(chain, tuple) else (chain, (0,))


def wait_outside(frame: Frame) -> None:
    """Let steps wait for steps of the frames around that have not ended yet."""
    for part in frame.body.parts:
        for levels, at in part.outer:
            owner = frame
            for _ in range(levels):
                assert owner.outer is not None  # noqa: S101 - the plan has counted them
                owner = owner.outer
            if not ENDED[owner.states[at]]:
                frame.progress.waits[part.at] += 1
                owner.progress.waiting.setdefault(at, []).append((frame, part.at))
