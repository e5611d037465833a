"""Calls of agents: tokens come before bodies, and callers without one do agents no harm."""

import socket
from collections.abc import Iterator

import httpx
import pytest
from server_rig import Site, running, settings_for

WRONG = "x" * 43


@pytest.fixture
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running(settings_for(tmp_path_factory.mktemp("small"), rate=0.01, burst=20, failed_rate=0.1)) as site:
        yield site


def token_of(site: Site, agent: str) -> str:
    made = site.client().post("/agent-tokens", json={"agent": agent})
    assert made.status_code == 201, made.text
    token: str = made.json()["token"]
    assert asked(site, token) == 200
    return token


def asked(site: Site, token: str, path: str = "/agent") -> int:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.get(f"{site.url}/agent/v1{path}", headers=headers, timeout=20).status_code


def forged(token: str) -> str:
    """A token with the public id of another, and another secret."""
    return f"{token.rpartition('_')[0]}_{WRONG}"


@pytest.mark.parametrize("token", ["", "x", "twa_000000000000_x", "tw_000000000000_x"])
def test_no_body_is_read_before_the_token_is_known(site: Site, token: str) -> None:
    host, _, port = site.url.removeprefix("http://").partition(":")
    head = f"POST /agent/v1/agents/a/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(f"{head}Content-Length: 17000000\r\n\r\n".encode())
        assert connection.recv(12) in (b"HTTP/1.1 401", b"HTTP/1.1 429")


def test_guesses_from_the_same_address_do_not_lock_agents_out(small: Site) -> None:
    token = token_of(small, "honest")
    assert {asked(small, "twa_000000000000_x") for _ in range(4)} == {401, 429}
    assert asked(small, token) == 200


def test_the_id_of_a_token_does_not_let_others_use_up_its_rate(small: Site) -> None:
    token = token_of(small, "known")
    assert {asked(small, forged(token)) for _ in range(25)} <= {401, 429}
    assert asked(small, token) == 200


def test_an_agent_that_calls_too_often_waits(small: Site) -> None:
    token = token_of(small, "eager")
    assert {asked(small, token) for _ in range(25)} == {200, 429}


def test_a_flood_without_a_token_does_not_fill_the_audit_log(small: Site) -> None:
    admin = small.client()
    assert admin.get("/whoami").status_code == 200
    assert {asked(small, "") for _ in range(30)} <= {401, 429}
    entries = admin.get("/audit").json()["items"]
    assert sum(each["token"] is None for each in entries) <= 3
