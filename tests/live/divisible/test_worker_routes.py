"""What workers call, in one process: the description is true, and reports take the short way with the same answers."""

import asyncio
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, settings

from tradewind.server.divisible.app import alone, worker_application
from tradewind.server.divisible.hot import Hot
from tradewind.server.divisible.office import Office, open_office

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import schemathesis


class Caller:
    """Calls an application within this process."""

    __test__ = False

    def __init__(self, app: Any) -> None:
        self._app = app

    def request(self, method: str, url: str, **more: Any) -> httpx.Response:
        async def call() -> httpx.Response:
            transport = httpx.ASGITransport(self._app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
                return await client.request(method, url, **more)

        return asyncio.run(call())

    def post(self, url: str, **more: Any) -> httpx.Response:
        return self.request("POST", url, **more)

    def put(self, url: str, **more: Any) -> httpx.Response:
        return self.request("PUT", url, **more)


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    folder = tmp_path_factory.mktemp("office")
    made = open_office(folder / "store.db", folder, durability="relaxed")
    yield made
    made.close()


@pytest.fixture(scope="module")
def client(office: Office) -> Caller:
    return Caller(alone(office))


@pytest.fixture(scope="module")
def lease(client: Caller) -> tuple[str, str, str]:
    """A running partition: the site's token, the path and the lease."""
    token = client.post("/api/v1/site-tokens", json={"site": "a"}).json()["token"]
    auth = {"Authorization": f"Bearer {token}"}
    assert client.put("/worker/v1/sites/a", json={"slots": 1, "max_slots": 1}, headers=auth).status_code == 200
    client.post("/api/v1/jobs", json={"iterations": 10**9, "target": 10**6})
    told = client.post("/worker/v1/sites/a/fetch", json={"key": "k", "slots": 1}, headers=auth).json()
    one = told["partitions"][0]
    client.post(f"{one['path']}/start", headers={"Authorization": f"Bearer {one['lease']}"})
    return token, one["path"], one["lease"]


schema = schemathesis.openapi.from_dict(worker_application().openapi())
EXPLORES = os.environ.get("HYPOTHESIS_PROFILE") == "explore"
EXAMPLES = 60 if EXPLORES else 5


@schema.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, derandomize=not EXPLORES, suppress_health_check=list(HealthCheck))
def test_whatever_workers_send_is_answered_in_order(case: Any, client: Caller, lease: tuple[str, str, str]) -> None:
    token, path, secret = lease
    if case.path_parameters:
        for name, value in (("site", "a"), ("job", path.split("/")[4]), ("partition", path.split("/")[6])):
            if name in case.path_parameters and len(str(case.body)) % 3:
                case.path_parameters[name] = value
    shown = token if "/site" in case.path else secret
    sent = case.as_transport_kwargs(headers={"Authorization": f"Bearer {shown}"})
    sent.pop("cookies", None)
    if isinstance(sent.get("data"), bytes | str):
        sent["content"] = sent.pop("data")
    answer = client.request(**sent)
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == answer.status_code


@pytest.mark.parametrize("which", range(8))
def test_the_short_way_answers_as_the_route_does(
    which: int, office: Office, client: Caller, lease: tuple[str, str, str]
) -> None:
    _, path, secret = lease
    bodies: tuple[Any, ...] = (
        {"done": 0, "elapsed": 0},
        {"done": -1, "elapsed": 1},
        {"done": 10**14, "elapsed": 10**9},
        {"done": 0, "elapsed": 0, "deliveries": [{"number": 5, "ranges": [[0, 1]], "result": 1}]},
        {"done": 0, "elapsed": 0, "deliveries": [{"number": 1, "ranges": [[0, 1]], "object": "x"}]},
        {},
        [],
        None,
    )
    plain = worker_application(office)
    found = []
    for app in (plain, Hot(plain, office)):
        for shown in (secret, "other"):
            headers = {"Authorization": f"Bearer {shown}"}
            answer = Caller(app).post(f"{path}/report", json=bodies[which], headers=headers)
            found.append((answer.status_code, answer.headers["content-type"], answer.json()))
    assert found[:2] == found[2:]
    assert client.post(f"{path}/report", json=bodies[which]).status_code in (401, 422)


def test_a_store_that_cannot_be_used_is_not_an_error_of_the_caller(tmp_path: Path) -> None:
    office = open_office(tmp_path / "store.db", tmp_path, durability="relaxed")
    client = Caller(alone(office))
    (tmp_path / "store.db").rename(tmp_path / "gone.db")
    answer = client.post(
        "/worker/v1/jobs/x/partitions/0/report", json={"done": 0, "elapsed": 0}, headers={"Authorization": "Bearer x"}
    )
    assert answer.status_code in (500, 503)
    office.close()
