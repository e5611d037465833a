"""Tenants see only their own, whatever they try."""

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx
import pytest
from server_rig import HANGS, HELLO, Site, awaited, running, settings_for, submitted

from tradewind.server.auth import Role, digest


class Town(NamedTuple):
    """Two tenants, and a run of the first that hangs."""

    site: Site
    admin: httpx.Client
    ada: httpx.Client
    bob: httpx.Client
    viewer: httpx.Client
    """Of Ada's, may only look."""
    run: dict[str, Any]
    task: int
    machine: int


@pytest.fixture(scope="module")
def town(site: Site) -> Town:
    admin = site.client()
    for name in ("ada", "bob"):
        assert admin.put(f"/tenants/{name}", json={"budget": 100, "interval": "1m"}).status_code == 201
    clients: list[httpx.Client] = []
    for name, role in (("ada", "user"), ("bob", "user"), ("ada", "viewer")):
        made = admin.post("/tokens", json={"name": "x", "role": role, "tenant": name})
        assert made.status_code == 201, made.text
        clients.append(site.client(made.json()["token"]))
    run = submitted(clients[0], HANGS, name="adas secret")
    for _ in range(500):
        machines = clients[0].get("/machines").json()["items"]
        if machines and machines[0]["running"]:
            break
    ada, bob, viewer = clients
    return Town(site, admin, ada, bob, viewer, run, machines[0]["running"][0], machines[0]["number"])


def test_everything_of_another_tenant_looks_as_if_it_were_not_there(town: Town) -> None:
    run = f"/runs/{town.run['id']}"
    attempt = f"{run}/tasks/{town.task}/attempts/last"
    reads = [run, f"{run}/tasks", f"{run}/tasks/{town.task}", f"{run}/explain", f"{run}/cost", f"{run}/events"]
    reads += [f"{run}/document", f"{run}/results", f"{run}/attempts", f"{run}/tasks/{town.task}/explain"]
    reads += [attempt, f"{attempt}/logs", f"{attempt}/logs/out", f"{attempt}/artefacts", f"{attempt}/artefacts/out"]
    reads += [f"/machines/{town.machine}", "/tenants/ada", "/runs?tenant=ada", "/cost?tenant=ada", "/events?tenant=ada"]
    for path in reads:
        if "events" not in path:  # these go on for ever
            assert town.ada.get(path).status_code == 200, path
        answer = town.bob.get(path)
        assert answer.status_code == 404, path
        assert "secret" not in answer.text
    for path, body in (
        *((f"{run}/{verb}", None) for verb in ("cancel", "retry", "suspend", "resume")),
        (f"/machines/{town.machine}/drain", None),
        (f"/machines/{town.machine}/remove", None),
        ("/runs", {"workflow": HELLO, "tenant": "ada"}),
    ):
        assert town.bob.post(path, json=body).status_code == 404, path
    assert town.bob.put(f"{run}/priority", json={"priority": 1}).status_code == 404
    assert town.bob.delete(run).status_code == 404
    assert town.bob.get("/runs").json()["items"] == []
    assert town.bob.get("/machines", params={"status": "all"}).json()["items"] == []
    assert [tenant["name"] for tenant in town.bob.get("/tenants").json()["items"]] == ["bob"]
    for query in ("secret", "tenant:ada", f"run:{town.run['id']}", "", "is:run -nothing"):
        found = town.bob.get("/search", params={"q": query}).json()
        assert (found["runs"], found["tasks"], found["counts"]["runs"]) == ([], [], 0), query
    assert awaited(town.ada, town.run["id"], "active")["priority"] == 0


def test_numbers_of_others_are_of_no_use_in_own_runs(town: Town) -> None:
    mine = awaited(town.bob, submitted(town.bob)["id"])["id"]
    assert town.bob.get(f"/runs/{mine}/tasks/{town.task}").status_code == 404
    assert town.bob.get(f"/runs/{mine}/tasks/{town.task}/attempts/last/logs").status_code == 404


def test_a_viewer_changes_nothing(town: Town) -> None:
    run = f"/runs/{town.run['id']}"
    assert town.viewer.get(run).status_code == 200
    for answer in (
        town.viewer.post("/runs", json={"workflow": HELLO}),
        town.viewer.post(f"{run}/cancel"),
        town.viewer.put(f"{run}/priority", json={"priority": 1}),
        town.viewer.delete(run),
        town.viewer.post(f"/machines/{town.machine}/drain"),
    ):
        assert answer.status_code == 403
        assert answer.headers["content-type"] == "application/problem+json"


