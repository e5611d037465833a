"""Requests that never arrive are not waited for, and keep nobody out."""

import selectors
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from server_rig import HELLO, Site, running, settings_for

HEAD = b"POST /api/v1/runs HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture(scope="module")
def brief(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running(settings_for(tmp_path_factory.mktemp("brief"), patience=0.5, most_pending=50)) as site:
        yield site


def opened(site: Site, sent: bytes) -> socket.socket:
    host, _, port = site.url.removeprefix("http://").partition(":")
    connection = socket.create_connection((host, int(port)), timeout=20)
    connection.sendall(sent)
    return connection


def last_words(connection: socket.socket) -> bytes:
    """What the server says until it hangs up."""
    said = b""
    with connection:
        while more := connection.recv(65536):
            said += more
    return said


def test_half_a_request_is_not_waited_for(brief: Site) -> None:
    known = HEAD + f"Authorization: Bearer {brief.token}\r\n".encode()
    for half in (b"", b"GET / HT", HEAD, known + b"Content-Length: 100\r\n\r\nabc"):
        assert last_words(opened(brief, half)).startswith(b"HTTP/1.1 408"), half


def test_half_a_request_after_a_whole_one_is_not_waited_for(brief: Site) -> None:
    said = last_words(opened(brief, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" + HEAD))
    assert said.startswith(b"HTTP/1.1 200")
    assert b"HTTP/1.1 408" in said


def test_half_a_request_of_somebody_unknown_is_refused_and_the_rest_not_waited_for(brief: Site) -> None:
    said = last_words(opened(brief, HEAD + b"Content-Length: 100\r\n\r\nabc"))
    assert said.startswith(b"HTTP/1.1 401")


def test_a_drip_of_bytes_is_no_request(brief: Site) -> None:
    with opened(brief, HEAD) as connection:
        try:
            for _ in range(400):
                connection.sendall(b"X-A: b\r\n")
                time.sleep(0.05)
        except OSError:
            return
    raise AssertionError("twenty seconds of drips were waited for")


def test_a_body_that_comes_slowly_but_steadily_arrives(tmp_path: Path) -> None:
    parts = [HELLO.encode(), *(b"#" * 20_000 for _ in range(10))]
    began = time.monotonic()

    def slowly() -> Iterator[bytes]:
        for part in parts:
            yield part
            time.sleep(0.4)

    with running(settings_for(tmp_path, patience=3)) as site:
        answer = site.client().post("/runs", content=slowly(), headers={"Content-Type": "application/yaml"})
    assert time.monotonic() - began > 3
    assert answer.status_code == 201, "it took longer than the patience, but kept coming"


def test_a_head_without_end_is_refused(brief: Site) -> None:
    with opened(brief, HEAD) as connection:
        try:
            for _ in range(100):
                connection.sendall(b"X-A: " + b"b" * 10_000 + b"\r\n")
            connection.shutdown(socket.SHUT_WR)
            assert b"431" in connection.recv(1000)
        except OSError:
            pass  # it has hung up while we were sending


def test_those_who_never_send_a_request_make_room(tmp_path: Path) -> None:
    with running(settings_for(tmp_path, patience=600, most_pending=50)) as site:
        held = [opened(site, HEAD) for _ in range(200)]
        assert httpx.get(f"{site.url}/healthz").status_code == 200  # it has heard of all of them
        time.sleep(2.1)  # until they are old enough to be told from others
        held += [opened(site, HEAD) for _ in range(200)]
        assert httpx.get(f"{site.url}/healthz").status_code == 200
        with selectors.DefaultSelector() as ended:
            for each in held:
                ended.register(each, selectors.EVENT_READ)
            for _ in range(100):
                if len(ended.select(0.1)) >= 200:
                    break
            assert len(ended.select(0)) >= 200, "the older ones are gone"
        for each in held:
            each.close()
