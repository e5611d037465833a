"""Shares of elastic units on a server, over HTTP: who is let in, what is answered, and what survives a restart."""

import json
import socket
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from server_rig import Obedient, Site, awaited, running, settings_for, submitted

from tradewind.live.engines.fake import Yard
from tradewind.live.port import Done, Listener, Order

STEP = """
steps:
  price:
    divisible: {iterations: 100, run: ./price, partitions: 2, reduce: sum}
    outputs: {total: return}
"""
ORDERS: list[Order] = []
"""What the engine was told to start, in all servers of a test."""
YARD = Yard()
"""Machines that outlive a server."""


class Patient(Obedient):
    """Runs nothing: shares and reducers are played by the test, until it says that they have ended."""

    made: "Patient"

    def __init__(self, listener: Listener) -> None:
        super().__init__(listener)
        type(self).made = self
        self.yard, self.machines = YARD, YARD.machines

    def start(self, orders: Sequence[Order]) -> None:
        ORDERS.extend(orders)
        super().start([order for order in orders if order.share is None])


class Process:
    """The process of a share, or of a reducer."""

    def __init__(self, site: Site, order: Order) -> None:
        assert order.share is not None
        self.order, self.share, self.site = order, order.share, site
        self.http = httpx.Client(base_url=site.url, headers={"Authorization": f"Bearer {order.share.lease}"})
        site._clients.append(self.http)
        self.done = self.number = 0

    def call(self, verb: str, body: Any = None, **options: Any) -> httpx.Response:
        return self.http.post(f"{self.share.path}/{verb}", json={} if body is None else body, **options)

    def deliver(self, begin: int, end: int, **more: Any) -> dict[str, Any]:
        self.number += 1
        self.done += end - begin
        one = {"number": self.number, "ranges": [[begin, end]], "result": sum(range(begin, end)), **more}
        body = {"done": self.done, "elapsed": float(self.number), "deliveries": [one]}
        answer = self.call("report", body)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def end(self, results: Any = None) -> None:
        """The process ends well."""
        done = Done(self.order.unit, self.order.attempt, self.order.machine, results or {})
        loop = self.site.context.service._loop
        assert loop is not None
        assert loop.driver is not None
        Patient.made.loop.call_soon_threadsafe(loop.hear, [done])


@pytest.fixture(autouse=True)
def _forgotten() -> None:
    ORDERS.clear()
    YARD.machines.clear()


def processes(site: Site, count: int) -> list[Process]:
    """The last processes of which so many were started."""
    for _ in range(600):
        if len(ORDERS) >= count:
            return [Process(site, order) for order in ORDERS]
        threading.Event().wait(0.02)
    raise AssertionError(f"only {len(ORDERS)} were started")


def test_shares_deliver_and_an_ordinary_unit_reduces_what_they_delivered(tmp_path: Path) -> None:
    with running(settings_for(tmp_path), Patient) as site:
        client = site.client()
        run = submitted(client, STEP)["id"]
        one, other = processes(site, 2)
        for process in (one, other):
            told = process.call("start").json()
            assert told["next"] == "go"
            assert told["deliveries"] == 0
            ((begin, end),) = told["ranges"]
            middle = (begin + end) // 2
            assert process.deliver(begin, middle)["ranges"] == [[middle, end]]
            assert process.deliver(middle, end)["next"] == "end"
        reducer = processes(site, 3)[-1]
        assert (reducer.share.iterations, reducer.order.chain) == (0, "price")
        page = reducer.http.get(f"{reducer.share.path}/results").json()
        assert page["next"] is None
        assert sum(row["inline"] for row in page["results"]) == sum(range(100))
        assert [row["first"] for row in page["results"]] == sorted(row["first"] for row in page["results"])
        other.call("finish")
        other.end()
        reducer.end({"price": {"total": sum(range(100))}})
        awaited(client, run, "done")
        assert one.call("report", {"done": 50, "elapsed": 9.0}).status_code == 409


