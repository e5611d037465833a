"""The plain protocol: a shell and curl, two servers behind a round-robin proxy, and what is refused."""

import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from round_robin import round_robin
from running import ADMIN, Service, service, wait_for, worker

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_the_shell_program_of_the_documentation_works_with_two_servers(tmp_path: Path) -> None:
    text = re.findall(r"```sh\n(.*?)```", (DOCS / "worker-protocol.md").read_text(), re.DOTALL)[0]
    program = tmp_path / "add.sh"
    program.write_text(text)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    with service(tmp_path) as first:
        second = Service(tmp_path)
        second.start()
        try:
            with round_robin(first.url, second.url) as url:
                token = first.token("a")
                body = {"iterations": 60_000, "target": 5, "reducer": "sum", "initial": 2, "maximum": 3}
                job = second.post("/jobs", body | {"command": [str(program)]})["id"]
                with worker(url, token, slots=2, most=3):
                    assert first.done(job)["delivered"] == 60_000
                assert second.get(f"/jobs/{job}/results")["result"] == sum(range(60_000))
        finally:
            second.kill()


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service(tmp_path_factory.mktemp("calm"), factor=1.0) as running:
        yield running


def call(running: Service, method: str, path: str, body: Any = None, token: str = "") -> httpx.Response:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.request(method, f"{running.url}{path}", json=body, headers=headers)


def handed(running: Service, site: str, **spec: Any) -> tuple[str, Any]:
    """The token of a new site, and a partition of a new job that it has fetched."""
    token = running.post("/site-tokens", {"site": site, "tenants": [site]})["token"]
    assert call(running, "PUT", f"/worker/v1/sites/{site}", {"slots": 1, "max_slots": 1}, token).status_code == 200
    running.post("/jobs", {"iterations": 100, "target": 60, "tenant": site} | spec)
    told = call(running, "POST", f"/worker/v1/sites/{site}/fetch", {"key": "k", "slots": 1}, token).json()
    return token, told["partitions"][0]


def test_a_token_lets_its_own_site_in_and_nobody_else(calm: Service) -> None:
    token, _ = handed(calm, "mine")
    other = calm.post("/site-tokens", {"site": "other"})["token"]
    state = {"slots": 1, "max_slots": 1}
    for wrong in ("", other, token[:-1], "tws_0_0", "x", "admin"):
        assert call(calm, "PUT", "/worker/v1/sites/mine", state, wrong).status_code == 401
    brief = calm.post("/site-tokens", {"site": "mine", "expires_in": 0.05})
    time.sleep(0.1)
    assert call(calm, "PUT", "/worker/v1/sites/mine", state, brief["token"]).status_code == 401
    again = calm.post("/site-tokens", {"site": "mine"})
    assert call(calm, "GET", "/worker/v1/site", token=again["token"]).json()["site"] == "mine"
    httpx.delete(f"{calm.url}/api/v1/site-tokens/{again['id']}", headers=ADMIN)
    assert call(calm, "GET", "/worker/v1/site", token=again["token"]).status_code == 401


def test_a_lease_is_good_for_its_own_partition(calm: Service) -> None:
    _, one = handed(calm, "first")
    _, two = handed(calm, "second")
    assert call(calm, "POST", f"{one['path']}/start", token=two["lease"]).status_code == 404
    assert call(calm, "POST", f"{one['path']}/start").status_code == 401
    assert call(calm, "POST", f"{one['path']}/start", token=one["lease"]).json()["next"] == "go"
    assert call(calm, "POST", f"{one['path']}/finish", {}, one["lease"]).status_code == 200
    assert call(calm, "POST", f"{one['path']}/finish", {}, one["lease"]).status_code == 200
    late = call(calm, "POST", f"{one['path']}/report", {"done": 1, "elapsed": 1}, one["lease"])
    assert (late.status_code, late.json()["type"]) == (409, "/problems/stale")


