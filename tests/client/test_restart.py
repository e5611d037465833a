"""A server that is killed under its clients: nothing that was answered is lost, no event is skipped or told twice."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_server import RealServer

from tradewind.client.backend import Event, Submission
from tradewind.client.http import Http

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

FLOW = "name: slow\nsteps: {each: {for_each: '{{ range(60) }}', run: 'echo {{ item }}; sleep 0.1'}}\n"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RealServer]:
    server = RealServer(tmp_path)
    server.start()
    yield server
    server.kill()


def test_streams_go_on_over_a_crash_and_submissions_are_kept(server: RealServer, tmp_path: Path) -> None:
    (tmp_path / "slow.yaml").write_text(FLOW)
    http = Http(server.url, server.token, patience=120)
    run = http.submit(Submission(tmp_path / "slow.yaml", key="once"))["id"]
    heard: list[Event] = []

    def listen() -> None:
        listener = Http(server.url, server.token, patience=120)
        heard.extend(listener.events(run))
        listener.close()

    listener = threading.Thread(target=listen)
    listener.start()
    deadline = time.monotonic() + 60
    while http.run(run)["tasks"].get("done", 0) < 10:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    server.kill()
    handed: list[str] = []
    again = threading.Thread(
        target=lambda: handed.append(http.submit(Submission(tmp_path / "slow.yaml", key="once"))["id"])
    )
    again.start()  # while nobody is there
    server.start()
    again.join(60)
    listener.join(90)
    assert not listener.is_alive()
    assert handed == [run]
    assert [each["id"] for each in http.runs()] == [run]
    assert http.run(run)["status"] == "done"
    told = list(http.events(run))
    assert heard == told
    assert told.pop().name == "end"
    assert len({event.id for event in told}) == len(told)
    assert sum(event.name == "finished" for event in told) == 60
    http.close()
