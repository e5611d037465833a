"""Machines played from a trace: they change and go when it says so, and others are left alone."""

import gzip
from pathlib import Path

import pytest
from engine_rig import Rig, shell

from tradewind.live.engines.local import LocalEngine
from tradewind.live.engines.played import PlayedEngine
from tradewind.live.port import Down, Resized, Up
from tradewind.model.errors import TradewindError
from tradewind.model.machine import MachineType, Market
from tradewind.model.requirement import amounts
from tradewind.model.units import SECOND
from tradewind.sim.traces.playing import leases_of


def spot(trace: Path | str, speed: float = 1.0) -> MachineType:
    return MachineType(
        "spot", slots=2, amounts=amounts(cpus=2), market=Market.SPOT, trace=str(trace), trace_speed=speed
    )


def harvest(trace: Path, speed: float = 1.0) -> MachineType:
    return MachineType(
        *("spare",),
        slots=8,
        amounts=amounts(cpus=8),
        market=Market.HARVEST,
        minimum=amounts(cpus=2),
        trace=str(trace),
        trace_speed=speed,
    )


def written(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def rig_of(root: Path, *types: MachineType) -> Rig:
    return Rig(lambda hear: PlayedEngine(hear, lambda inner: LocalEngine(inner, root), leases_of(types)), root)


def test_spot_machines_come_and_go_as_a_trace_says(tmp_path: Path) -> None:
    kind = spot(written(tmp_path / "spot.csv", "t_s,machines\n0,1\n200,0\n"), speed=1000)
    rig = rig_of(tmp_path, kind)
    try:
        rig.engine.acquire(1, kind)
        rig.engine.acquire(2, kind)
        while len(gone := [report for report in rig.reports if isinstance(report, Down)]) < 2:
            rig.sleep(0.01)
        assert [(report.machine, report.reason) for report in gone] == [
            (2, "the trace has no room for it"),
            (1, "the provider has taken it back"),
        ]
    finally:
        rig.close()


def test_harvest_machines_change_in_size_as_a_trace_says(tmp_path: Path) -> None:
    text = "server,t_s,free_cores\n0,0,6\n0,500,3\n0,900,20\n0,1300,1\n"
    kind = harvest(written(tmp_path / "free.csv.gz", text), speed=1000)
    rig = rig_of(tmp_path, kind)
    try:
        rig.engine.acquire(7, kind)
        while not any(isinstance(report, Down) for report in rig.reports):
            rig.sleep(0.01)
        sizes = [dict(report.amounts)["cpus"] for report in rig.reports if isinstance(report, Resized)]
        assert sizes == [6, 3, 8]
    finally:
        rig.close()


def test_what_is_given_back_leaves_its_server_to_others(tmp_path: Path) -> None:
    kind = spot(written(tmp_path / "spot.csv", "t_s,machines\n0,1\n"))
    rig = rig_of(tmp_path, kind)
    try:
        for machine in (1, 2):
            rig.engine.acquire(machine, kind)
            assert rig.expect(Up).machine == machine
            rig.engine.release(machine)
    finally:
        rig.close()


def test_other_machines_are_left_alone(tmp_path: Path) -> None:
    rig = rig_of(tmp_path, spot(written(tmp_path / "spot.csv", "t_s,machines\n0,0\n")))
    try:
        folder, _ = rig.done(rig.machine(MachineType("firm", slots=2)), shell("echo here > file"))
        assert next(folder.rglob("file")).read_text() == "here\n"
    finally:
        rig.close()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "t_s,machines\n0,3\n60,1\n"),
        ("b.csv.gz", "t_s,nodes\n0,3\n60,1\n"),
        ("c.csv", "t_s,event,node\n0,add,a\n0,add,b\n0,add,c\n60,remove,a\n60,remove,b\n"),
        ("d.jsonl", '{"name": "x", "gap_seconds": 60, "rle": [[3, 1], [1, 5]]}\n'),
        ("e.csv", "server,t_s,free_cores\n0,0,6\n0,60,2\n"),
        ("f.json", '{"metadata": {"gap_seconds": 30}, "data": [3, 3, 1, 1]}'),
        ("g.json.gz", '{"metadata": {"gap_seconds": 30, "start": 0}, "data": [3, 3, 1], "prices": [1, 1, 1]}'),
    ],
)
def test_traces_of_spot_machines_are_read(name: str, text: str, tmp_path: Path) -> None:
    kind = spot(written(tmp_path / name, text))
    provider = leases_of([kind])["spot"]
    assert [provider.lease(machine, kind, 0) for machine in range(4)] == [kind.amounts] * 3 + [None]
    assert provider.next_change(0, 0) is None
    assert provider.next_change(2, 0) == (60 * SECOND, None)


def test_one_of_several_traces_is_chosen_by_name(tmp_path: Path) -> None:
    lines = [f'{{"name": "{name}", "gap_seconds": 60, "rle": [[{count}, 1]]}}' for name, count in (("x", 0), ("y", 1))]
    file = written(tmp_path / "spot.jsonl.gz", "\n".join(lines))
    kind = spot(f"{file}#y")
    assert leases_of([kind])["spot"].lease(0, kind, 0) == kind.amounts
    with pytest.raises(TradewindError, match="no trace named 'z'"):
        leases_of([spot(f"{file}#z")])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("t_s,machines\n0,many\n", ":2: a row needs t_s and machines"),
        ("t_s,event,node\n0,explode,a\n", ":2: a row needs t_s, a number, and an event"),
        ("a,b\n1,2\n", "no trace has the columns a, b"),
        ("", "no trace has the columns"),
    ],
)
def test_what_is_no_trace_is_refused(text: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(TradewindError, match=reason):
        leases_of([spot(written(tmp_path / "trace.csv", text))])


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"data": [1]}', '{"metadata": {"gap_seconds": 0}, "data": [1]}', '{"metadata": {"gap_seconds": 9}}'],
)
def test_json_that_is_no_trace_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(TradewindError, match=r"trace\.json: .* spot trace"):
        leases_of([spot(written(tmp_path / "trace.json", text))])


def test_a_trace_without_sizes_is_not_for_harvest_machines(tmp_path: Path) -> None:
    with pytest.raises(TradewindError, match="has no machine sizes"):
        leases_of([harvest(written(tmp_path / "trace.csv", "t_s,machines\n0,3\n"))])


def test_a_trace_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TradewindError, match=r"absent\.csv: cannot be read"):
        leases_of([spot(tmp_path / "absent.csv")])
