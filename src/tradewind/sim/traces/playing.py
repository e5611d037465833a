"""Traces that drive machines, real or simulated: when each is reclaimed or resized.

Free cores on servers (`server,t_s,free_cores`) drive harvest and spot machines. The number of available machines drives
spot machines, given as `t_s,machines` (or `nodes`), as `t_s,event,node` with the events add and remove, as lines of
public spot traces, of which `FILE#NAME` selects one, or as the JSON in which these are published. The newest machine is
reclaimed first.
"""

import csv
import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path

from tradewind.model.errors import TradewindError
from tradewind.model.machine import MachineType, Market
from tradewind.model.units import Time, seconds
from tradewind.sim.traces.files import HEADING, TraceError, read_spot, read_steps, read_ticks
from tradewind.sim.traces.provider import Provider, cores_of
from tradewind.sim.traces.steps import Steps, steps_from

_COUNTS = ("machines", "nodes")
_EVENTS = {"add": 1, "remove": -1}


def leases_of(types: Sequence[MachineType], seed: int = 0) -> dict[str, Provider]:
    """Return the providers of machine types with a trace; the same seed puts machines on the same servers."""
    return {type.name: Provider(servers_of(type), "random", f"{seed}/{type.name}") for type in types if type.trace}


def servers_of(type: MachineType) -> list[Steps]:
    """Return the servers that the trace of a type describes, in the time of the trace."""
    file, _, name = type.trace.partition("#")
    path = Path(file)
    if ".jsonl" in path.suffixes:
        return [_in_cores(_chosen(path, name), type)]
    if ".json" in path.suffixes:
        return [_in_cores(read_ticks(path), type)]
    columns = _columns(path)
    if set(HEADING) <= set(columns):
        return read_steps(path, name or None)
    if type.market is Market.HARVEST:
        wanted = ", ".join(HEADING)
        raise TraceError(f"{path}: has no machine sizes, which harvest machines need; give the columns {wanted}")
    count = next((column for column in _COUNTS if column in columns), None)
    if "t_s" in columns and count is not None:
        return [_in_cores(steps_from(_points(path, count)), type)]
    if {"t_s", "event"} <= set(columns):
        return [_in_cores(steps_from(_events(path)), type)]
    raise TraceError(f"{path}:1: no trace has the columns {', '.join(columns)}; see docs/files.md")


def _in_cores(machines: Steps, type: MachineType) -> Steps:
    """Convert a number of machines to free cores of one server that hosts all of them."""
    return Steps(machines.times, [count * cores_of(type.amounts) for count in machines.values])


def _chosen(path: Path, name: str) -> Steps:
    found = read_spot(path, [name] if name else ())
    if not found:
        raise TraceError(f"{path}: contains no trace named {name!r}" if name else f"{path}: contains no traces")
    return next(iter(found.values()))


def _columns(path: Path) -> list[str]:
    return next((list(row) for _, row in _rows(path)), [])


def _points(path: Path, column: str) -> Iterator[tuple[Time, int]]:
    for line, row in _rows(path):
        try:
            yield seconds(float(row["t_s"])), int(row[column])
        except (KeyError, TypeError, ValueError):
            raise TraceError(f"{path}:{line}: a row needs t_s and {column}, both numbers") from None


def _events(path: Path) -> Iterator[tuple[Time, int]]:
    count = 0
    for line, row in _rows(path):
        try:
            count = max(0, count + _EVENTS[row["event"]])
            yield seconds(float(row["t_s"])), count
        except (KeyError, TypeError, ValueError):
            raise TraceError(f"{path}:{line}: a row needs t_s, a number, and an event, add or remove") from None


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            yield from enumerate(csv.DictReader(file), start=2)
    except (OSError, UnicodeDecodeError) as error:
        raise TradewindError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
