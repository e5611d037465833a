"""What a server believes of agents: nothing that their token does not allow."""

import base64
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from server_rig import Site, running, settings_for, submitted

from tradewind.live.order_json import PROTOCOL
from tradewind.server.agents.door import LARGEST
from tradewind.server.auth import Role
from tradewind.server.settings import Settings

SLOW = "name: w\ntasks:\n  a: {run: sleep 60}\n"
READS = """
params:
  text: {type: file, default: none.txt}
  other: ""
steps:
  a: {run: 'cat {{ params.text }} {{ params.other }}', outputs: {said: stdout}}
"""


def _settings(folder: Path, **server: Any) -> Settings:
    settings = settings_for(folder, **server)
    (folder / "machines.yaml").write_text("machines:\n  dear: {price: 1, limit: 1}\n")
    tenants = settings.tenants.model_copy(update={"budget": 0})
    agents = settings.agents.model_copy(update={"largest_file": 1_000_000})
    return settings.model_copy(update={"tenants": tenants, "agents": agents})


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running(_settings(tmp_path_factory.mktemp("agents"))) as made:
        for tenant in ("ada", "bob"):
            made.client().put(f"/tenants/{tenant}", json={})
        yield made


class Caller:
    """An agent that says what it likes."""

    def __init__(self, site: Site, name: str, tenant: str = "") -> None:
        self.site = site
        self.name = name
        token = site.token_for(Role.USER, tenant) if tenant else None
        made = site.client(token).post("/agent-tokens", json={"agent": name})
        assert made.status_code == 201, made.text
        self.id = made.json()["id"]
        self.token = made.json()["token"]
        self.http = httpx.Client(
            base_url=f"{site.url}/agent/v1", headers={"Authorization": f"Bearer {self.token}"}, timeout=20
        )
        self.serial = 0

    def register(self, **more: Any) -> httpx.Response:
        body = {"protocol": PROTOCOL, "session": "s1", "slots": [0], "max_slots": 1, **more}
        return self.http.put(f"/agents/{self.name}", json=body)

    def call(self, **more: Any) -> httpx.Response:
        self.serial += 1
        body = {"session": "s1", "serial": self.serial, "held": [], "ends": [], "wait": 0.0, **more}
        return self.http.post(f"/agents/{self.name}/orders", json=body)

    def order(self) -> dict[str, Any]:
        """The first order that comes."""
        for _ in range(200):
            orders = self.call(wait=0.5).json()["orders"]
            if orders:
                found: dict[str, Any] = orders[0]
                return found
        raise AssertionError("no order came")

    def leave(self) -> None:
        self.http.delete(f"/agents/{self.name}", params={"session": "s1"})
        self.http.close()


@pytest.fixture
def agent(site: Site, request: pytest.FixtureRequest) -> Iterator[Caller]:
    made = Caller(site, f"agent-{abs(hash(request.node.name))}", "ada")
    yield made
    made.leave()


@pytest.fixture
def ordered(site: Site, agent: Caller) -> Iterator[dict[str, Any]]:
    """An order that the agent was given."""
    assert agent.register().status_code == 200
    client = site.client(site.token_for(Role.USER, "ada"))
    run = submitted(client, SLOW)["id"]
    yield agent.order()
    client.post(f"/runs/{run}/cancel")


def test_a_token_is_needed_and_lets_in_one_agent_alone(site: Site, agent: Caller) -> None:
    other = Caller(site, f"{agent.name}-b", "bob")
    assert httpx.get(f"{site.url}/agent/v1/agent").status_code == 401
    assert agent.http.get("/agent").json()["agent"] == agent.name
    body = {"protocol": PROTOCOL, "session": "s1", "slots": [0], "max_slots": 1}
    assert other.http.put(f"/agents/{agent.name}", json=body).status_code == 401
    assert other.http.post(f"/agents/{agent.name}/orders", json={}).status_code == 401
    user = httpx.get(f"{site.url}/agent/v1/agent", headers={"Authorization": f"Bearer {site.token}"})
    assert user.status_code == 401, "tokens of people are not those of agents"
    assert site.client(agent.token).get("/runs").status_code == 401, "nor the other way round"
    other.leave()


def test_an_agent_of_another_protocol_is_told_what_to_install(agent: Caller) -> None:
    refused = agent.register(protocol=PROTOCOL + 1, version="99.0", novelty=True)
    assert refused.status_code == 409
    assert refused.json()["type"] == "/problems/protocol"
    assert "install tradewind" in refused.json()["detail"]


def test_an_agent_must_register_before_it_calls(agent: Caller) -> None:
    assert agent.call().status_code == 404
    assert agent.register().status_code == 200
    assert agent.call().status_code == 200
    assert agent.register(session="s2").status_code == 200
    replaced = agent.call()
    assert (replaced.status_code, replaced.json()["type"]) == (409, "/problems/replaced")


