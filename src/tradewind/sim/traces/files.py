"""Read and write trace files: our own CSV, and public spot, machine and power traces (see `docs/files.md`).

All times start at zero. Files that end in `.gz` are compressed.
"""

import csv
import gzip
import io
import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from heapq import heappop, heappush
from pathlib import Path
from typing import TextIO

import orjson

from tradewind.model.errors import TradewindError
from tradewind.model.units import DAY, HOUR, MINUTE, SECOND, Duration, Time, seconds
from tradewind.sim.traces.power import WHOLE
from tradewind.sim.traces.steps import Steps, steps_from

HEADING = ("server", "t_s", "free_cores")


class TraceError(TradewindError):
    """A trace that cannot be read, with the place and the reason."""


_SHOWN = 20
"""Limit on the columns, and the characters of each, shown in an error."""


def write_steps(path: Path, servers: Sequence[Steps]) -> None:
    """Write free cores as CSV: `server,t_s,free_cores`, one row per change."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(HEADING)
    for number, steps in enumerate(servers):
        for time, value in zip(steps.times, steps.values, strict=True):
            rows.writerow((number, f"{time / SECOND:g}" if time % SECOND else time // SECOND, value))
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.getvalue().encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def read_steps(path: Path, cluster: str | None = None) -> list[Steps]:
    """Read free cores ordered by time: `server,t_s,free_cores`; a column `cluster` may select among several."""
    points: dict[str, list[tuple[Time, int]]] = {}
    for line, row in _rows(path, HEADING):
        if cluster is not None and row.get("cluster") != cluster:
            continue
        at, free = _number(path, line, "t_s", row), int(_number(path, line, "free_cores", row))
        if free < 0:
            raise TraceError(f"{path}:{line}: free_cores is {free}; it must not be below zero")
        server = points.setdefault(row["server"], [])
        if server and seconds(at) < server[-1][0]:
            raise TraceError(f"{path}:{line}: server {row['server']} goes back in time")
        server.append((seconds(at), free))
    if not points:
        raise TraceError(f"{path}: contains no servers" + (f" of cluster {cluster!r}" if cluster else ""))
    return [steps_from(each) for each in points.values()]


def read_spot(path: Path, names: Iterable[str] = ()) -> dict[str, Steps]:
    """Read spot traces, one JSON object per line with `rle` and `gap_seconds`: available machines, by name."""
    wanted = frozenset(names)
    found = {}
    with _open(path) as file:
        for line, text in enumerate(file, start=1):
            try:
                record = orjson.loads(text)
                name, tick = (
                    str(record["trace"] if "trace" in record else record["name"]),
                    seconds(record["gap_seconds"]),
                )
                if wanted and name not in wanted:
                    continue
                at = 0
                points = []
                for value, ticks in record["rle"]:
                    points.append((at, int(value)))
                    at += tick * ticks
            except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
                raise TraceError(f"{path}:{line}: {error!r} does not belong to a spot trace") from None
            found[name] = steps_from(points)
    return found


def read_ticks(path: Path) -> Steps:
    """Read a published spot trace: `data` contains the number of machines available at each tick."""
    with _open(path) as file:
        text = file.read()
    try:
        record = orjson.loads(text)
        tick = seconds(record["metadata"]["gap_seconds"])
        points = [(at * tick, int(value)) for at, value in enumerate(record["data"])]
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise TraceError(f"{path}: {error!r} does not belong to a spot trace; see docs/files.md") from None
    if not points or tick <= 0 or min(value for _, value in points) < 0:
        raise TraceError(f"{path}: a spot trace needs ticks of some length and numbers of machines; see docs/files.md")
    return steps_from(points)


def read_arrivals(
    path: Path,
    bins: Path,
    servers: int,
    *,
    cores: int = 64,
    share: float = 1.0,
    at_least: Duration = 0,
    placement: str = "best-fit",
    seed: int = 0,
) -> list[Steps]:
    """Return free cores on servers that host the machines of an arrival trace, following the data's description.

    Batches are spread over their five minutes, lifetimes are uniform within their bins, cores are multiplied by three
    (at most 32), four cores are kept free if possible, and the window is played twice before it is recorded.
    """
    rng = random.Random(f"{seed}/arrivals")
    lengths = {row["dur_bin"]: (float(row["min_s"]), float(row["max_s"])) for _, row in _rows(bins, ("dur_bin",))}
    machines = list(_machines(path, lengths, share, at_least, rng))
    window = max((start for start, _, _ in machines), default=0) + 5 * MINUTE
    free = [cores] * servers
    points: list[list[tuple[Time, int]]] = [[(0, cores)] for _ in range(servers)]
    leaving: list[tuple[Time, int, int]] = []
    for turn in range(3):
        for start, length, wanted in machines:
            now = turn * window + start
            while leaving and leaving[0][0] <= now:
                end, server, size = heappop(leaving)
                free[server] += size
                _record(points, server, end - 2 * window, free[server])
            server_ = _place(free, wanted, placement, rng)
            if server_ is not None:
                free[server_] -= wanted
                heappush(leaving, (now + length, server_, wanted))
                _record(points, server_, now - 2 * window, free[server_])
    return [steps_from(each) for each in points]


def _record(points: list[list[tuple[Time, int]]], server: int, at: Time, free: int) -> None:
    if at <= 0:
        points[server] = [(0, free)]
    else:
        points[server].append((at, free))


def _machines(
    path: Path, lengths: dict[str, tuple[float, float]], share: float, at_least: Duration, rng: random.Random
) -> Iterator[tuple[Time, Duration, int]]:
    """Yield start, lifetime and cores of each selected machine, in order of time."""
    found = []
    batch, begin, is_kept = "", 0.0, True
    for line, row in _rows(path, ("t_s", "batch", "cores", "dur_bin", "still_running", "count")):
        if row["batch"] != batch:
            batch, is_kept = row["batch"], rng.random() < share
            begin = _number(path, line, "t_s", row) + rng.random() * 300
        for _ in range(int(row["count"])):
            low, high = lengths[row["dur_bin"]]
            length = max(30.0, rng.uniform(low, high))
            if row["still_running"] == "1":
                length = min(length * max(1e-9, rng.random()) ** (-1 / 0.9), 20 * DAY / SECOND)
            if is_kept and seconds(length) >= at_least:
                wanted = min(32, 3 * int(float(row["cores"])))
                found.append((seconds(begin + rng.random() * 2), seconds(length), wanted))
    yield from sorted(found)


def _place(free: Sequence[int], wanted: int, placement: str, rng: random.Random, kept: int = 4) -> int | None:
    for least in (wanted + kept, wanted):
        fitting = [server for server, room in enumerate(free) if room >= least]
        if fitting:
            return (
                rng.choice(fitting)
                if placement == "random"
                else min(fitting, key=lambda server: (free[server], server))
            )
    return None


def read_power(path: Path, column: str, tick: Duration = HOUR) -> Steps:
    """Read a column of a power series, in thousandths of its maximum; empty cells are skipped."""
    values: list[tuple[Time, float]] = []
    for number, (line, row) in enumerate(_rows(path, (column,))):
        if row[column].strip():
            values.append((number * tick, max(0.0, _number(path, line, column, row))))
    most = max((value for _, value in values), default=0.0)
    if most <= 0:
        raise TraceError(f"{path}: column {column!r} contains no power")
    return steps_from((at, round(WHOLE * value / most)) for at, value in values)


@contextmanager
def _open(path: Path) -> Iterator[TextIO]:
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}") from error


def _rows(path: Path, needed: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    with _open(path) as file:
        reader = csv.DictReader(file)
        missing = [name for name in needed if name not in (reader.fieldnames or ())]
        if missing:
            columns = ", ".join(each[:_SHOWN] for each in (reader.fieldnames or ())[:_SHOWN])
            raise TraceError(f"{path}:1: there is no column {missing[0]!r}; its columns are {columns}")
        for line, row in enumerate(reader, start=2):
            if None in row or None in row.values():
                raise TraceError(f"{path}:{line}: the row has a different number of cells than the header")
            yield line, row


def _number(path: Path, line: int, column: str, row: dict[str, str]) -> float:
    try:
        return float(row[column])
    except ValueError:
        raise TraceError(f"{path}:{line}: {column} is {row[column]!r}, not a number") from None