def test_only_administrators_administrate(town: Town) -> None:
    for client in (town.ada, town.viewer):
        assert client.put("/tenants/ada", json={"budget": 10_000}).status_code == 403
        assert client.delete("/tenants/bob").status_code == 403
        assert client.post("/tokens", json={"name": "x", "role": "admin"}).status_code == 403
        assert client.get("/audit").status_code == 403
        assert client.get(f"{town.site.url}/metrics").status_code == 403
        tokens = client.get("/tokens").json()["items"]
        assert [token["id"] for token in tokens] == [client.get("/whoami").json()["token"]]
        others = [token["id"] for token in town.admin.get("/tokens").json()["items"] if token["id"] != tokens[0]["id"]]
        assert client.delete(f"/tokens/{others[0]}").status_code == 403


def test_tokens_are_refused_unless_they_are_known_and_valid(town: Town) -> None:
    made = town.admin.post("/tokens", json={"name": "x", "role": "user", "tenant": "ada"}).json()
    known = made["token"]
    for wrong in (
        known[:-1],
        known + "x",
        known.upper(),
        f"tw_{made['id']}_",
        "tw__",
        "Bearer",
        "x" * 5000,
        digest(known),
    ):
        answer = httpx.get(f"{town.site.url}/api/v1/runs", headers={"Authorization": f"Bearer {wrong}"})
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
    for header in ({}, {"Authorization": f"Basic {known}"}, {"Authorization": ""}, {"X-Token": known}):
        assert httpx.get(f"{town.site.url}/api/v1/runs", headers=header).status_code == 401
    client = town.site.client(known)
    assert client.get("/runs").status_code == 200
    assert town.admin.delete(f"/tokens/{made['id']}").status_code == 204
    assert client.get("/runs").status_code == 401
    assert town.admin.delete(f"/tokens/{made['id']}").status_code == 404


def test_an_expired_token_is_refused(town: Town) -> None:
    expired = town.site.token_for(Role.ADMIN, expires=1)
    assert town.site.client(expired).get("/runs").status_code == 401
    made = town.admin.post("/tokens", json={"name": "x", "role": "viewer", "expires_in": "1h"}).json()
    assert made["expires"] == pytest.approx(made["created"] + 3600)
    for wrong in (0, -1, "never", 1e10):
        assert town.admin.post("/tokens", json={"name": "x", "role": "viewer", "expires_in": wrong}).status_code == 422


def test_tokens_are_kept_as_digests_only(town: Town) -> None:
    token = town.admin.post("/tokens", json={"name": "y", "role": "viewer"}).json()["token"]
    rows = repr(town.site.context.access.tokens())
    assert token not in rows
    assert digest(token) in rows
    assert town.site.client(token).get("/runs").status_code == 200
    assert token not in town.admin.get("/tokens").text


def test_budget_weight_and_quotas_change_while_it_runs(town: Town) -> None:
    made = town.admin.put("/tenants/cleo", json={"budget": 7, "max_active_runs": 1, "max_tasks": 3})
    assert (made.status_code, made.json()["remaining"]) == (201, 7.0)
    cleo = town.site.client(town.site.token_for(Role.USER, "cleo"))
    run = submitted(cleo, HANGS)["id"]
    refused = cleo.post("/runs", json={"workflow": HELLO})
    assert (refused.status_code, refused.json()["type"]) == (429, "/problems/quota")
    assert town.admin.put("/tenants/cleo", json={"max_active_runs": None}).json()["max_tasks"] == 3
    assert cleo.post("/runs", json={"workflow": HELLO}).status_code == 429
    changed = town.admin.put("/tenants/cleo", json={"max_tasks": None, "weight": 2.5, "budget": 3}).json()
    assert (changed["budget"], changed["weight"], changed["active_runs"]) == (3.0, 2.5, 1)
    assert submitted(cleo)["status"] == "active"
    assert town.site.context.service.state.by_name["cleo"].tenant.budget == 3_000_000
    assert town.admin.delete("/tenants/cleo").status_code == 409
    cleo.post(f"/runs/{run}/cancel")