def test_a_type_that_can_be_rented_is_not_brought_by_an_agent(site: Site) -> None:
    made = Caller(site, "dear")
    assert made.register().status_code == 409
    made.leave()


@pytest.mark.parametrize(
    "wrong",
    [
        {"slots": [-1]},
        {"slots": ["x"]},
        {"slots": list(range(20_000))},
        {"session": "../x"},
        {"max_slots": -1},
        {"machine": {"price": -1}},
        {"machine": {"amounts": {"cpus": -1}}},
        {"machine": {"amounts": {"../x": 1}}},
        {"machine": {"speed": 0}},
        {"machine": {"unknown": 1}},
    ],
)
def test_what_cannot_be_offered_is_refused(agent: Caller, wrong: dict[str, Any]) -> None:
    assert agent.register(**wrong).status_code == 422
    assert agent.call().status_code == 404


@pytest.mark.parametrize(
    "wrong",
    [
        {"held": [["a", 1]]},
        {"held": [[1]]},
        {"serial": -1},
        {"ends": [{"unit": 1}]},
        {"ends": [{"unit": 1, "attempt": 1, "cpu": 0, "memory": 0, "results": 7}]},
        {"ends": [{"unit": 1, "attempt": 1, "cpu": -1, "memory": 0, "results": {}}]},
        {"ends": [7]},
        {"wait": -1},
    ],
)
def test_malformed_calls_are_refused(agent: Caller, wrong: dict[str, Any]) -> None:
    agent.register()
    assert agent.call(**wrong).status_code == 422


def test_forged_ends_are_ignored(site: Site, agent: Caller, ordered: dict[str, Any]) -> None:
    thief = Caller(site, f"{agent.name}-thief", "bob")
    thief.register()
    key = {"unit": ordered["unit"], "attempt": ordered["attempt"]}
    forged = {**key, "cpu": 0, "memory": 0, "results": {"a": {}}, "files": {"out": base64.b64encode(b"x").decode()}}
    assert thief.call(held=[[ordered["unit"], ordered["attempt"]]], ends=[forged]).status_code == 200
    unknown = forged | {"unit": 999_999}
    later = forged | {"attempt": ordered["attempt"] + 1}
    assert agent.call(ends=[unknown, later]).status_code == 200
    held = [[ordered["unit"], ordered["attempt"]]]
    assert agent.call(held=held).json()["drop"] == [], "it is still wanted"
    assert not Path(ordered["folder"]).exists()
    place = f"/agents/{thief.name}/attempts/{ordered['unit']}.{ordered['attempt']}"
    assert thief.http.put(f"{place}/files/out", params={"session": "s1"}, content=b"x").status_code == 404
    assert thief.http.get(f"{place}/inputs/0", params={"session": "s1"}).status_code == 404
    thief.leave()


@pytest.mark.parametrize(
    "path",
    ["../x", "../../../x", "a/../../x", "%2e%2e/x", "..%2fx", "/etc/x", "a//b", ".", "a%00b", "a%5cb", "x" * 300],
)
def test_files_of_an_attempt_land_in_its_folder_or_nowhere(
    site: Site, agent: Caller, ordered: dict[str, Any], path: str
) -> None:
    root = site.context.artefacts.root
    before = sorted(each for each in root.parent.rglob("*") if each.is_file() and each.suffix != ".db-wal")
    place = f"/agents/{agent.name}/attempts/{ordered['unit']}.{ordered['attempt']}/files"
    url = f"{site.url}/agent/v1{place}/{path}?session=s1"
    answer = agent.http.request("PUT", httpx.URL(url), content=b"hostile")
    assert answer.status_code in (401, 404, 405, 409, 422), answer.text
    inline = {"unit": ordered["unit"], "attempt": ordered["attempt"], "cpu": 0, "memory": 0, "results": {}}
    plain = path.replace("%2e", ".").replace("%2f", "/").replace("%00", "\0").replace("%5c", "\\")
    told = agent.call(ends=[inline | {"files": {plain: base64.b64encode(b"x").decode()}}])
    assert told.status_code in (409, 422), told.text
    after = sorted(each for each in root.parent.rglob("*") if each.is_file() and each.suffix != ".db-wal")
    assert [each for each in after if each not in before and ".db" not in each.name] == []


