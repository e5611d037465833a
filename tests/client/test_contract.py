"""One contract for both backends: a folder's store, and a real server over HTTP."""

import subprocess
import time
from collections.abc import Iterator

import pytest
from real_server import COMMAND, served

from tradewind.client.backend import Backend, Submission
from tradewind.client.embedded import Embedded, reading
from tradewind.client.errors import ClientError
from tradewind.client.http import Http
from tradewind.client.reporting import source_of
from tradewind.live.folder import BusyError, alone_in
from tradewind.pictures.report.account import account
from tradewind.pictures.report.sources import from_store

FLOW = """
name: flow
steps:
  first: {run: "echo one; echo two"}
  each:
    for_each: [0, 1, 2]
    needs: [first]
    run: "echo item {{ item }}; test {{ item }} -ne 1 || { echo bad >&2; exit 3; }"
    retries: 1
"""


@pytest.fixture(scope="module", params=["embedded", "server"])
def done(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    """A backend that knows one run, which has failed."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "flow.yaml").write_text(FLOW)
    if request.param == "embedded":
        command = [*COMMAND, "run", "flow.yaml", "--keep-going"]
        assert subprocess.run(command, cwd=folder, check=False, stderr=subprocess.DEVNULL).returncode == 1
        with reading(folder / ".tradewind") as backend:
            yield backend
        return
    pytest.importorskip("fastapi")
    pytest.importorskip("uvicorn")
    with served(folder) as (url, token):
        http = Http(url, token)
        run = http.submit(Submission(folder / "flow.yaml", keep_going=True, key="once"))
        assert http.submit(Submission(folder / "flow.yaml", keep_going=True, key="once"))["id"] == run["id"]
        assert [each["status"] for each in http.follow(run["id"])][-1] == "failed"
        with pytest.raises(BusyError, match="--server"), alone_in(folder / ".tradewind"):
            raise AssertionError("a server does not share its folder")
        yield http
        http.close()


def test_runs_and_tasks_are_read(done: Backend) -> None:
    [run] = done.runs()
    assert (run["name"], run["status"], run["tasks"]) == ("flow", "failed", {"done": 3, "failed": 1})
    assert run.keys() >= {"id", "number", "tenant", "priority", "submitted", "ended", "deadline", "predicted", "slack"}
    assert done.run("last")["id"] == run["id"] == done.run(run["id"][:4])["id"]
    [failure] = done.run("last")["failures"]
    assert (failure["name"], failure["attempt"], failure["reason"]) == ("each[1]", 2, "exit code 3")
    assert done.runs(status="done") == []
    assert done.results("last") is None
    assert [task["name"] for task in done.tasks("last", status="failed")] == ["each[1]"]
    assert len(done.tasks("last", name="each")) == 3


def test_attempts_and_reasons_are_read(done: Backend) -> None:
    [task] = done.tasks("last", status="failed")
    attempts = done.attempts("last", task["number"])
    assert [(each["attempt"], each["outcome"]) for each in attempts] == [(1, "error"), (2, "error")]
    assert attempts[0]["machine_type"] == "this-host"
    told = done.explain("last")
    assert told["waiting"] == []
    assert [len(each["why"]) for each in told["again"]] == [2]
    alone = done.explain("last", task["number"])
    assert alone["again"][0] == told["again"][0]["why"][0]
    assert alone["cause"] == "ended"
    [first] = done.tasks("last", name="first")
    assert [each["cached"] for each in done.explain("last", first["number"])["cache"]] == [False]


def test_logs_are_read_from_any_byte_on_and_from_nowhere_else(done: Backend) -> None:
    [first] = done.tasks("last", name="first")
    names = [file["name"] for file in done.log_files("last", first["number"], 1) if file["bytes"]]
    assert names == ["out"]
    assert done.read_log("last", first["number"], 1, "out", 4) == b"two\n"
    assert done.read_log("last", first["number"], 1, "out", 8) == b""
    for name in ("../each.0.1/out", "/etc/passwd", "nothing", "../../../store.db"):
        with pytest.raises(ClientError):
            done.read_log("last", first["number"], 1, name)


def test_events_can_be_gone_on_with(done: Backend) -> None:
    events = list(done.events("last"))
    names = [event.name for event in events if event.name != "end"]
    assert {"admitted", "start", "failed", "finished"} <= set(names)
    assert names[-1] == "ended"
    assert list(done.events("last", events[5].id)) == events[6:]


def test_machines_cost_and_search(done: Backend) -> None:
    assert done.machines(status="released") or done.machines()
    assert done.cost("last")["by_machine_type"][0]["machine_type"] == "this-host"
    assert done.cost(by="machine_type")["total"] == 0
    deadline = time.monotonic() + 30
    while not done.search("each status:failed")["tasks"] and time.monotonic() < deadline:
        time.sleep(0.1)  # a server's index is a moment behind
    found = done.search("each status:failed")
    assert [task["name"] for task in found["tasks"]] == ["each[1]"]
    assert done.search("flow is:run")["counts"]["runs"] == 1


def test_what_is_not_there_is_named_with_a_remedy(done: Backend) -> None:
    with pytest.raises(ClientError, match="tradewind list"):
        done.run("nowhere")
    with pytest.raises(ClientError):
        done.attempts("last", 99)
    with pytest.raises(ClientError, match=r"ended|failed"):
        done.cancel("last")
    assert done.cancel("last", force=True)["status"] == "failed"


def test_a_report_tells_the_same_of_both(done: Backend) -> None:
    if isinstance(done, Embedded):
        source = from_store(done.store, done.detail("last"))
    else:
        assert isinstance(done, Http)
        source = source_of(done, "last")
    told = account(source)
    assert {name: (step.units, step.done, step.failed) for name, step in told.steps.items()} == {
        "first": (1, 1, 0),
        "each": (3, 2, 2),
    }
    assert told.edges[("first", "each")] == 3
    assert list(source.tails.values()) == ["item 1\nbad"] * 2 or list(source.tails.values()) == ["bad\nitem 1"] * 2
    assert told.status == "failed"