def test_no_more_machines_are_rented_than_a_tenant_may_hold(town: Town) -> None:
    made = town.admin.put("/tenants/emil", json={"max_machines": 1})
    assert (made.status_code, made.json()["max_machines"]) == (201, 1)
    emil = town.site.client(town.site.token_for(Role.USER, "emil"))
    wide = "name: wide\ntasks:\n" + "".join(f"  hang{n}: {{run: sleep 9, cpus: 4}}\n" for n in range(3))
    run = submitted(emil, wide)["id"]
    state = town.site.context.service.state
    for _ in range(400):
        reasons = [each["text"] for each in emil.get(f"/runs/{run}/explain").json()["waiting"]]
        if any("emil holds all 1 machines that it may" in text for text in reasons):
            break
        time.sleep(0.02)
    else:
        raise AssertionError(reasons)
    assert state.by_name["emil"].held == 1
    assert town.admin.put("/tenants/emil", json={"max_machines": 2}).json()["max_machines"] == 2
    for _ in range(400):
        if state.by_name["emil"].held == 2:
            break
        time.sleep(0.02)
    assert state.by_name["emil"].held == 2
    emil.post(f"/runs/{run}/cancel")


def test_a_tenant_without_work_is_forgotten_with_its_tokens(town: Town) -> None:
    town.admin.put("/tenants/dora", json={})
    dora = town.site.client(town.site.token_for(Role.USER, "dora"))
    assert dora.get("/runs").status_code == 200
    assert town.admin.delete("/tenants/dora").status_code == 204
    assert dora.get("/runs").status_code == 401
    assert town.admin.post("/tokens", json={"name": "x", "role": "user", "tenant": "dora"}).status_code == 404
    assert town.admin.delete("/tenants/default").status_code == 409


def test_changes_and_refusals_are_in_the_audit_log(town: Town) -> None:
    town.admin.put("/tenants/eve", json={})
    town.viewer.post("/runs", json={"workflow": HELLO})
    httpx.get(f"{town.site.url}/api/v1/tenants", headers={"Authorization": "Bearer tw_no"})
    entries = town.admin.get("/audit").json()["items"]
    assert [(entry["action"], entry["target"], entry["outcome"]) for entry in entries[:3]] == [
        ("GET tenants", "/api/v1/tenants", 401),
        ("POST runs", "/api/v1/runs", 403),
        ("PUT tenants", "/api/v1/tenants/eve", 201),
    ]
    assert [entry["tenant"] for entry in entries[:3]] == [None, "ada", None]
    page = town.admin.get("/audit", params={"limit": 1}).json()
    following = town.admin.get("/audit", params={"limit": 1, "cursor": page["next"]}).json()
    assert following["items"][0]["number"] == page["items"][0]["number"] - 1


def test_without_access_control_only_this_host_is_served(tmp_path_factory: pytest.TempPathFactory) -> None:
    with running(settings_for(tmp_path_factory.mktemp("open"), auth=False)) as site:
        client = site.client()
        assert client.get("/whoami").json()["role"] == "admin"
        port = site.url.rpartition(":")[2]
        for headers in (
            {"Host": "evil.example"},
            {"Host": "127.0.0.1.evil.example"},
            {"Host": f"evil.example:{port}", "Origin": f"http://evil.example:{port}"},
            *(
                {"Origin": origin}
                for origin in ("https://evil.example", "null", "", "about:blank", "http:evil.example")
            ),
            {"Origin": "http://localhost:5173"},
            {"Origin": "http://127.0.0.1"},
            {"Origin": f"https://127.0.0.1:{port}"},
            {"Origin": f"{site.url}.evil.example"},
            {"Origin": f"{site.url}/"},
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
        ):
            assert client.get("/runs", headers=headers).status_code == 403, headers
            json = {"Content-Type": "application/json"}
            assert client.post("/runs", content=b"{}", headers=headers | json).status_code == 403, headers
        for headers in ({}, {"Origin": site.url}, {"Origin": site.url, "Sec-Fetch-Site": "same-origin"}):
            assert client.get("/runs", headers=headers).status_code == 200
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "x"):
            sent = client.post("/runs", content=HELLO, headers={"Content-Type": kind})
            assert (sent.status_code, sent.json()["title"]) == (415, "Unsupported media type"), kind
        assert client.post("/runs", content=(part for part in [HELLO.encode()])).status_code == 415
        assert client.get("/runs").json()["items"] == []
        run = submitted(client)["id"]
        assert client.post(f"/runs/{run}/cancel").is_success, "what has no body need not say what it is"


@pytest.fixture(scope="module", autouse=True)
def ended(town: Town) -> Iterator[None]:
    yield
    town.ada.post(f"/runs/{town.run['id']}/cancel")
