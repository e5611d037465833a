"""Divisible jobs on the whole server, with real workers: from submission to results, and whom it turns away."""

import json
import random
import re
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx
import pytest
from full_server import FullServer, squares, started
from running import wait_for, worker

JOB = {"iterations": 4_000, "target": 20, "reducer": "sum", "initial": 2, "maximum": 2}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FullServer]:
    made = FullServer(tmp_path_factory.mktemp("full"))
    with started(made):
        yield made


@pytest.fixture(scope="module")
def ada(server: FullServer) -> str:
    return server.tenant("ada")


@pytest.fixture(scope="module")
def bob(server: FullServer) -> str:
    return server.tenant("bob")


def call(server: FullServer, method: str, path: str, body: Any = None, token: str = "") -> httpx.Response:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.request(method, f"{server.url}{path}", json=body, headers=headers, timeout=20)


def handed(server: FullServer, owner: str, site: str) -> tuple[str, Any]:
    """The token of a new site of a tenant, and a partition of a new job that it has fetched."""
    token = server.site_token(site, owner).read_text()
    assert call(server, "PUT", f"/worker/v1/sites/{site}", {"slots": 1, "max_slots": 1}, token).status_code == 200
    server.ask("POST", "/jobs", {"iterations": 1_000, "target": 600}, owner)
    told = call(server, "POST", f"/worker/v1/sites/{site}/fetch", {"key": "k", "slots": 1}, token)
    return token, told.json()["partitions"][0]


def test_a_job_of_a_tenant_from_submission_to_its_result(server: FullServer, ada: str, bob: str) -> None:
    job = server.ask("POST", "/jobs", JOB | {"command": server.command}, ada)["id"]
    theirs = server.ask("POST", "/jobs", JOB | {"command": server.command}, bob)["id"]
    with worker(server.url, server.site_token("of-ada", ada)):
        wait_for(lambda: server.ask("GET", f"/jobs/{job}", token=ada)["state"] == "done", within=90)
        assert server.ask("GET", f"/jobs/{theirs}")["delivered"] == 0, "a tenant's site serves that tenant alone"
    shown = server.ask("GET", f"/jobs/{job}", token=ada)
    assert (shown["delivered"], shown["assigned"], shown["unassigned"]) == (4_000, 0, 0)
    told = server.ask("GET", f"/jobs/{job}/results", token=ada)
    assert told["result"] == squares(4_000)
    assert httpx.get(f"{server.url}{told['url']}").json() == squares(4_000)
    for method, path in (
        ("GET", f"/jobs/{job}"),
        ("GET", f"/jobs/{job}/partitions"),
        ("GET", f"/jobs/{job}/results"),
        ("POST", f"/jobs/{job}/cancel"),
    ):
        assert call(server, method, f"/api/v1{path}", token=bob).status_code == 404
    assert [each["id"] for each in server.ask("GET", "/jobs", token=bob)["items"]] == [theirs]
    assert server.ask("POST", f"/jobs/{theirs}/cancel", token=bob)["state"] == "cancelled"


def test_tokens_open_their_own_doors_and_no_others(server: FullServer, ada: str, bob: str) -> None:
    token, one = handed(server, ada, "doors")
    other, two = handed(server, bob, "others")
    state = {"slots": 1, "max_slots": 1}
    for wrong in ("", ada, server.token, other, token[:-1], one["lease"], "tws_x_y", "x" * 5_000):
        assert call(server, "PUT", "/worker/v1/sites/doors", state, wrong).status_code == 401
        fetch = call(server, "POST", "/worker/v1/sites/doors/fetch", {"key": "z", "slots": 1}, wrong)
        assert fetch.status_code == 401
    for right in (token, one["lease"]):
        assert call(server, "GET", "/api/v1/jobs", token=right).status_code == 401
    for wrong in (two["lease"], token, ada, server.token):
        for verb, body in (("start", None), ("report", {"done": 0, "elapsed": 0}), ("finish", {}), ("uploads", {})):
            found = call(server, "POST", f"{one['path']}/{verb}", body or {"number": 1}, wrong)
            assert found.status_code in (404, 422), (verb, found.text)
    assert call(server, "POST", f"{one['path']}/report", {"done": 0, "elapsed": 0}).status_code == 401
    brief = server.ask("POST", "/site-tokens", {"site": "doors", "expires_in": 0.05}, ada)
    time.sleep(0.1)
    assert call(server, "PUT", "/worker/v1/sites/doors", state, brief["token"]).status_code == 401
    taken = call(server, "POST", "/api/v1/site-tokens", {"site": "doors"}, bob)
    assert taken.status_code == 409, "nobody makes a token for the site of somebody else"
    wide = call(server, "POST", "/api/v1/site-tokens", {"site": "wide", "tenants": ["ada"]}, bob)
    assert wide.status_code == 403


