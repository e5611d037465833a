"""`tradewind run` on machines that are played from a trace: evictions and shrinks on a laptop."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from tradewind.api.place import Place
from tradewind.cli.running import carry_out
from tradewind.cli.wish import Wish
from tradewind.client.embedded import Embedded
from tradewind.model.errors import TradewindError

WORK = """
name: demo
tasks:
  first: {run: sleep 0.3, cpus: 2, runtime: 300ms}
  long: {run: "test -e ../../marker || { touch ../../marker; sleep 20; }", cpus: 2, runtime: 1s}
  last: {run: echo done, needs: [first, long], runtime: 1s}
"""


def run(folder: Path, machines: str, trace: str, policy: Sequence[str] = (), budget: str | None = None) -> list[Any]:
    """The records of a run that ended well; with a budget, nothing needs to be taken back for it to end."""
    (folder / "work.yaml").write_text(WORK if budget is None else WORK.replace("sleep 20", "sleep 3"))
    (folder / "machines.yaml").write_text(f"machines:\n  there: {{{machines}}}\n")
    (folder / "trace.csv").write_text(trace)
    wish = Wish(
        *(folder / "work.yaml",),
        machines=folder / "machines.yaml",
        policy="slacksched",
        policy_parameters=("machines=1", *policy),
        folder=folder / "runs",
        events=folder / "events.jsonl",
        budget=budget,
        interval="1s",
    )
    assert carry_out(wish) == 0
    return [orjson.loads(line) for line in (folder / "events.jsonl").read_bytes().splitlines()]


def counts(records: Sequence[Any]) -> Counter[str]:
    return Counter(record["event"] for record in records)


def test_what_a_trace_takes_back_runs_again(tmp_path: Path) -> None:
    machines = "cpus: 4, market: spot, trace: trace.csv, trace_speed: 100"
    found = counts(run(tmp_path, machines, "t_s,machines\n0,1\n300,0\n330,1\n"))
    assert found["machine-lost"] == 1
    assert found["start"] == 4
    assert found["finished"] == 3


def test_what_a_shrink_ends_runs_again_and_counts_as_preempted(tmp_path: Path) -> None:
    machines = "cpus: 4, market: harvest, minimum: {cpus: 1}, trace: trace.csv, trace_speed: 100"
    records = run(tmp_path, machines, "server,t_s,free_cores\n0,0,4\n0,300,1\n0,350,4\n", ["kill=oldest"])
    assert next(record["amounts"] for record in records if record["event"] == "machine-resized") == {"cpus": 1}
    backend = Embedded(tmp_path / "runs")
    (head,) = backend.runs()
    tasks = {task["name"]: task for task in backend.tasks(head["id"])}
    assert (tasks["long"]["preempted"], tasks["long"]["failures"], tasks["long"]["attempts"]) == (1, 0, 2)
    assert [each["outcome"] for each in backend.attempts(head["id"], tasks["long"]["number"])] == ["preempted", "done"]


def test_a_budget_holds_for_machines_that_are_played(tmp_path: Path) -> None:
    machines = "cpus: 4, market: spot, trace: trace.csv, trace_speed: 100, price: 1, billing: 1s"
    policy = ["machines=3"]
    records = run(tmp_path, machines, "t_s,machines\n0,4\n150,1\n", policy, budget="2")
    assert counts(records)["cut"] > 0
    charges = sorted(record["at"] for record in records if record["event"] == "charged")
    assert all(sum(at - 1 < other <= at for other in charges) <= 2 for at in charges)


def test_workflows_of_python_run_on_such_machines_too(tmp_path: Path) -> None:
    (tmp_path / "machines.yaml").write_text("machines: {there: {cpus: 2, market: spot, trace: trace.csv}, here: {}}")
    (tmp_path / "trace.csv").write_text("t_s,machines\n0,1\n")
    assert list(Place(folder=tmp_path, machines=tmp_path / "machines.yaml").settings().leases) == ["there"]


def test_a_trace_that_is_missing_is_said_before_anything_begins(tmp_path: Path) -> None:
    (tmp_path / "machines.yaml").write_text("machines: {there: {cpus: 2, market: spot, trace: absent.csv}}")
    (tmp_path / "work.yaml").write_text(WORK)
    with pytest.raises(TradewindError, match=r"absent\.csv: cannot be read"):
        carry_out(Wish(tmp_path / "work.yaml", machines=tmp_path / "machines.yaml", folder=tmp_path / "runs"))
