"""Event logs in files: JSON lines, or Parquet by the file's suffix; `.gz` is compressed."""

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import orjson

from tradewind.core.log import Encoder, Record, Sink
from tradewind.core.state import State

_BATCH = 50_000


@contextmanager
def log_to(path: Path) -> Iterator[Callable[[State], Sink]]:
    """Write every record to a file, which stands complete under its name only when all went well."""
    part = path.with_name(path.name + ".part")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        if path.suffix == ".parquet":
            with _parquet(part) as sink_for:
                yield sink_for
        else:
            with _open(part, compress=path.suffix == ".gz") as file:
                yield lambda state: _json_lines(file, state)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _open(path: Path, *, compress: bool) -> BinaryIO:
    return cast("BinaryIO", gzip.open(path, "wb", compresslevel=3)) if compress else path.open("wb")


def _json_lines(file: BinaryIO, state: State) -> Sink:
    encode = Encoder(state).encode

    def sink(record: Record) -> None:
        file.write(orjson.dumps(encode(record), option=orjson.OPT_APPEND_NEWLINE))

    return sink


@contextmanager
def _parquet(path: Path) -> Iterator[Callable[[State], Sink]]:
    try:
        import pyarrow as pa  # noqa: PLC0415  # an extra
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError:
        raise ValueError("Parquet needs the package pyarrow: pip install 'tradewind[parquet]'") from None
    schema = pa.schema([(name, getattr(pa, kind)()) for name, kind in _COLUMNS.items()])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        rows: list[dict[str, Any]] = []

        def flush() -> None:
            writer.write_table(pa.Table.from_pylist(rows, schema))
            rows.clear()

        def sink_for(state: State) -> Sink:
            encode = Encoder(state).encode

            def sink(record: Record) -> None:
                rows.append(encode(record))
                if len(rows) >= _BATCH:
                    flush()

            return sink

        yield sink_for
        flush()


_COLUMNS = {
    "at": "float64",
    "event": "string",
    "seq": "int64",
    "cause": "int64",
    "tenant": "string",
    "workflow": "string",
    "run": "int64",
    "first": "int64",
    "tasks": "int64",
    "priority": "int64",
    "ideal": "float64",
    "deadline": "float64",
    "change": "int64",
    "status": "string",
    "unit": "int64",
    "task": "string",
    "attempt": "int64",
    "machine": "int64",
    "kind": "string",
    "name": "string",
    "count": "int64",
    "amount": "float64",
    "until": "float64",
    "budget": "float64",
    "asked": "int64",
    "granted": "int64",
    "what": "string",
    "reason": "string",
    "because": "string",
    "failure": "string",
    "is_open": "bool_",
    "keeps_going": "bool_",
    "is_last": "bool_",
}