def test_signed_addresses_cannot_be_forged_nor_used_for_something_else(server: FullServer, ada: str, bob: str) -> None:
    given = server.ask("POST", "/inputs", token=ada)
    put = f"{server.url}{given['url']}"
    assert httpx.put(put, content=b"data").status_code == 204
    assert httpx.put(put, content=b"evil").status_code == 409, "what was written stays"
    for forged in (
        put.replace("signature=", "signature=0"),
        re.sub(r"signature=\w+", "signature=", put),
        re.sub(r"signature=\w+", "signature=%ff%00", put),
        re.sub(r"expires=\d+", "expires=99999999999", put),
        put.replace(given["key"], "inputs/bob/x"),
        put.replace(given["key"], "../../tradewind.toml"),
    ):
        for method in ("GET", "PUT"):
            assert httpx.request(method, forged, content=b"x").status_code in (401, 404, 422)
    assert httpx.get(put).status_code == 401
    assert call(server, "POST", "/api/v1/jobs", {"iterations": 1, "input": given["key"]}, bob).status_code == 404
    _, one = handed(server, ada, "uploader")
    call(server, "POST", f"{one['path']}/start", token=one["lease"])
    place = call(server, "POST", f"{one['path']}/uploads", {"number": 1}, one["lease"]).json()
    delivery = {"number": 1, "ranges": [[0, 1]], "object": place["key"]}
    body = {"done": 1, "elapsed": 1, "deliveries": [delivery]}
    early = call(server, "POST", f"{one['path']}/report", body, one["lease"])
    assert (early.status_code, "has not been uploaded" in early.json()["detail"]) == (409, True)
    assert httpx.put(f"{server.url}{place['url']}", content=b"1").status_code == 204
    assert call(server, "POST", f"{one['path']}/report", body, one["lease"]).status_code == 200
    assert httpx.put(f"{server.url}{place['url']}", content=b"2").status_code == 409


def garbage(chance: random.Random) -> bytes:
    """Something that a broken or an evil worker could send."""
    value: Any = {"done": 1, "elapsed": 1.0, "deliveries": [{"number": 1, "ranges": [[0, 1]], "result": 1}]}
    for _ in range(chance.randrange(1, 4)):
        name = chance.choice(("done", "elapsed", "deliveries", "slots", "max_slots", "key", "number", "failure", "x"))
        value[name] = chance.choice(
            (-1, 10**30, 1e300, None, True, "\x00", "é" * 3_000, [], [[]], {}, [[0, -1]], "1", "\ud800", {"a": {}})
        )
    text = json.dumps(value)
    kind = chance.randrange(6)
    if kind == 0:
        return text.encode()[: chance.randrange(len(text))]
    if kind == 1:
        return chance.randbytes(chance.randrange(100))
    if kind == 2:
        return text.replace("1", chance.choice(("NaN", "-Infinity", "1e999", "[" * 5_000)), 1).encode()
    if kind == 3:
        return b'{"done":1,"elapsed":1,"deliveries":[{"number":1,"ranges":[[0,1]],"result":' + b"[" * 500 + b"]" * 500
    return text.encode()


def test_whatever_a_worker_sends_is_answered_in_order(server: FullServer, ada: str) -> None:
    chance = random.Random(3)
    token, one = handed(server, ada, "odd")
    call(server, "POST", f"{one['path']}/start", token=one["lease"])
    places = [(f"{one['path']}/{verb}", one["lease"]) for verb in ("start", "report", "report", "uploads")]
    places += [("/worker/v1/sites/odd/fetch", token), ("/worker/v1/sites/odd/reports", token)]
    with httpx.Client(base_url=server.url, timeout=20) as client:
        for _ in range(300):
            path, secret = chance.choice(places)
            kind = chance.choice(("application/json", "text/plain", "", "application/json; charset=utf-16"))
            headers = {"Authorization": f"Bearer {secret}", "Content-Type": kind}
            answer = client.post(path, content=garbage(chance), headers=headers)
            assert answer.status_code < 500, answer.text
            if answer.status_code >= 400:
                assert answer.headers["content-type"] == "application/problem+json"
    assert call(server, "GET", "/worker/v1/site", token=token).json()["site"] == "odd"


@pytest.mark.parametrize("verb", ["report", "uploads"])
def test_nobody_fills_the_memory(server: FullServer, ada: str, verb: str) -> None:
    _, one = handed(server, ada, f"big-{verb}")
    told = HTTPConnection(server.url.removeprefix("http://"), timeout=20)
    told.putrequest("POST", f"{one['path']}/{verb}")
    for name, value in (("Authorization", f"Bearer {one['lease']}"), ("Content-Length", str(10**12))):
        told.putheader(name, value)
    told.endheaders()
    assert told.getresponse().status == 413
    told.close()
    endless = (b" " * (1 << 20) for _ in range(30))
    sent = {"Authorization": f"Bearer {one['lease']}", "Content-Type": "application/json"}
    try:
        answer = httpx.post(f"{server.url}{one['path']}/{verb}", content=endless, headers=sent, timeout=20)
    except httpx.TransportError:
        return  # cut off in the middle
    assert answer.status_code == 413


def test_a_folder_of_objects_elsewhere_is_a_setting(tmp_path: Path) -> None:
    made = FullServer(tmp_path / "server", settings=f'[divisible]\nobjects = "{tmp_path / "elsewhere"}"\n')
    with started(made):
        given = made.ask("POST", "/inputs")
        assert httpx.put(f"{made.url}{given['url']}", content=b"data").status_code == 204
    assert [file.read_bytes() for file in (tmp_path / "elsewhere").rglob("*") if file.is_file()] == [b"data"]
