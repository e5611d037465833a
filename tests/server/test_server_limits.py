"""What is too large, too often or malformed is refused, and leaves the server as it was."""

import gzip
import random
import socket
from collections.abc import Iterator

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from server_rig import HELLO, Site, awaited, running, settings_for, submitted

from tradewind.server.auth import Role
from tradewind.server.buckets import Buckets


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("small")
    limits = {"largest_submission": 10_000, "largest_request": 1_000, "rate": 2, "burst": 40, "failed_rate": 1}
    with running(settings_for(folder, **limits)) as site:
        yield site


def spoken(site: Site, *parts: bytes) -> bytes:
    """What the server says to raw bytes."""
    host, _, port = site.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        try:
            for part in parts:
                connection.sendall(part)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        found = b""
        while True:
            try:
                more = connection.recv(65536)
            except OSError:
                break
            if not more:
                break
            found += more
        return found


def test_large_bodies_are_refused_before_they_are_read(small: Site) -> None:
    answer = small.client().post("/runs", content=b"x" * 10_001)
    assert (answer.status_code, answer.headers["content-type"]) == (413, "application/problem+json")
    head = f"POST /api/v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {small.token}\r\n".encode()
    said = spoken(small, head + b"Content-Length: 99999999999\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 413")


def test_large_bodies_of_unknown_length_are_refused_while_they_come(small: Site) -> None:
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        while sent < 50_000_000:
            sent += 1000
            yield b"x" * 1000

    try:
        answer = small.client().post("/runs", content=endless())
    except httpx.HTTPError:
        pass  # the server has hung up while we were sending
    else:
        assert answer.status_code == 413
    assert sent < 50_000_000
    assert small.client().put("/tenants/x", content=b" " * 1001).status_code == 413


def test_long_addresses_are_refused(small: Site) -> None:
    answer = small.client().get("/runs", params={"name": "x" * 9000})
    assert answer.status_code == 422


def test_who_comes_too_often_waits(small: Site) -> None:
    client = small.client()
    answers = [client.get("/whoami") for _ in range(80)]
    refused = [answer for answer in answers if answer.status_code == 429]
    assert refused
    assert int(refused[0].headers["retry-after"]) >= 1
    assert {answer.status_code for answer in answers} == {200, 429}


def test_who_guesses_tokens_is_slowed_down(small: Site) -> None:
    known = small.client(small.token_for(Role.VIEWER))
    assert known.get("/whoami").status_code == 200
    with httpx.Client(base_url=small.url) as client:
        statuses = [
            client.get("/api/v1/runs", headers={"Authorization": "Bearer tw_x_y"}).status_code for _ in range(30)
        ]
        assert set(statuses) == {401, 429}
        assert statuses[0] == 401
        assert known.get("/whoami").status_code == 200  # from the same address


def test_headers_cannot_be_smuggled_in(site: Site) -> None:
    client = site.client()
    bad = client.post("/runs", content=HELLO, headers={"Idempotency-Key": "a b\tc"})
    assert bad.status_code == 422
    answer = client.get("/runs", params={"name": "x\r\nSet-Cookie: a=b"})
    assert answer.status_code == 422
    assert "set-cookie" not in answer.headers
    said = spoken(
        site,
        b"GET /api/v1/runs/x%0d%0aSet-Cookie:%20a=b HTTP/1.1\r\nHost: x\r\n",
        f"Authorization: Bearer {site.token}\r\nConnection: close\r\n\r\n".encode(),
    )
    assert b"\r\nSet-Cookie" not in said
    assert said.startswith(b"HTTP/1.1 422")


def test_raw_nonsense_leaves_the_server_healthy(site: Site) -> None:
    chance = random.Random(4)
    runs = len(site.client().get("/runs").json()["items"])
    good = (
        f"POST /api/v1/runs?name=x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {site.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: 20\r\n\r\n" + '{"workflow": {"a":1}}'
    ).encode()
    for _ in range(150):
        text = bytearray(good)
        for _ in range(chance.randrange(1, 12)):
            at = chance.randrange(len(text))
            match chance.randrange(3):
                case 0:
                    text[at] = chance.randrange(256)
                case 1:
                    del text[at : at + chance.randrange(1, 10)]
                case _:
                    text[at:at] = chance.randbytes(chance.randrange(1, 10))
        said = spoken(site, bytes(text))
        assert b"HTTP/1.1 500" not in said, bytes(text)
    client = site.client()
    assert len(client.get("/runs").json()["items"]) == runs
    assert awaited(client, submitted(client)["id"])["status"] == "done"
    assert client.get(f"{site.url}/readyz").json() == {"status": "ready"}


@given(st.lists(st.floats(0, 2), max_size=60), st.integers(1, 10), st.integers(1, 20))
def test_a_bucket_lets_in_no_more_than_its_burst_and_rate(pauses: list[float], rate: int, burst: int) -> None:
    now = 0.0
    buckets = Buckets(rate, burst, lambda: now)
    entered = 0
    for pause in pauses:
        now += pause
        entered += buckets.take("x") == 0
        assert entered <= burst + rate * now + 1e-6
    assert entered >= min(len(pauses), burst)


def test_metrics_have_all_series(site: Site) -> None:
    client = site.client()
    awaited(client, submitted(client)["id"])
    text = client.get(f"{site.url}/metrics").text
    for series in (
        'machines_created_total{market="on-demand",reason="demand",type="small"}',
        "tasks{state=",
        "queue_wait_seconds_bucket",
        "task_duration_seconds_bucket",
        "charged_total{tenant=",
        "scheduler_loop_seconds_bucket",
        "build_info{",
        "http_requests_total{",
    ):
        assert f"tradewind_{series}" in text, series
    for name in ("machines_terminated", "preemptions", "budget_remaining"):
        assert f"# TYPE tradewind_{name}" in text


def test_a_compressed_document_does_not_unpack_to_more_than_is_taken(site: Site) -> None:
    bomb = gzip.compress(b"tasks: {a: {run: echo}}\n" + b"#" * 300_000_000, 9)
    answer = site.client().post("/runs", content=bomb, headers={"Content-Type": "application/octet-stream"})
    assert answer.status_code == 422
    assert "decompresses to more than" in answer.json()["detail"]
    good = gzip.compress(HELLO.encode())
    assert site.client().post("/runs", content=good, headers={"Content-Type": "application/gzip"}).status_code == 201