def test_what_does_not_fit_is_refused_and_changes_nothing(calm: Service) -> None:
    _, one = handed(calm, "strict")
    told = call(calm, "POST", f"{one['path']}/start", token=one["lease"]).json()
    (begin, end) = told["ranges"][0]
    good = {"number": 1, "ranges": [[begin, end]], "result": 1}
    for body, status in (
        ({"done": -1, "elapsed": 1}, 422),
        ({"done": 1, "elapsed": float(10**12)}, 422),
        ({"done": 10**9, "elapsed": 1}, 409),
        ({"done": 1, "elapsed": 1, "deliveries": [good | {"number": 2}]}, 409),
        ({"done": 1, "elapsed": 1, "deliveries": [good | {"ranges": [[begin, 10**6]]}]}, 409),
        ({"done": 1, "elapsed": 1, "deliveries": [good | {"ranges": [[end, begin]]}]}, 409),
        ({"done": 1, "elapsed": 1, "deliveries": [good | {"ranges": []}]}, 422),
        ({"done": 1, "elapsed": 1, "deliveries": [good | {"object": "inputs/secret"}]}, 422),
        ({"done": 1, "elapsed": 1, "deliveries": [good | {"result": "x" * 300_000}]}, 413),
        ({"done": 1, "elapsed": 1, "what": 1}, 422),
        ([], 422),
    ):
        answer = call(calm, "POST", f"{one['path']}/report", body, one["lease"])
        assert answer.status_code == status, (body, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
    assert calm.get(f"/jobs/{one['job']}")["delivered"] == 0
    first = call(calm, "POST", f"{one['path']}/report", {"done": end, "elapsed": 1, "deliveries": [good]}, one["lease"])
    again = call(calm, "POST", f"{one['path']}/report", {"done": end, "elapsed": 1, "deliveries": [good]}, one["lease"])
    assert first.json() == again.json()
    assert calm.get(f"/jobs/{one['job']}")["delivered"] == end - begin


def test_objects_are_reached_by_signed_addresses_alone(calm: Service) -> None:
    given = calm.post("/inputs")
    put = f"{calm.url}{given['url']}"
    assert httpx.put(put, content=b"data").status_code == 204
    assert httpx.put(put, content=b"data").status_code == 204
    assert httpx.put(put, content=b"other").status_code == 409
    assert httpx.get(put).status_code == 401, "signed for writing, not for reading"
    assert httpx.put(put.replace("signature=", "signature=0"), content=b"x").status_code == 401
    assert httpx.put(re.sub(r"expires=\d+", "expires=99999999999", put), content=b"x").status_code == 401
    assert httpx.put(put.replace(given["key"], "inputs/default/other"), content=b"x").status_code == 401
    token = calm.post("/site-tokens", {"site": "reader"})["token"]
    call(calm, "PUT", "/worker/v1/sites/reader", {"slots": 1, "max_slots": 1}, token)
    calm.post("/jobs", {"iterations": 100, "input": given["key"]})
    told = call(calm, "POST", "/worker/v1/sites/reader/fetch", {"key": "k", "slots": 1}, token).json()
    one = told["partitions"][0]
    assert httpx.get(f"{calm.url}{one['input']}").content == b"data"
    refused = httpx.post(f"{calm.url}/api/v1/jobs", json={"iterations": 1, "input": "inputs/eve/x"}, headers=ADMIN)
    assert refused.status_code == 404


def test_large_results_are_uploaded_and_put_together(calm: Service) -> None:
    _, one = handed(calm, "uploader", iterations=2, target=None)
    told = call(calm, "POST", f"{one['path']}/start", token=one["lease"]).json()
    assert told["ranges"] == [[0, 2]]
    deliveries = []
    for number, content in ((1, b"first,"), (2, b"second")):
        place = call(calm, "POST", f"{one['path']}/uploads", {"number": number}, one["lease"]).json()
        assert httpx.put(f"{calm.url}{place['url']}", content=content).status_code == 204
        deliveries.append({"number": number, "ranges": [[number - 1, number]], "object": place["key"]})
    body = {"done": 2, "elapsed": 1, "deliveries": deliveries}
    assert call(calm, "POST", f"{one['path']}/report", body, one["lease"]).json()["next"] == "end"
    result = calm.get(f"/jobs/{one['job']}/results")
    assert httpx.get(f"{calm.url}{result['url']}").content == b"first,second"


def test_a_site_may_report_for_all_its_slots_at_once(calm: Service) -> None:
    token, one = handed(calm, "many")
    call(calm, "POST", f"{one['path']}/start", token=one["lease"])
    mine = {"job": one["job"], "partition": one["partition"], "done": 1, "elapsed": 2}
    _, foreign = handed(calm, "foreign")
    theirs = {"job": foreign["job"], "partition": foreign["partition"], "done": 1, "elapsed": 2}
    told = call(calm, "POST", "/worker/v1/sites/many/reports", {"reports": [mine, theirs]}, token).json()["answers"]
    assert told[0]["next"] == "go"
    assert told[1]["refused"] == "unknown"


def test_a_worker_runs_what_it_is_told_and_says_why_it_cannot(tmp_path: Path) -> None:
    with service(tmp_path) as running:
        job = running.post("/jobs", {"iterations": 10, "command": ["sh", "-c", "echo oh dear >&2; exit 3"]})["id"]
        with worker(running.url, running.token("a"), slots=1, most=1):
            done = running.done(job, within=90)
        assert done["state"] == "failed"
        assert "exit code 3; oh dear" in done["message"]


def test_a_worker_that_is_stopped_hands_back_what_it_has_not_done(tmp_path: Path) -> None:
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)
    with service(tmp_path) as running:
        body = {"iterations": 30_000, "target": 30, "reducer": "sum", "initial": 1, "maximum": 1}
        job = running.post("/jobs", body)["id"]
        function = ("--function", "worker_functions:square_sum")
        with worker(running.url, running.token("a"), *function, slots=1, most=1):
            wait_for(lambda: running.get(f"/jobs/{job}")["delivered"] > 0)
        between = running.get(f"/jobs/{job}")
        assert between["assigned"] == 0
        assert between["partitions"]["lost"] == 0
        assert 0 < between["delivered"] < 30_000
        with worker(running.url, running.token("b"), *function, slots=1, most=1):
            assert running.done(job, within=90)["delivered"] == 30_000
        assert running.get(f"/jobs/{job}/results")["result"] == sum(number * number for number in range(30_000))
