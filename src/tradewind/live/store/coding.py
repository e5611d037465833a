"""How values become text and bytes: the same in every store, so that what one refuses the others refuse too.

JSON goes through orjson; what it cannot write (numbers beyond 64 bits, text that is not Unicode) goes through the
standard library, which escapes it. Infinite numbers become null, for JSON has none. It is kept as text rather than in a
database's own type, for that of PostgreSQL refuses some of it.
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, TypeAlias

import orjson

from tradewind.live.store.rows import (
    AttemptRow,
    CacheRow,
    DeliveryRow,
    MachineRow,
    RunChange,
    RunRow,
    UnitChange,
    UnitRow,
)
from tradewind.model.action import Json
from tradewind.model.units import Time

Plain: TypeAlias = Sequence[Any]
"""A row of None, int, float, str and bytes."""

Record: TypeAlias = dict[str, Any]
"""A record of the log, as `tradewind.core.log.Encoder` makes it."""


_SHORT = 2_000
"""Bytes below which records are kept as they are; what is compressed never begins with a bracket."""


def to_bytes(value: Json) -> bytes:
    """A value as JSON, whatever is in it."""
    try:
        return orjson.dumps(value, default=_mapping)
    except TypeError:
        return json.dumps(_finite(value)).encode()


def to_text(value: Json) -> str:
    """A value as JSON."""
    return to_bytes(value).decode()


def from_text(text: str) -> Json:
    """The value that some JSON stands for."""
    return _loaded(text)


def maybe_text(value: Json | None) -> str | None:
    """A value as JSON, where there is one."""
    return None if value is None else to_text(value)


def maybe_value(text: str | None) -> Json | None:
    """The value that some JSON stands for, where there is any."""
    return None if text is None else from_text(text)


def clean(text: str) -> str:
    """Text that every database takes: no zero bytes, no halves of characters."""
    if "\x00" in text:
        text = text.replace("\x00", "\N{REPLACEMENT CHARACTER}")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def pack(records: Iterable[Record]) -> bytes:
    """The records of a batch as a log row's payload; a short one is not worth compressing."""
    text = to_bytes(list(records))
    return text if len(text) < _SHORT else zlib.compress(text, 1)


def unpack(payload: bytes) -> list[Record]:
    """The records of a log row's payload."""
    records: list[Record] = _loaded(payload if payload[:1] == b"[" else zlib.decompress(payload))
    return records


def records_of(run: int, ended: Time | None, batches: Iterable[tuple[Time, bytes]]) -> Iterator[Record]:
    """The records that speak of a run or of its units, up to the first batch after its end."""
    units: set[int] = set()
    for at, payload in batches:
        for record in unpack(payload):
            if record.get("run") == run:
                if "unit" in record:
                    units.add(record["unit"])
                yield record
            elif "run" not in record and record.get("unit") in units:
                yield record
        if ended is not None and at > ended:
            return


def plain_run(row: RunRow) -> Plain:
    """A run as it is stored: the head, then parameters, generator and document."""
    return (*row[:2], clean(row.name), *row[3:9], to_text(row.parameters), maybe_text(row.generator), row.document)


def plain_run_change(row: RunChange) -> Plain:
    """A run's change as it is stored, the generator last."""
    return (*row[:5], maybe_text(row.generator))


def plain_units(rows: Iterable[UnitRow]) -> list[Plain]:
    """Units as they are stored."""
    return [
        (
            *(*row[:2], clean(row.chain), *row[3:11], maybe_text(row.results)),
            *(clean(row.message) if row.message else "", row.preempted, maybe_text(row.progress)),
        )
        for row in rows
    ]


def plain_unit_changes(rows: Iterable[UnitChange]) -> list[Plain]:
    """Units' changes as they are stored; most have neither results nor a message nor progress, and stay as they are."""
    return [
        row
        if row[9] is None and not row[10] and row[12] is None
        else (*row[:9], maybe_text(row[9]), clean(row[10]), row[11], maybe_text(row[12]))
        for row in rows
    ]


def plain_machine(row: MachineRow) -> Plain:
    """A machine as it is stored."""
    return (*row[:8], clean(row.because), maybe_text(row.size), maybe_text(row.joined))


def plain_attempt(row: AttemptRow) -> Plain:
    """An attempt as it is stored."""
    return (*row[:7], clean(row.reason), clean(row.folder), *row[9:])


def plain_delivery(row: DeliveryRow) -> Plain:
    """A delivery as it is stored."""
    return (*row[:6], to_text(row.ranges), row.checkpoint, clean(row.result))


def delivery_row(row: Plain) -> DeliveryRow:
    """A delivery as it was saved."""
    return DeliveryRow._make((*row[:6], from_text(row[6]), bool(row[7]), row[8]))


def plain_cache(row: CacheRow) -> Plain:
    """What a call gave as it is stored."""
    values = (to_text(row.parts), row.run, clean(row.call), to_text(row.results), to_text(row.files))
    return (row.tenant, row.key, clean(row.step), *values, *row[8:])


def cache_row(row: Plain) -> CacheRow:
    """What a call gave as it was saved."""
    values = (from_text(row[3]), row[4], row[5], from_text(row[6]), from_text(row[7]))
    return CacheRow._make((*row[:3], *values, *row[8:]))


def run_row(row: Plain) -> RunRow:
    """A run as it was saved."""
    return RunRow._make((*row[:9], from_text(row[9]), maybe_value(row[10]), bytes(row[11])))


def unit_row(row: Plain) -> UnitRow:
    """A unit as it was saved."""
    if row[11] is None and row[14] is None:
        return UnitRow._make(row)
    return UnitRow._make((*row[:11], maybe_value(row[11]), *row[12:14], maybe_value(row[14])))


def machine_row(row: Plain) -> MachineRow:
    """A machine as it was saved."""
    return MachineRow._make((*row[:9], maybe_value(row[9]), maybe_value(row[10])))


def values_of(rows: Iterable[Plain]) -> dict[str, Json]:
    """Named values as they were saved."""
    return {name: from_text(text) for name, text in rows}


def _loaded(text: str | bytes) -> Json:
    try:
        return orjson.loads(text)
    except ValueError:
        return json.loads(text)


def _finite(value: Json) -> Json:
    """A value without infinite numbers and the like, which become null as they do in orjson."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if value is None or isinstance(value, str | int):
        return value
    return {key: _finite(item) for key, item in _mapping(value).items()}


def _mapping(value: object) -> Json:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")
