"""Trials: plans of one job, one of which at a time is written on the existing tracks, task by task.

Plans that start in the same way share their first steps. A step is valid for other due times, too: the best option
among those that end by one time is also the best among those that end by an earlier time, if it does so itself. A trial
stores only its choices, so that thousands of tasks take little memory; the resulting free capacity is on the `Sheet`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tradewind.model.units import Duration, Time
from tradewind.policies.deadline.row import Row
from tradewind.policies.deadline.track import Track, Tried
from tradewind.policies.protocol import Kind, Unit

NEW = -1
"""Stands for a track that does not exist yet."""


class Option(NamedTuple):
    """A place where a task may run."""

    score: float
    """What it adds to the bill."""
    kind: int
    track: int
    """Its position among the tracks of its type."""
    begin: Time
    end: Time


class Step:
    """The choice for the next task, among some machine types and options that end by some time."""

    __slots__ = ("due", "kinds", "option", "trial")

    def __init__(self, kinds: tuple[int, ...], due: Time, option: Option | None) -> None:
        self.kinds = kinds
        self.due = due
        self.option = option
        self.trial: Trial | None = None
        """The following trial, once it has been written."""

    def holds_for(self, kinds: tuple[int, ...], due: Time) -> bool:
        """Return whether the choice would be the same for these machine types and this time."""
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
    """The position among the tracks of its type, or a new one."""
    begin: Time
    time: Duration


class Trial:
    """The plan of the first tasks of a job: the trial without the last task, and the place of the last one."""

    __slots__ = ("before", "cost", "option", "place", "steps")

    def __init__(self, before: "Trial | None" = None, place: int = -1, option: Option | None = None) -> None:
        self.before = before
        self.place = place
        """Start of the last task."""
        self.option = option
        self.cost: float = before.cost + option.score if before is not None and option is not None else 0.0
        """What it adds to the bill."""
        self.steps: list[Step] = []
        """Known choices for the next task."""

    def known(self, kinds: tuple[int, ...], due: Time) -> Step | None:
        """Return the choice for the next task, if it is known."""
        for step in self.steps:
            if step.holds_for(kinds, due):
                return step
        return None

    def learn(self, kinds: tuple[int, ...], due: Time, option: Option | None) -> Step:
        """Record the choice for the next task, or that there is none."""
        step = Step(kinds, due, option)
        self.steps.append(step)
        return step

    def puts(self) -> list[Put]:
        """Return the place of each task, in order."""
        found: list[Put] = []
        trial: Trial | None = self
        while trial is not None and trial.option is not None:
            option = trial.option
            found.append(Put(trial.place, option.kind, option.track, option.begin, option.end - option.begin))
            trial = trial.before
        return found[::-1]


class Sheet:
    """The tracks of the board, with one trial at a time written on them and undone afterwards."""

    def __init__(self, rows: Sequence[Row], kinds: Sequence[Kind]) -> None:
        self.rows = rows
        self._kinds = kinds
        self._written: list[tuple[Trial, Tried]] = []
        """The steps written so far."""

    def write(self, depth: int, trial: Trial, unit: Unit) -> None:
        """Write the last step of a trial at a depth, unless it is already there."""
        if depth < len(self._written) and self._written[depth][0] is trial:
            return
        self.back_to(depth)
        option = trial.option
        if option is not None:
            row = self.rows[option.kind]
            number = option.track
            if number == NEW:
                number = len(row.tracks)
                kind = self._kinds[option.kind]
                row.add(Track(kind, option.begin - kind.type.boot.mean))
            tried = row.tracks[number].reserve(option.begin, option.end - option.begin, unit.id, unit.need.demand)
            row.changed(number)
            self._written.append((trial, tried))

    def back_to(self, depth: int) -> None:
        """Undo the steps beyond a depth."""
        while len(self._written) > depth:
            trial, tried = self._written.pop()
            option = trial.option
            if option is not None:
                row = self.rows[option.kind]
                if option.track == NEW:
                    row.remove_last()
                else:
                    row.tracks[option.track].undo(tried)
                    row.changed(option.track)
