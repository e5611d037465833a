"""Frames: bodies on their way. The program has one; a loop has one for each item that is not yet through."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tradewind.core.chains.plan import Body, Part
from tradewind.model.action import Json
from tradewind.model.expression import ExpressionError, MissingError, Outputs
from tradewind.model.scope import STEPS

WAITING, OPEN, PASSING, UNFOLDED, DONE, SKIPPED, BROKEN = range(7)
"""States of a step in a frame: waits; is a call of an open chain; will be skipped when the chain that passes over it
has ended; has frames of its own; has ended well; was skipped; cannot be unfolded."""

ENDED = (False, False, False, False, True, True, False)

Path = tuple[int, ...]
"""Which item of a loop: its position, and if it was fed to the loop, after the path of the item that fed it."""


class Fault(NamedTuple):
    """A step that cannot be unfolded, for an expression has no value, or a result lacks an output."""

    step: str
    """Its id with the position in its loops; empty: the program's outputs."""
    reason: str


class Frame:
    """One body on its way, with the state of each of its steps."""

    __slots__ = (
        "at",
        "body",
        "left",
        "outer",
        "path",
        "prefix",
        "states",
        "suffix",
        "unfolded",
        "values",
        "variables",
        "waiting",
        "waits",
    )

    def __init__(self, body: Body, outer: "Frame | None", at: int, variables: dict[str, Json], path: Path = ()) -> None:
        self.body = body
        self.outer = outer
        """The frame that this one is inside, and where."""
        self.at = at
        self.path = path
        self.variables = variables
        self.prefix = ""
        self.suffix = ""
        self.states = bytearray(len(body.parts))
        self.values: dict[int, Outputs] = {}
        self.waits = [part.waits for part in body.parts]
        self.waiting: dict[int, list[tuple[Frame, int]]] = {}
        """Steps of frames inside that wait for a step of this one."""
        self.unfolded: dict[int, Unfolded] = {}
        self.left = len(body.parts)

    def call_id(self, at: int) -> str:
        """The id of a step here: with its position in loops, after the step that included its program."""
        return f"{self.prefix}{self.body.parts[at].step.id}{self.suffix}"

    def around(self) -> "Frame | None":
        """The frame whose names are seen from here: none from within an included program."""
        return None if self.outer is None or self.outer.part(self.at).step.include else self.outer

    def part(self, at: int) -> Part:
        """A step of this frame."""
        return self.body.parts[at]

    def lookup(self, name: str) -> Json:
        """What a name stands for here."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.variables:
                return frame.variables[name]
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
            return self.values[at]
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
    """The frames of a step with a body, and what those that have ended gave."""

    __slots__ = ("count", "frames", "gave")

    def __init__(self) -> None:
        self.frames: dict[Path, Frame] = {}
        self.gave: dict[Path, Outputs] = {}
        self.count = 0
        """How many items there were so far."""

    def collected(self, names: Mapping[str, Json]) -> Outputs:
        """A list of each output, in the order of the items; fed ones come after those that fed them, round by round."""
        order = sorted(self.gave, key=lambda path: (len(path), path))
        return Outputs({name: [self.gave[path][name] for path in order if name in self.gave[path]] for name in names})


def enter(body: Body, outer: Frame | None, at: int, variables: dict[str, Json], path: Path = ()) -> Frame:
    """A new frame inside another, with the ids of its steps."""
    frame = Frame(body, outer, at, variables, path)
    if outer is None:
        return frame
    if outer.part(at).step.include:
        frame.prefix = f"{outer.call_id(at)}."
    else:
        frame.prefix = outer.prefix
        frame.suffix = outer.suffix + (f"[{'.'.join(map(str, path))}]" if path else "")
    return frame


def wait_outside(frame: Frame) -> None:
    """Let steps wait for steps of the frames around that have not ended yet."""
    for part in frame.body.parts:
        for levels, at in part.outer:
            owner = frame
            for _ in range(levels):
                assert owner.outer is not None  # noqa: S101 - the plan has counted them
                owner = owner.outer
            if not ENDED[owner.states[at]]:
                frame.waits[part.at] += 1
                owner.waiting.setdefault(at, []).append((frame, part.at))
