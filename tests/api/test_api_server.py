"""Workflows in Python that are handed to a server, whose workers know nothing of their modules."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from api_tasks import OddError, Point, across, fail, folder, large, point, square, sum_of_squares
from held_port import held_port

from tradewind import Workflow, workflow
from tradewind.api import RemoteTraceback
from tradewind.api.values import INLINE, TooLargeError


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("server")
    port = held_port()
    (folder / "machines.yaml").write_text("machines: {here: {slots: 4, cpus: 4, memory: 1GB, limit: 1}}")
    words = ["server", "--port", str(port), "--no-auth", "--folder", str(folder / "kept")]
    process = subprocess.Popen(
        [sys.executable, "-m", "tradewind", *words, "--machines", "machines.yaml"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": ""},
        stderr=subprocess.PIPE,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                if httpx.get(f"{url}/readyz").status_code == 200:
                    break
            except httpx.HTTPError:
                pass
            assert process.poll() is None, process.stderr and process.stderr.read()
            time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.communicate(timeout=30)


def there(flow: Workflow[Any, Any], server: str) -> Workflow[Any, Any]:
    return flow.using(server=server)


def test_a_workflow_that_uses_a_server_runs_there(server: str) -> None:
    @workflow
    def where() -> Any:
        return folder()

    for found in (there(where, server).run(), there(where, server).start().result()):
        assert "/kept/runs/" in found  # the server's folder


def test_values_come_back_from_a_server(server: str) -> None:
    @workflow
    def kinds(n: int) -> Any:
        points = point.map(range(n), y=2)
        return {"points": points, "across": across(points), "large": large(INLINE + 1), "sum": sum_of_squares(n)}

    found = there(kinds, server).submit(3).result(timeout=60)
    assert found["points"] == [Point(0, 2), Point(1, 2), Point(2, 2)]
    assert (found["across"], found["sum"]) == (6, 10)
    assert found["large"] == b"x" * (INLINE + 1)
    (latest,) = httpx.get(f"{server}/api/v1/runs", params={"limit": 1}).json()["items"]
    tasks = httpx.get(f"{server}/api/v1/runs/{latest['id']}/tasks").json()["items"]
    explained = httpx.get(f"{server}/api/v1/runs/{latest['id']}/tasks/{tasks[0]['number']}/explain").json()
    assert [each["cached"] for each in explained["cache"]] == [False]


def test_what_a_task_raises_there_is_raised_here(server: str) -> None:
    with pytest.raises(OddError, match="9 is odd") as raised:
        there(workflow(lambda: fail(square(3)), name="odd"), server).submit().result(timeout=60)
    assert isinstance(raised.value.__cause__, RemoteTraceback)
    assert "raise OddError" in str(raised.value.__cause__)


def test_a_run_there_can_be_cancelled(server: str) -> None:
    from tradewind import RunError, task  # noqa: PLC0415

    run = there(workflow(lambda: task(time.sleep)(60), name="slow"), server).submit()
    run.cancel()
    with pytest.raises(RunError, match="has cancelled"):
        run.result(timeout=60)


def test_arguments_that_are_too_large_are_refused_before_anything_is_sent(tmp_path: Path) -> None:
    data = b"x" * (INLINE + 1)
    with pytest.raises(TooLargeError, match="put it where its tasks can read it"):
        workflow(lambda: square(data), name="big").using(server="http://127.0.0.1:1").submit()  # type: ignore[arg-type]