@pytest.mark.parametrize(
    ("verb", "body"),
    [("start", {}), ("report", {"done": 1, "elapsed": 1.0}), ("uploads", {"number": 1}), ("finish", {})],
)
def test_a_call_needs_the_lease_of_its_own_share(tmp_path: Path, verb: str, body: Any) -> None:
    with running(settings_for(tmp_path), Patient) as site:
        submitted(site.client(), STEP)
        one, other = processes(site, 2)
        stolen = {"Authorization": f"Bearer {other.share.lease}"}
        assert one.call(verb, body, headers=stolen).status_code == 404
        assert httpx.post(f"{site.url}{one.share.path}/{verb}", json=body).status_code == 401
        assert one.call(verb, body).status_code == 200


def test_a_body_is_read_only_once_the_lease_is_known(tmp_path: Path) -> None:
    with running(settings_for(tmp_path), Patient) as site:
        submitted(site.client(), STEP)
        one = processes(site, 2)[0]

        host, port = site.url.removeprefix("http://").split(":")
        for lease, length, status in (("wrong", 1000, b"404"), (one.share.lease, 21 << 20, b"413")):
            with socket.create_connection((host, int(port)), timeout=20) as sock:
                head = f"POST {one.share.path}/report HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {lease}\r\n"
                sock.sendall(f"{head}Content-Length: {length}\r\n\r\n".encode())
                assert sock.recv(100).split()[1] == status  # although no byte of the body was sent


def test_repeated_and_late_calls_change_nothing(tmp_path: Path) -> None:
    with running(settings_for(tmp_path), Patient) as site:
        submitted(site.client(), STEP)
        one = processes(site, 2)[0]
        ((begin, end),) = one.call("start").json()["ranges"]
        assert one.call("start").json()["ranges"] == [[begin, end]]
        told = one.deliver(begin, begin + 10)
        one.number -= 1
        one.done -= 10
        assert one.deliver(begin, begin + 10) == told
        wrong = {"number": 3, "ranges": [[begin + 10, begin + 20]], "result": 1}
        refused = one.call("report", {"done": 20, "elapsed": 2.0, "deliveries": [wrong]})
        assert (refused.status_code, refused.json()["type"]) == (409, "about:blank")
        foreign = {"number": 2, "ranges": [[begin, begin + 1]], "result": 1}
        assert one.call("report", {"done": 20, "elapsed": 2.0, "deliveries": [foreign]}).status_code == 409


def test_the_lease_ends_with_the_run(tmp_path: Path) -> None:
    with running(settings_for(tmp_path), Patient) as site:
        client = site.client()
        run = submitted(client, STEP)["id"]
        one = processes(site, 2)[0]
        one.call("start")
        client.post(f"/runs/{run}/cancel")
        awaited(client, run, "cancelled")
        for verb, body in (("report", {"done": 1, "elapsed": 1.0}), ("finish", {}), ("uploads", {"number": 1})):
            refused = one.call(verb, body)
            assert (refused.status_code, refused.json()["type"]) == (409, "/problems/stale")


def test_shells_get_lines_and_reports_around_the_routes_the_same_answers(tmp_path: Path) -> None:
    with running(settings_for(tmp_path), Patient) as site:
        submitted(site.client(), STEP)
        one = processes(site, 2)[0]
        told = one.call("start").json()
        lines = one.call("start", headers={"Accept": "text/plain"}).text.splitlines()
        assert lines[:2] == ["next go", "deliveries 0"]
        assert f"range {told['ranges'][0][0]} {told['ranges'][0][1]}" in lines
        body = {"done": 1, "elapsed": 1.0}
        direct = one.call("report", body).json()
        routed = one.call("report", body, headers={"Accept": "text/plain"}).text
        assert f"interval {direct['interval']:g}" in routed
        bodies: tuple[Any, ...] = (
            {"done": -1, "elapsed": 1.0},
            {"elapsed": 1.0},
            {"done": 1, "elapsed": 1.0, "x": 1},
            [],
        )
        for wrong in bodies:
            refused = one.call("report", wrong)
            assert (refused.status_code, refused.headers["content-type"]) == (422, "application/problem+json")


