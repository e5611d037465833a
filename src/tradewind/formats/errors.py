"""What is wrong with a file: where, why, and what to do about it.

A reader adds every problem it finds to `Problems` and settles them at the end, so that a user who made five slips
sees five lines and not the first one five times.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TypeAlias

from tradewind.model.errors import TradewindError

Place: TypeAlias = tuple[str | int, ...]
"""Keys and positions that lead from the top of a document to a value."""

Locate: TypeAlias = Callable[[Sequence[Place]], Sequence[int | None]]
"""Finds the line of each place; asked only when there is a problem, for finding lines is slow in large files."""

SHOWN = 20
"""How many problems are told; the others are counted."""

_COMPARED = 2_000
"""How many names a misspelt one is compared with, for each comparison costs some 10 µs."""


class FormatError(TradewindError):
    """A file that cannot be used."""

    def __init__(self, file: str, reason: str, *, line: int | None = None, place: str = "", remedy: str = "") -> None:
        super().__init__(file, reason)
        self.file = file
        self.line = line
        self.place = place
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        spot = self.file if self.line is None else f"{self.file}:{self.line}"
        told = f"{self.reason}; {self.remedy}" if self.remedy else self.reason
        return ": ".join(part for part in (spot, self.place, told) if part)


class FormatErrors(FormatError):  # noqa: N818  there are several
    """Several problems of one file; it stands for the first of them where only one is asked for."""

    def __init__(self, problems: Sequence[FormatError], count: int) -> None:
        first = problems[0]
        super().__init__(first.file, first.reason, line=first.line, place=first.place, remedy=first.remedy)
        self.problems = tuple(problems)
        """The first of them, at most `SHOWN`."""
        self.count = count
        """How many there are."""

    def __str__(self) -> str:
        told = [str(problem) for problem in self.problems]
        if self.count > len(told):
            told.append(f"and {self.count - len(told)} more")
        return "\n".join(told)


def nowhere(places: Sequence[Place]) -> list[int | None]:
    """Locate nothing: for data that came from no file."""
    return [None] * len(places)


@dataclass(frozen=True, slots=True)
class _Problem:
    place: Place
    reason: str
    remedy: str
    line: int | None
    at: Place


@dataclass(slots=True)
class Problems:
    """Problems found in one file, in the order in which they were found."""

    file: str
    locate: Locate = nowhere
    count: int = 0
    _kept: list[_Problem] = field(default_factory=list)

    @property
    def full(self) -> bool:
        """Whether further problems are only counted, so that nobody need think of a remedy."""
        return len(self._kept) >= SHOWN

    def add(
        self, place: Place, reason: str, remedy: str = "", *, line: int | None = None, at: Place | None = None
    ) -> None:
        """Note a problem; where its line is not given, that of `at` or else of the place is looked up in the end."""
        self.count += 1
        if not self.full:
            self._kept.append(_Problem(place, reason, remedy, line, place if at is None else at))

    def settle(self) -> None:
        """Raise what was found, if anything was."""
        if not self._kept:
            return
        unknown = [problem.at for problem in self._kept if problem.line is None]
        found = iter(self.locate(unknown) if unknown else ())
        told = [
            FormatError(
                self.file,
                problem.reason,
                line=next(found) if problem.line is None else problem.line,
                place=show(problem.place),
                remedy=problem.remedy,
            )
            for problem in self._kept
        ]
        raise told[0] if self.count == 1 else FormatErrors(told, self.count)


def show(place: Place) -> str:
    """A place as people write it: `tasks.align.needs[2]`."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{short(part)}" if text else short(part)
    return text


def short(text: str, most: int = 60) -> str:
    """Text on one line, cut where it is too long to show."""
    flat = "".join(c if c.isprintable() else "�" for c in text[: most + 1])
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def quoted(text: str) -> str:
    """Text in quotes, cut where it is too long to show."""
    return f"'{short(text)}'"


def did_you_mean(name: str, known: Iterable[str] | Mapping[str, object]) -> str:
    """Ask back with the nearest known name, or nothing where none is near."""
    near = [other for other, _ in zip(known, range(_COMPARED), strict=False)]
    matches = get_close_matches(name[:100], near, n=1, cutoff=0.6)
    return f"did you mean {quoted(matches[0])}?" if matches else ""