def test_a_link_in_an_attempts_folder_is_not_followed(agent: Caller, ordered: dict[str, Any], tmp_path: Path) -> None:
    folder = Path(ordered["folder"])
    folder.mkdir(parents=True)
    (folder / "away").symlink_to(tmp_path)
    place = f"/agents/{agent.name}/attempts/{ordered['unit']}.{ordered['attempt']}/files/away/x"
    assert agent.http.put(place, params={"session": "s1"}, content=b"x").status_code == 422
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_stored_and_bodies_have_limits(agent: Caller, ordered: dict[str, Any]) -> None:
    place = f"/agents/{agent.name}/attempts/{ordered['unit']}.{ordered['attempt']}/files"
    stored = agent.http.put(f"{place}/sub/out.txt", params={"session": "s1"}, content=b"fine")
    assert stored.status_code == 204
    assert (Path(ordered["folder"]) / "sub/out.txt").read_bytes() == b"fine"
    too_much = agent.http.put(f"{place}/big", params={"session": "s1"}, content=b"x" * 1_000_001)
    assert too_much.status_code == 413

    def drip() -> Iterator[bytes]:
        for _ in range(30):
            yield b"x" * 100_000

    streamed = agent.http.put(f"{place}/big", params={"session": "s1"}, content=drip())
    assert streamed.status_code == 413
    assert sorted(each.name for each in Path(ordered["folder"]).iterdir()) == ["sub"]
    oversized = agent.http.post(f"/agents/{agent.name}/orders", content=b"x" * (LARGEST + 1))
    assert oversized.status_code == 413


def test_a_body_is_not_read_for_a_token_that_is_not_known(site: Site) -> None:
    read = threading.Event()

    def body() -> Iterator[bytes]:
        yield b"{"
        read.wait(5)
        yield b"}"

    headers = {"Authorization": "Bearer twa_0123456789ab_nonsense"}
    with httpx.Client(timeout=10) as client:
        answer = client.put(f"{site.url}/agent/v1/agents/x", content=body(), headers=headers)
    assert answer.status_code == 401


def test_an_agent_reads_the_inputs_of_its_orders_and_nothing_of_others(site: Site, agent: Caller) -> None:
    agent.register()
    bobs = site.client(site.token_for(Role.USER, "bob"))
    adas = site.client(site.token_for(Role.USER, "ada"))
    secret = {"name": "text", "data": base64.b64encode(b"bob's secret").decode()}
    submission = {"workflow": READS, "uploads": {"text": secret}}
    of_bob = bobs.post("/runs", json=submission).json()
    stolen = of_bob["parameters"]["text"]
    mine = {"name": "text", "data": base64.b64encode(b"mine").decode()}
    body = {"workflow": READS, "uploads": {"text": mine}, "parameters": {"other": stolen}}
    run = adas.post("/runs", json=body).json()
    order = agent.order()
    assert [each[2] for each in order["files"]] == [4, 12]
    place = f"/agents/{agent.name}/attempts/{order['unit']}.{order['attempt']}/inputs"
    assert agent.http.get(f"{place}/0", params={"session": "s1"}).content == b"mine"
    assert agent.http.get(f"{place}/1", params={"session": "s1"}).status_code == 410, "it is bob's"
    assert agent.http.get(f"{place}/2", params={"session": "s1"}).status_code == 404
    for client, id in ((adas, run["id"]), (bobs, of_bob["id"])):
        client.post(f"/runs/{id}/cancel")


def test_refusals_and_changes_are_in_the_audit_log(site: Site, agent: Caller) -> None:
    agent.register()
    agent.call()
    httpx.put(f"{site.url}/agent/v1/agents/x", headers={"Authorization": "Bearer twa_0123456789ab_nonsense"})
    rows = site.client().get("/audit").json()["items"]
    noted = [(row["action"], row["target"], row["outcome"], row["token"]) for row in rows]
    assert ("PUT agents", f"/agent/v1/agents/{agent.name}", 200, agent.id) in noted
    assert any(target == "/agent/v1/agents/x" and outcome == 401 for _, target, outcome, _ in noted)
    assert not any(target.endswith("/orders") and outcome == 200 for _, target, outcome, _ in noted)


def test_a_revoked_token_is_refused_at_once(site: Site, agent: Caller) -> None:
    agent.register()
    assert agent.call().status_code == 200
    assert site.client().delete(f"/agent-tokens/{agent.id}").status_code == 204
    assert agent.call().status_code == 401
    assert agent.name not in [each["agent"] for each in site.client().get("/agents").json()["items"]]


def test_guesses_do_not_lock_out_an_agent_at_the_same_address(tmp_path: Path) -> None:
    with running(_settings(tmp_path, failed_rate=0.2)) as site:
        site.client().put("/tenants/ada", json={})
        agent = Caller(site, "desk", "ada")
        assert agent.register().status_code == 200
        statuses = {
            httpx.get(
                f"{site.url}/agent/v1/agent", headers={"Authorization": f"Bearer twa_0123456789ab_{guess}"}
            ).status_code
            for guess in range(5)
        }
        assert 429 in statuses
        assert agent.call().status_code == 200
        agent.leave()