def test_large_results_are_uploaded_to_a_signed_address(tmp_path: Path) -> None:
    with running(settings_for(tmp_path), Patient) as site:
        submitted(site.client(), STEP.replace("partitions: 2", "partitions: 1"))
        one = processes(site, 1)[0]
        ((begin, end),) = one.call("start").json()["ranges"]
        too_large = {"number": 1, "ranges": [[begin, end]], "result": "x" * (300 << 10)}
        body = {"done": end, "elapsed": 1.0, "deliveries": [too_large]}
        assert one.call("report", body).status_code == 413
        place = one.call("uploads", {"number": 1}).json()
        one.number, one.done = 1, 0
        early = {"number": 1, "ranges": [[begin, end]], "object": place["key"]}
        assert one.call("report", {"done": end, "elapsed": 1.0, "deliveries": [early]}).status_code == 409
        assert httpx.put(f"{site.url}{place['url']}", content=b"large").status_code == 204
        assert httpx.put(f"{site.url}{place['url']}", content=b"other").status_code == 409
        assert httpx.put(f"{site.url}{place['url'].replace('signature=', 'signature=0')}").status_code == 401
        other = {**early, "object": place["key"] + "0"}
        assert one.call("report", {"done": end, "elapsed": 1.0, "deliveries": [other]}).status_code == 422
        assert one.call("report", {"done": end, "elapsed": 1.0, "deliveries": [early]}).json()["next"] == "end"
        reducer = processes(site, 2)[-1]
        (row,) = reducer.http.get(f"{reducer.share.path}/results").json()["results"]
        assert httpx.get(f"{site.url}{row['url']}").content == b"large"
        assert one.http.get(f"{one.share.path}/results").status_code == 409


def test_a_server_that_comes_back_adopts_running_shares_with_what_they_hold(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, auth=False)
    with running(settings, Patient) as site:
        run = submitted(site.client(), STEP)["id"]
        one, other = processes(site, 2)
        ((begin, end),) = one.call("start").json()["ranges"]
        one.deliver(begin, begin + 10)
        held = other.call("start").json()["ranges"]
    with running(settings, Patient) as site:
        assert len(ORDERS) == 2
        number, done = one.number, one.done
        one, other = Process(site, one.order), Process(site, other.order)
        one.number, one.done = number, done
        assert other.call("start").json()["ranges"] == held
        told = one.call("start").json()
        assert (told["ranges"], told["deliveries"]) == ([[begin + 10, end]], 1)
        one.deliver(begin + 10, end)
        other.deliver(*held[0])
        reducer = processes(site, 3)[-1]
        rows = reducer.http.get(f"{reducer.share.path}/results").json()["results"]
        assert sum(row["inline"] for row in rows) == sum(range(100))
        other.end()
        reducer.end({"price": {"total": 1}})
        awaited(site.client(), run, "done")


def test_a_checkpoint_replaces_what_its_attempt_delivered_before(tmp_path: Path) -> None:
    with running(settings_for(tmp_path), Patient) as site:
        submitted(site.client(), STEP.replace("partitions: 2", "partitions: 1"))
        one = processes(site, 1)[0]
        one.call("start")
        one.deliver(0, 50, checkpoint=True, result=50)
        one.deliver(50, 100, checkpoint=True, result=100)
        reducer = processes(site, 2)[-1]
        (row,) = reducer.http.get(f"{reducer.share.path}/results").json()["results"]
        assert (row["inline"], row["checkpoint"]) == (100, True)


def test_a_share_that_says_why_it_fails_has_failed(tmp_path: Path) -> None:
    with running(settings_for(tmp_path), Patient) as site:
        client = site.client()
        run = submitted(client, STEP.replace("partitions: 2", "partitions: 1"))["id"]
        one = processes(site, 1)[0]
        one.call("start")
        assert one.call("finish", {"failure": "no such parameter"}).json() == {"state": "finished"}
        one.end()
        again = processes(site, 2)[-1]
        assert (again.order.unit, again.order.attempt) == (one.order.unit, 2)
        explained = json.dumps(client.get(f"/runs/{run}/explain").json())
        assert "no such parameter" in explained
