"""When workflows arrive: named processes that turn a seeded generator into sorted submission times.

How dense arrivals are is said in one of three ways: `every` (mean spacing), `rate` (such as 12/h; a bare number is per
second) or `utilisation` of so many `machines`, where the rate follows from the mean work of a workflow (the budget
paper, section 4.1). The patterns of the deadline paper (stable, growing, cyclic, on-off) keep that density on average.
Each of these is a Poisson process (`stable`: an even one) whose clock runs faster and slower: points are drawn at an
even rate and moved to where the pattern puts them.
"""

import csv
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from tradewind.formats.errors import did_you_mean
from tradewind.model.scenario import Arrivals
from tradewind.model.units import SECOND, Duration, Time, parse_duration

Parameters: TypeAlias = Mapping[str, Any]

DENSITY = ("every", "rate", "utilisation", "machines")


@dataclass(frozen=True, slots=True)
class Request:
    """What a process has to go by."""

    parameters: Parameters
    count: int
    mean_work: Duration
    rng: random.Random

    def duration(self, name: str) -> Duration:
        """A parameter that is a positive length of time."""
        if name not in self.parameters:
            raise ValueError(f"{name} is missing")
        length = _time(self.parameters[name], name)
        if length <= 0:
            raise ValueError(f"{name} must be more than zero")
        return length

    def number(self, name: str, default: float | None = None) -> float:
        """A parameter that is a positive number."""
        value = self.parameters.get(name, default)
        if value is None:
            raise ValueError(f"{name} is missing")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise ValueError(f"{name} must be a number above zero, not {value!r}")
        return float(value)

    def spacing(self) -> float:
        """Mean time between two arrivals, in microseconds."""
        given = [name for name in ("every", "rate", "utilisation") if name in self.parameters]
        if len(given) != 1:
            found = " and ".join(given) or "none of them"
            raise ValueError(f"give one of every, rate, or utilisation with machines, not {found}")
        if given == ["every"]:
            return self.duration("every")
        if given == ["rate"]:
            return _spacing_of(self.parameters["rate"])
        if self.mean_work <= 0:
            raise ValueError("utilisation needs workflows with declared run times")
        return self.mean_work / (self.number("utilisation") * self.number("machines"))

    def unit_points(self) -> Iterator[float]:
        """Points of a Poisson process with one arrival per unit of time."""
        at = 0.0
        for _ in range(self.count):
            at += self.rng.expovariate(1.0)
            yield at


Process: TypeAlias = Callable[[Request], Iterable[float]]


def at_once(request: Request) -> Iterable[float]:
    """All at the same time, `at` (0 unless told)."""
    return [_time(request.parameters.get("at", 0), "at")] * request.count


def stable(request: Request) -> Iterable[float]:
    """One after the other at a fixed spacing, the first at 0."""
    spacing = request.spacing()
    return (number * spacing for number in range(request.count))


def poisson(request: Request) -> Iterable[float]:
    """Independently of each other at a steady mean rate."""
    spacing = request.spacing()
    return (point * spacing for point in request.unit_points())


def growing(request: Request) -> Iterable[float]:
    """At a rate that grows steadily until it is `factor` (4 unless told) times the first."""
    factor = request.number("factor", 4.0)
    if factor <= 1:
        raise ValueError(f"factor must be more than 1, not {factor:g}")
    span = request.count * request.spacing()
    slope = factor - 1
    for point in request.unit_points():
        share = point / request.count * (1 + factor) / 2  # of what the first rate would bring in the whole span
        yield span * (math.sqrt(1 + 2 * slope * share) - 1) / slope  # solves x + slope x^2 / 2 = share


def cyclic(request: Request) -> Iterable[float]:
    """At a rate that swings around the mean by `amplitude` (0.8 of it unless told) once per `period`."""
    period = request.duration("period")
    amplitude = request.number("amplitude", 0.8)
    if amplitude > 1:
        raise ValueError(f"amplitude must be at most 1, not {amplitude:g}")
    per_period = period / request.spacing()
    swing = amplitude / (2 * math.pi)
    for point in request.unit_points():
        whole, share = divmod(point / per_period, 1.0)
        yield period * (whole + _turn(share, swing))


