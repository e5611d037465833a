"""Sources of reports: the store of a folder, or the event log of a simulation in a file."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import orjson

from tradewind.live.documents import decode
from tradewind.live.store.port import RunDetail, Store
from tradewind.model.errors import TradewindError
from tradewind.model.program import Program
from tradewind.model.workflow import Workflow
from tradewind.pictures.report.account import Source
from tradewind.pictures.report.facts import Plain

_TAIL = 4096
"""Number of bytes shown from the end of a failed attempt's output."""
_MOST_TAILS = 60


class ReportError(TradewindError):
    """A report cannot be made."""


LOGS = (".jsonl", ".gz", ".parquet")
"""Suffixes of event logs."""


def from_log(path: Path, document: Workflow | Program | None = None) -> Source:
    """Return a report's source from a file of JSON lines, possibly compressed, or Parquet."""
    return Source(path.name, _rows(path) if path.suffix == ".parquet" else _lines(path), document=document)


def _rows(path: Path) -> Iterator[Plain]:
    try:
        import pyarrow.parquet as pq  # noqa: PLC0415  # an extra
    except ImportError:
        raise ReportError("Parquet needs the package pyarrow: pip install 'tradewind[parquet]'") from None
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches():
            for row in batch.to_pylist():
                yield {name: value for name, value in row.items() if value is not None or name == "deadline"}


def _lines(path: Path) -> Iterator[Plain]:
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                record = orjson.loads(line)
                known = isinstance(record, dict) and "event" in record and "at" in record
            except orjson.JSONDecodeError:
                known = False
            if not known:
                raise ReportError(f"{path}:{number}: not a record of an event log; see `simulate --events`")
            yield record


def from_store(store: Store, detail: RunDetail) -> Source:
    """Return a report's source from a store."""
    document = decode(detail.run.document)
    kinds = {unit.number: decode(unit.tasks).kind for unit in detail.units if unit.tasks is not None}
    failed = [each for each in detail.attempts if each.outcome not in ("done", "cached", "cancelled") and each.folder]
    tails = {(each.unit, each.attempt): tail(Path(each.folder)) for each in failed[-_MOST_TAILS:]}
    title = f"{detail.run.name} · {detail.run.id}"
    return Source(title, store.log(), detail.run.number, document, kinds, tails, is_real=True)


def tail(folder: Path) -> str:
    """Return the end of an attempt's output, errors last."""
    parts = []
    for name in ("out", "err"):
        for file in sorted([*folder.glob(name), *folder.glob(f"*/{name}")]):
            text = _end_of(file)
            if text.strip():
                parts.append(f"{file.relative_to(folder)}:\n{text}" if file.parent != folder else text)
    return "\n".join(part.rstrip("\n") for part in parts)


def _end_of(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            size = opened.seek(0, 2)
            opened.seek(max(0, size - _TAIL))
            text = opened.read(_TAIL).decode(errors="replace")
    except OSError:
        return ""
    return text if size <= _TAIL else text.partition("\n")[2]
