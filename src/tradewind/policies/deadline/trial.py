"""Trials: plans of one job, written task by task on copies of the tracks that are there.

Plans that begin in the same way share their first steps. A step is known for other due times too: what was chosen of
all that ends by one time is chosen of what ends by an earlier one as well, as long as it does so itself.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tradewind.model.units import Duration, Time
from tradewind.policies.deadline.row import Row
from tradewind.policies.deadline.track import Track
from tradewind.policies.protocol import Kind

NEW = -1
"""Stands for a track that is not there yet."""


class Option(NamedTuple):
    """Where a task may run."""

    score: float
    """What that adds to the bill."""
    kind: int
    track: int
    """Its place among those of its type."""
    lane: int
    begin: Time
    end: Time


class Step:
    """What was chosen for the next task, of some machine types and of what ends by some time."""

    __slots__ = ("due", "kinds", "option", "trial")

    def __init__(self, kinds: tuple[int, ...], due: Time, option: Option | None) -> None:
        self.kinds = kinds
        self.due = due
        self.option = option
        self.trial: Trial | None = None
        """What follows, once it has been written."""

    def holds_for(self, kinds: tuple[int, ...], due: Time) -> bool:
        """Whether the same would be chosen of these machine types, one or all, by this time."""
        if due > self.due:
            return False
        if self.option is None:
            return kinds == self.kinds
        return self.option.end <= due and (kinds == self.kinds or kinds == (self.option.kind,))


class Put(NamedTuple):
    """A task on a track of a trial."""

    place: int
    kind: int
    track: int
    """Its place among those of its type."""
    begin: Time
    time: Duration


class Trial:
    """The plan of the first tasks of a job."""

    __slots__ = ("cost", "puts", "rows", "steps")

    def __init__(self, rows: Sequence[Row], cost: float = 0.0, puts: tuple[Put, ...] = ()) -> None:
        self.rows = rows
        """By machine type; the tracks of the board, copies of those that are written on, then new ones."""
        self.cost = cost
        """What it adds to the bill."""
        self.steps: list[Step] = []
        """What is known of the next task."""
        self.puts = puts
        """Where each task is."""

    def known(self, kinds: tuple[int, ...], due: Time) -> Step | None:
        """What would be chosen for the next task, if that is known."""
        for step in self.steps:
            if step.holds_for(kinds, due):
                return step
        return None

    def learn(self, kinds: tuple[int, ...], due: Time, option: Option | None) -> Step:
        """Something has been chosen for the next task, or nothing found."""
        step = Step(kinds, due, option)
        self.steps.append(step)
        return step

    def write(self, place: int, kind: Kind, option: Option, unit: int) -> "Trial":
        """The plan with one more task."""
        row = self.rows[option.kind]
        if option.track == NEW:
            number, track = len(row.tracks), Track(kind, option.begin - kind.type.boot.mean)
        else:
            number, track = option.track, row.tracks[option.track].copy()
        time = option.end - option.begin
        track.reserve(option.lane, option.begin, time, unit)
        rows = list(self.rows)
        rows[option.kind] = row.written(number, track)
        put = Put(place, option.kind, number, option.begin, time)
        return Trial(rows, self.cost + option.score, (*self.puts, put))