def on_off(request: Request) -> Iterable[float]:
    """In bursts: for a time `on` at the rate that keeps the mean, then for a time `off` not at all."""
    on, off = request.duration("on"), request.duration("off")
    within = request.spacing() * on / (on + off)
    for point in request.unit_points():
        bursts, rest = divmod(point * within, on)
        yield bursts * (on + off) + rest


def trace(request: Request) -> Iterable[float]:
    """At given `times`, or at the times in the first column of a CSV `file`; bare numbers are seconds."""
    if ("times" in request.parameters) == ("file" in request.parameters):
        raise ValueError("give either times or file")
    if "file" in request.parameters:
        times = list(_times_in(Path(str(request.parameters["file"]))))
    else:
        given = request.parameters["times"]
        if not isinstance(given, list | tuple):
            raise ValueError(f"times must be a list, not {given!r}")
        times = [_time(time, "times") for time in given]
    if len(times) < request.count:
        raise ValueError(f"the trace has {len(times)} times for {request.count} workflows")
    return sorted(times)[: request.count]


@dataclass(frozen=True, slots=True)
class Offer:
    """A process and the parameters it takes."""

    process: Process
    parameters: tuple[str, ...]


PROCESSES: Mapping[str, Offer] = MappingProxyType(
    {
        "at-once": Offer(at_once, ("at",)),
        "stable": Offer(stable, DENSITY),
        "poisson": Offer(poisson, DENSITY),
        "growing": Offer(growing, (*DENSITY, "factor")),
        "cyclic": Offer(cyclic, (*DENSITY, "period", "amplitude")),
        "on-off": Offer(on_off, (*DENSITY, "on", "off")),
        "trace": Offer(trace, ("times", "file")),
    }
)


def arrive(arrivals: Arrivals, count: int, mean_work: Duration, rng: random.Random) -> list[Time]:
    """Sorted submission times of so many workflows, whose mean work is used where a utilisation is wanted."""
    offer = PROCESSES.get(arrivals.process)
    if offer is None:
        raise ValueError(f"no arrival process is named {arrivals.process!r}; {_hint(arrivals.process, PROCESSES)}")
    for name in arrivals.parameters:
        if name not in offer.parameters:
            hint = _hint(name, offer.parameters)
            raise ValueError(f"arrivals {arrivals.process!r} take no parameter {name!r}; {hint}")
    request = Request(arrivals.parameters, count, mean_work, rng)
    try:
        return [round(time) for time in offer.process(request)]
    except ValueError as error:
        raise ValueError(f"arrivals {arrivals.process!r}: {error}") from error


def _hint(word: str, known: Iterable[str]) -> str:
    known = tuple(known)
    return did_you_mean(word, known) or f"use {', '.join(known)}"


def _time(value: object, name: str) -> Time:
    """A length of time, whatever was written there."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return parse_duration(value)
    raise ValueError(f"{name} must be a time such as 90, 90s or 1h30m, not {value!r}")


def _spacing_of(rate: str | float) -> float:
    """Microseconds between arrivals at a rate such as `12/h`, or a number per second."""
    number, _, per = str(rate).partition("/")
    try:
        value = float(number)
    except ValueError:
        raise ValueError(f"{rate!r} is not a rate such as 12/h") from None
    if not 0 < value < math.inf:
        raise ValueError(f"rate must be more than zero, not {rate!r}")
    per = per.strip()
    span = SECOND if not per else parse_duration(per if per[0].isdigit() else f"1{per}")
    if span <= 0:
        raise ValueError(f"{rate!r} is not a rate such as 12/h")
    return span / value


def _turn(share: float, swing: float) -> float:
    """Where in a period (0 to 1) that share of its arrivals has come: solves `x + swing (1 - cos 2 pi x) = share`."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        if middle + swing * (1 - math.cos(2 * math.pi * middle)) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _times_in(file: Path) -> Iterator[Time]:
    """Times in the first column; a first line without a number is a heading."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{file}: {error.strerror or error}") from error
    for line, row in enumerate(csv.reader(text.splitlines()), start=1):
        if not row or not row[0].strip():
            continue
        try:
            yield parse_duration(row[0].strip())
        except ValueError as error:
            if line > 1:
                raise ValueError(f"{file}:{line}: {error}") from error
