"""Event logs in files."""

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from worlds import minutely, task, workflow

from tradewind.core.log import Encoder, Record, Sink
from tradewind.core.state import State
from tradewind.core.work import declared_time
from tradewind.model.command import Cut, Start
from tradewind.model.event import Cancelled, Extended, Failed, Finished, MachineLost, Reprioritised, TenantChanged
from tradewind.model.scenario import Faults, Scenario, Submission
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, SECOND, UNIT
from tradewind.sim import logfile
from tradewind.sim.logfile import log_to
from tradewind.sim.simulate import simulate

WORK = [Submission(0, workflow(*[task(f"t{i}", 20 + i) for i in range(6)], deadline=MINUTE))]
SCENARIO = Scenario((), (minutely("small"), minutely("large", 5)), (Tenant("default", 7 * UNIT),), "pfa", {}, seed=4)


def logged(path: Path, scenario: Scenario = SCENARIO) -> list[dict[str, Any]]:
    """What a simulation logs to a file, and, as plain values, to memory."""
    plain: list[dict[str, Any]] = []

    def remember(state: State) -> Sink:
        encoder = Encoder(state)
        return lambda record: plain.append(encoder.encode(record))

    with log_to(path) as sink_for:
        simulate(scenario, WORK, [sink_for, remember])
    return plain


def test_json_lines_hold_every_record(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "log.jsonl"
    plain = logged(path)
    assert len(plain) > 20
    assert [orjson.loads(line) for line in path.read_bytes().splitlines()] == plain
    assert [child.name for child in path.parent.iterdir()] == ["log.jsonl"]


def test_gz_is_compressed(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl.gz"
    plain = logged(path)
    assert [orjson.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()] == plain


def parquet_rows(path: Path) -> list[dict[str, Any]]:
    pq = pytest.importorskip("pyarrow.parquet")
    return [
        {name: value for name, value in row.items() if value is not None} for row in pq.read_table(path).to_pylist()
    ]


def some(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without what is not there."""
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def test_parquet_holds_every_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logfile, "_BATCH", 7)
    path = tmp_path / "log.parquet"
    plain = logged(path)
    rows = parquet_rows(path)
    assert len(rows) == len(plain)
    assert rows == some(plain)


def test_parquet_takes_every_kind_of_record(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "log.parquet"
    records: list[Record] = [
        Finished(SECOND, 1, 0, 1, 0),
        Failed(SECOND, 2, 0, 1, 0, "broke"),
        MachineLost(SECOND, 3, 0, "gone"),
        Extended(SECOND, 4, 0, (task("x"),), True),
        Reprioritised(SECOND, 5, 0, 3),
        Cancelled(SECOND, 6, 0),
        TenantChanged(SECOND, 7, Tenant("default")),
        Start(SECOND, 8, 0, 1, 0),
        Cut(SECOND, 8, 0, 0, 3, 1, "budget"),
    ]
    state = State(SCENARIO.machines, SCENARIO.tenants, MINUTE, 0, declared_time)
    with log_to(path) as sink_for:
        sink = sink_for(state)
        for record in records:
            sink(record)
    assert [row["event"] for row in parquet_rows(path)] == [
        "finished",
        "failed",
        "machine-lost",
        "extended",
        "reprioritised",
        "cancelled",
        "tenant-changed",
        "start",
        "cut",
    ]


@pytest.mark.parametrize("name", ["log.jsonl", "log.jsonl.gz", "log.parquet"])
def test_a_log_with_failures_can_be_written(tmp_path: Path, name: str) -> None:
    scenario = Scenario((), SCENARIO.machines, SCENARIO.tenants, "pfa", {}, seed=4, faults=Faults(0.9, 9.0, 0.3))
    plain = logged(tmp_path / name, scenario)
    assert any(row["event"] == "failed" for row in plain)


class BrokenError(Exception):
    pass


@pytest.mark.parametrize("name", ["log.jsonl", "log.jsonl.gz", "log.parquet"])
def test_nothing_is_left_of_a_log_that_was_broken_off(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("what was there before")

    def write() -> None:
        with log_to(path) as sink_for:
            simulate(SCENARIO, WORK, [sink_for])
            raise BrokenError

    with pytest.raises(BrokenError):
        write()
    assert [child.name for child in tmp_path.iterdir()] == [name]
    assert path.read_text() == "what was there before"


def test_parquet_says_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(Exception, match=r"pip install 'tradewind\[parquet\]'"), log_to(tmp_path / "x.parquet"):
        pass
    assert not list(tmp_path.iterdir())
