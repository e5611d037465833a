"""Requests that nobody would send: the server answers each, stays healthy, and keeps its store whole.

Every request comes from a seed: `REQUESTS=100000 pytest tests/server/test_server_fuzz.py` sends more of them.
"""

import json
import os
import random
import sqlite3
import string
import time
from collections import Counter
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import httpx
from real_server import served

REQUESTS = int(os.environ.get("REQUESTS", "600"))
SEED = int(os.environ.get("FIRST_SEED", "0"))

GOOD = "name: good\ntasks:\n  a: {run: 'true'}\n  b: {run: 'true', needs: [a]}\n"
WORDS = ("..", "%2e%2e", "", "0", "-1", "9" * 30, "é", "a b", "last", "%00", "'; DROP TABLE runs; --", "x" * 300)
_HONEST = 0.05
"""The share of requests that are good work."""


class Fuzzer:
    """Makes requests out of what the server says it takes, and out of nothing."""

    def __init__(self, seed: int, paths: dict[str, Any], token: str) -> None:
        self.chance = random.Random(seed)
        self.paths = sorted(paths) + ["/api/v1/runs"] * 30
        self.token = token
        self.known = ["last"]
        """Ids that the server has told."""

    def request(self) -> tuple[str, str, bytes | None, dict[str, str]]:
        """A method, a path, a body and headers."""
        chance = self.chance
        if chance.random() < _HONEST:
            return "POST", "/api/v1/runs", GOOD.encode(), {"Authorization": f"Bearer {self.token}"}
        path = chance.choice(self.paths) if chance.random() < 0.9 else f"/{self.word()}/{self.word()}"
        while "{" in path:
            begin, end = path.index("{"), path.index("}")
            path = (
                path[:begin] + (chance.choice(self.known) if chance.random() < 0.5 else self.word()) + path[end + 1 :]
            )
        path = "".join(letter if letter.isascii() and letter > " " else f"%{ord(letter) % 256:02x}" for letter in path)
        if "events" in path and "last" in path:
            path = path.replace("events", "tasks")  # a stream would be listened to for ever
        if path.endswith("/events"):
            path += "x"
        if chance.random() < 0.3:
            name = chance.choice(("limit", "cursor", "q", "tenant", "status", "by"))
            path += f"?{name}={self.word()}".replace(" ", "+")
        method = chance.choice(("GET", "GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"))
        return method, path.encode("ascii", "replace").decode(), self.body(method), self.headers()

    def word(self) -> str:
        return self.chance.choice(WORDS) if self.chance.random() < 0.5 else self.letters(self.chance.randrange(12))

    def letters(self, count: int) -> str:
        return "".join(self.chance.choice(string.ascii_letters + string.digits + ":-_") for _ in range(count))

    def body(self, method: str) -> bytes | None:
        if method in ("GET", "HEAD"):
            return None
        kind = self.chance.randrange(6)
        if kind == 0:
            return None
        if kind == 1:
            return self.chance.randbytes(self.chance.randrange(200))
        if kind == 2:
            return json.dumps(self.value(3)).encode()
        if kind == 3:
            return json.dumps({"workflow": GOOD, self.letters(5): self.value(2), "priority": self.value(1)}).encode()
        text = bytearray(GOOD.encode())
        for _ in range(self.chance.randrange(3)):
            text[self.chance.randrange(len(text))] = self.chance.randrange(256)
        return bytes(text)

    def value(self, depth: int) -> Any:
        kind = self.chance.randrange(7 if depth else 5)
        if kind == 5:
            return [self.value(depth - 1) for _ in range(self.chance.randrange(3))]
        if kind == 6:
            return {self.word(): self.value(depth - 1) for _ in range(self.chance.randrange(3))}
        return (None, True, self.chance.randint(-(10**9), 10**9), self.chance.random(), self.word())[kind]

    def headers(self) -> dict[str, str]:
        chance = self.chance
        token = self.token if chance.random() < 0.8 else f"tw_{self.letters(12)}_{self.letters(40)}"
        found = {"Authorization": f"Bearer {token}"} if chance.random() < 0.9 else {}
        if chance.random() < 0.5:
            kinds = ("application/json", "application/yaml", "text/plain", "application/x-unknown", "", "a/b; c=d")
            found["Content-Type"] = chance.choice(kinds)
        if chance.random() < 0.1:
            found["Idempotency-Key"] = self.letters(chance.randrange(1, 8))
        if chance.random() < 0.05:
            found["Last-Event-ID"] = self.letters(6)
        return found


def test_nothing_that_is_sent_harms_the_server(tmp_path: Path) -> None:
    (tmp_path / "tradewind.toml").write_text("[server]\nrate = 1000000\nburst = 1000000\n")
    with served(tmp_path) as (url, token):
        bearer = {"Authorization": f"Bearer {token}"}
        description = httpx.get(f"{url}/openapi.json", headers=bearer)
        if description.is_error:
            description = httpx.get(f"{url}/api/v1/openapi.json", headers=bearer)
        fuzzer = Fuzzer(SEED, description.json()["paths"], token)
        answers = _send(url, fuzzer)
        assert not [status for status in answers if status >= 500 and status != 503], answers
        assert answers[202] + answers[201] > 0, f"some of it is good work: {answers}"
        assert answers.total() >= 0.95 * REQUESTS, f"almost all are answered: {answers}"
        assert httpx.get(f"{url}/healthz").status_code == 200
        assert httpx.get(f"{url}/readyz").status_code == 200
        _works(url, bearer)
    store = sqlite3.connect(tmp_path / ".tradewind" / "store.db")
    assert store.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    orphans = "SELECT count(*) FROM units WHERE run NOT IN (SELECT number FROM runs)"
    assert store.execute(orphans).fetchone() == (0,)
    store.close()


def _send(url: str, fuzzer: Fuzzer) -> Counter[int]:
    answers: Counter[int] = Counter()
    connection = HTTPConnection(url.removeprefix("http://"), timeout=10)
    for _ in range(REQUESTS):
        method, path, body, headers = fuzzer.request()
        if method == "DELETE" and "tokens" in path:
            continue  # else it would lock itself out
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            text = answer.read()
        except (HTTPException, OSError, ValueError):
            connection.close()
            continue
        answers[answer.status] += 1
        if answer.status in (200, 201, 202) and b'"id"' in text[:2000]:
            found = json.loads(text) if text[:1] == b"{" else {}
            if isinstance(found, dict) and isinstance(found.get("id"), str):
                fuzzer.known = [*fuzzer.known[-20:], found["id"]]
    connection.close()
    return answers


def _works(url: str, bearer: dict[str, str]) -> None:
    """An honest submission is still run to its end."""
    run = httpx.post(f"{url}/api/v1/runs", content=GOOD, headers=bearer | {"Content-Type": "application/yaml"})
    assert run.is_success, run.text
    for _ in range(600):
        found = httpx.get(f"{url}/api/v1/runs/{run.json()['id']}", headers=bearer).json()
        if found["status"] == "done":
            return
        time.sleep(0.1)
    raise AssertionError(found)
