"""Traces in files."""

import gzip
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tradewind.cli import application
from tradewind.model.units import DAY, HOUR, SECOND
from tradewind.sim.traces.clusters import CLUSTERS
from tradewind.sim.traces.files import TraceError, read_arrivals, read_power, read_spot, read_steps, write_steps
from tradewind.sim.traces.servers import make_servers
from tradewind.sim.traces.statistics import figures

DATA = Path(__file__).parents[4] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data is not here")


@pytest.mark.parametrize("name", ["free.csv", "free.csv.gz"])
def test_what_is_written_is_read(tmp_path: Path, name: str) -> None:
    servers = make_servers(CLUSTERS["C2"], 5, DAY, 1)
    write_steps(tmp_path / name, servers)
    assert read_steps(tmp_path / name) == servers


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("server,t_s\n1,2\n", "no column 'free_cores'"),
        ("server,t_s,free_cores\n1,x,3\n", ":2: t_s is 'x', not a number"),
        ("server,t_s,free_cores\n1,0,-3\n", ":2: free_cores is -3"),
        ("server,t_s,free_cores\n1,5,3\n1,4,3\n", ":3: server 1 goes back in time"),
        ("server,t_s,free_cores\n1,5\n", ":2: the row has a different number of cells"),
        ("server,t_s,free_cores\n", "contains no servers"),
    ],
)
def test_a_bad_file_is_refused_with_the_place(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(text)
    with pytest.raises(TraceError, match=message):
        read_steps(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="No such file"):
        read_steps(tmp_path / "none.csv")


def test_spot_traces_are_run_length_coded(tmp_path: Path) -> None:
    file = tmp_path / "spot.jsonl.gz"
    file.write_bytes(gzip.compress(b'{"name": "a", "gap_seconds": 10, "rle": [[1, 3], [0, 2], [1, 1]]}\n'))
    steps = read_spot(file)["a"]
    assert (list(steps.times), list(steps.values)) == ([0, 30 * SECOND, 50 * SECOND], [1, 0, 1])


def test_power_is_relative_to_its_most_and_skips_gaps(tmp_path: Path) -> None:
    file = tmp_path / "power.csv"
    file.write_text("when,mw\n0,50\n1,\n2,100\n3,25\n")
    steps = read_power(file, "mw", HOUR)
    assert (list(steps.times), list(steps.values)) == ([0, 2 * HOUR, 3 * HOUR], [500, 1000, 250])


@needs_data
def test_the_shared_traces_are_read() -> None:
    spot = read_spot(DATA / "spot" / "spot_traces.jsonl.gz")
    assert len(spot) == 22
    free = read_steps(DATA / "harvest" / "harvest_free_cores.csv.gz", "H1")
    assert len(free) == 64
    assert figures(free, 0, 3 * DAY).gap == pytest.approx(31, rel=0.1)
    power = read_power(DATA / "power" / "belgium_wind_hourly_2016.csv.gz", "offshore_mw")
    assert power.mean(0, 365 * DAY) == pytest.approx(390, rel=0.03)


@needs_data
def test_arrivals_become_free_cores() -> None:
    servers = read_arrivals(
        DATA / "harvest" / "azure2017_vm_arrivals.csv.gz",
        DATA / "harvest" / "azure2017_duration_bins.csv",
        64,
        share=0.03,
        at_least=4 * HOUR,
    )
    assert len(servers) == 64
    assert all(0 <= value <= 64 for steps in servers for value in steps.values)
    assert sum(len(steps.times) for steps in servers) > 500


def test_the_command_compares_with_what_is_published(tmp_path: Path) -> None:
    runner = CliRunner()
    app = application("traces")
    shown = runner.invoke(app, ["traces", "harvest", "--stats", "-c", "C2", "--servers", "64", "--length", "4d"])
    assert shown.exit_code == 0
    assert "84%" in shown.output
    assert "2.6x" in shown.output
    file = tmp_path / "c2.csv"
    written = runner.invoke(app, ["traces", "harvest", "-c", "C2", "--servers", "3", "--length", "6h", "-o", str(file)])
    assert written.exit_code == 0
    assert len(read_steps(file)) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["spots", "--stats"], "use harvest"),
        (["harvest", "--stats", "-c", "C9"], "no cluster is named"),
        (["harvest"], "choose --stats"),
        (["harvest", "-o", "x.csv"], "single --cluster"),
    ],
)
def test_the_command_refuses_what_it_cannot_do(words: list[str], message: str) -> None:
    found = CliRunner().invoke(application("traces"), ["traces", *words])
    assert found.exit_code == 2
    assert message in found.output.replace("\n", " ")
