"""Errors in files: the place, the reason, and how to fix it.

A reader adds every problem it finds to `Problems` and raises them together at the end, so that a user sees all of them
in one go instead of one per attempt.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TypeAlias

from tradewind.model.errors import TradewindError

Place: TypeAlias = tuple[str | int, ...]
"""Keys and positions that lead from the top of a document to a value."""

Locate: TypeAlias = Callable[[Sequence[Place]], Sequence[int | None]]
"""Finds the line of each place; called only if there is a problem, because it is slow in large files."""

SHOWN = 20
"""Maximum number of problems shown; the rest are counted."""

_COMPARED = 2_000
"""Maximum number of names compared with a misspelt one; each comparison costs about 10 µs."""


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


class FormatErrors(FormatError):  # noqa: N818  it stands for several errors
    """Several problems of one file; acts as the first of them where a single error is expected."""

    def __init__(self, problems: Sequence[FormatError], count: int) -> None:
        first = problems[0]
        super().__init__(first.file, first.reason, line=first.line, place=first.place, remedy=first.remedy)
        self.problems = tuple(problems)
        """The first problems, at most `SHOWN`."""
        self.count = count
        """The total number of problems."""

    def __str__(self) -> str:
        told = [str(problem) for problem in self.problems]
        if self.count > len(told):
            told.append(f"and {self.count - len(told)} more")
        return "\n".join(told)


def nowhere(places: Sequence[Place]) -> list[int | None]:
    """Locate nothing, for data that did not come from a file."""
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
    """The problems found in one file, in order."""

    file: str
    locate: Locate = nowhere
    count: int = 0
    _kept: list[_Problem] = field(default_factory=list)

    @property
    def full(self) -> bool:
        """Return whether further problems are only counted, so that computing a fix for them is pointless."""
        return len(self._kept) >= SHOWN

    def add(
        self, place: Place, reason: str, remedy: str = "", *, line: int | None = None, at: Place | None = None
    ) -> None:
        """Add a problem; if no line is given, the line of `at` or of the place is looked up at the end."""
        self.count += 1
        if not self.full:
            self._kept.append(_Problem(place, reason, remedy, line, place if at is None else at))

    def settle(self) -> None:
        """Raise the problems found, if any."""
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
    """Format a place: `tasks.align.needs[2]`."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{short(part)}" if text else short(part)
    return text


def short(text: str, most: int = 60) -> str:
    """Return text on one line, truncated if it is too long."""
    flat = "".join(c if c.isprintable() else "�" for c in text[: most + 1])
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def quoted(text: str) -> str:
    """Return text in quotes, truncated if it is too long."""
    return f"'{short(text)}'"


def did_you_mean(name: str, known: Iterable[str] | Mapping[str, object]) -> str:
    """Suggest the nearest known name; return nothing if none is close."""
    near = [other for other, _ in zip(known, range(_COMPARED), strict=False)]
    matches = get_close_matches(name[:100], near, n=1, cutoff=0.6)
    return f"did you mean {quoted(matches[0])}?" if matches else ""
