"""A server whose machines are played from a trace, or take what others leave of this host."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from server_rig import Site, awaited, running, submitted

from tradewind.live.engines.harvest import LOWEST, HostLoad
from tradewind.model.errors import TradewindError
from tradewind.server.settings import Settings

WORK = """
name: demo
tasks:
  first: {run: sleep 0.3, cpus: 2, runtime: 300ms}
  long: {run: "test -e ../../marker || { touch ../../marker; sleep 20; }", cpus: 2, runtime: 1s}
  last: {run: echo done, needs: [first, long], runtime: 1s}
"""


def settings(folder: Path, machine: str, trace: str = "", **policy: Any) -> Settings:
    (folder / "machines.yaml").write_text(f"machines:\n  there: {{{machine}}}\n")
    if trace:
        (folder / "trace.csv").write_text(trace)
    server = {"folder": folder / "state", "port": 0, "durability": "relaxed", "auth": False, "grace": 1.0}
    return Settings.model_validate(
        {
            "server": server,
            "machines": {"file": folder / "machines.yaml", "outlive": False},
            "policy": {"name": "slacksched", "interval": "50ms", "parameters": {"machines": 1, **policy}},
        }
    )


def repeated(much: str, little: str) -> str:
    """Much for three seconds at a hundred times the speed, then little for a moment, and so on: whenever work comes."""
    return "".join(f"{much.format(350 * n)}\n{little.format(350 * n + 300)}\n" for n in range(40))


def tasks_of(site: Site) -> dict[str, dict[str, Any]]:
    """The tasks of a run that ended well."""
    client = site.client()
    run = submitted(client, WORK)["id"]
    assert awaited(client, run, looks=3000)["status"] == "done"
    return {task["name"]: task for task in _listed(client, f"/runs/{run}/tasks")}


def _listed(client: httpx.Client, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(path).json()["items"]
    return found


def test_what_a_trace_takes_back_runs_again(tmp_path: Path) -> None:
    machine = "cpus: 4, market: spot, trace: trace.csv, trace_speed: 100"
    with running(settings(tmp_path, machine, "t_s,machines\n" + repeated("{},1", "{},0")), None) as site:
        tasks = tasks_of(site)
        assert {name: task["failures"] for name, task in tasks.items()} == {"first": 0, "long": 0, "last": 0}
        assert tasks["long"]["attempts"] > 1


def test_what_a_shrink_ends_counts_as_preempted(tmp_path: Path) -> None:
    machine = "cpus: 4, market: harvest, minimum: {cpus: 1}, trace: trace.csv, trace_speed: 100"
    trace = "server,t_s,free_cores\n" + repeated("0,{},4", "0,{},1")
    with running(settings(tmp_path, machine, trace, kill="oldest"), None) as site:
        long = tasks_of(site)["long"]
        assert long["preempted"] == long["attempts"] - 1 > 0
        assert long["failures"] == 0


def test_what_is_harvested_of_this_host_runs_at_the_lowest_priority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a host that nobody else uses."""
    monkeypatch.setattr(HostLoad, "cores", lambda _: 0.0)
    with running(settings(tmp_path, "cpus: 1, market: harvest, limit: 1"), None) as site:
        client = site.client()
        run = submitted(client, "name: one\ntasks:\n  last: {run: nice > level, cpus: 1}\n")["id"]
        assert awaited(client, run)["status"] == "done"
        assert next((tmp_path / "state").rglob("level")).read_text().strip() == str(LOWEST)


def test_a_trace_that_is_missing_is_said_at_the_start(tmp_path: Path) -> None:
    with (
        pytest.raises(TradewindError, match=r"trace\.csv: cannot be read"),
        running(settings(tmp_path, "cpus: 4, market: spot, trace: trace.csv"), None),
    ):
        pass
