"""Handing in work over REST, and what can be done with it."""

import gzip
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from server_rig import FAILS, HANGS, HELLO, Site, awaited, submitted


@pytest.fixture
def client(site: Site) -> httpx.Client:
    return site.client()


def test_a_workflow_is_handed_in_and_done(client: httpx.Client) -> None:
    run = submitted(client, name="first", priority=3, deadline="2h")
    assert (run["name"], run["priority"], run["tenant"]) == ("first", 3, "default")
    assert run["deadline"] == pytest.approx(run["submitted"] + 7200)
    done = awaited(client, run["id"])
    assert done["status"] == "done"
    assert done["tasks"] == {"done": 3}
    assert done["ended"] >= done["submitted"]
    tasks = client.get(f"/runs/{run['id']}/tasks").json()
    assert [task["name"] for task in tasks["items"]] == ["a", "b", "c"]
    assert tasks["next"] is None
    assert client.get(f"/runs/{run['id']}/document").json()["tasks"][1]["needs"] == ["a"]


def test_json_text_and_packed_documents_are_taken(client: httpx.Client) -> None:
    inside = {"name": "j", "tasks": {"a": {"run": "echo"}}}
    for answer in (
        client.post("/runs", json={"workflow": inside, "name": "from json", "keep_going": True}),
        client.post("/runs", json={"workflow": HELLO, "priority": -2}),
        client.post(
            "/runs", content=gzip.compress(HELLO.encode()), headers={"Content-Type": "application/octet-stream"}
        ),
        client.post(
            "/runs", content=b'<adag name="x"><job id="1" name="n"/></adag>', headers={"Content-Type": "text/xml"}
        ),
    ):
        assert answer.status_code == 201, answer.text
        assert awaited(client, answer.json()["id"])["status"] == "done"


@pytest.mark.parametrize(
    ("inside", "sent", "name"),
    [("name: j", {}, "j"), ("", {}, "align"), ("name: j", {"name": "night"}, "night")],
    ids=["its own", "of its file", "as given"],
)
def test_a_run_is_named_by_its_document_its_file_or_who_hands_it_in(
    client: httpx.Client, inside: str, sent: dict[str, str], name: str
) -> None:
    text = f"{inside}\nsteps: {{a: {{run: 'true'}}}}\n"
    answer = client.post("/runs", json={"workflow": text, "file": "align.yaml"} | sent)
    assert (answer.status_code, answer.json()["name"]) == (201, name)


def test_a_program_takes_parameters_and_files_and_gives_results(client: httpx.Client) -> None:
    inner = "params: {n: {type: int}}\nsteps:\n  say: {run: 'echo {{ params.n }}'}\n"
    outer = "name: p\nparams: {n: {type: int}}\nsteps:\n  part: {include: inner.yaml, inputs: {n: '{{ params.n }}'}}\n"
    sent = {"workflow": outer, "files": {"inner.yaml": inner}, "parameters": {"n": 7}}
    answer = client.post("/runs", json=sent)
    assert answer.status_code == 201, answer.text
    assert answer.json()["parameters"] == {"n": 7}
    assert awaited(client, answer.json()["id"])["status"] == "done"
    assert client.get(f"/runs/{answer.json()['id']}/results").json()["results"] == {}
    wrong = client.post("/runs", json=sent | {"parameters": {"n": "many"}})
    assert (wrong.status_code, wrong.json()["type"]) == (422, "/problems/parameters")
    missing = client.post("/runs", json={"workflow": outer, "parameters": {"n": 7}})
    assert missing.status_code == 422
    assert "inner.yaml" in missing.json()["detail"]


def test_no_file_of_the_host_is_read_for_a_document(client: httpx.Client, tmp_path: Path) -> None:
    secret = tmp_path / "secret.yaml"
    secret.write_text("steps:\n  leak: {run: echo hunter2}\n")
    for text in (f"steps:\n  a: {{include: {secret}}}\n", f"workload: [{{workflow: {secret}}}]\nmachines: {secret}\n"):
        answer = client.post("/runs", content=text, headers={"Content-Type": "application/yaml"})
        assert answer.status_code == 422, answer.text
        assert "hunter2" not in answer.text


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("tasks:\n  a: {ruin: echo}\n", "ruin"),
        ("tasks:\n  a: {needs: [b]}\n  b: {needs: [a]}\n", "each other"),
        ("tasks:\n  a: {run: echo, capabilities: [fpga]}\n", "fpga"),
        ("machines:\n  a: {price: 1}\n", "not a workflow"),
        ("", "empty"),
        ("\x00\x01", ""),
        ("[1, 2", ""),
    ],
)
def test_what_cannot_be_used_is_refused_whole(client: httpx.Client, text: str, word: str) -> None:
    before = client.get("/runs", params={"limit": 1}).json()
    answer = client.post("/runs", content=text, headers={"Content-Type": "application/yaml"})
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert word in answer.json()["detail"]
    assert client.get("/runs", params={"limit": 1}).json()["items"][:1] == before["items"][:1]


def test_lists_go_by_pages_and_filters(client: httpx.Client) -> None:
    ids = [submitted(client, name=f"paged {number}")["id"] for number in range(5)]
    for run in ids:
        awaited(client, run)
    seen, cursor = [], None
    while True:
        page = client.get(
            "/runs", params={"name": "paged", "limit": 2, **({"cursor": cursor} if cursor else {})}
        ).json()
        assert len(page["items"]) <= 2
        seen += [run["id"] for run in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == ids[::-1]
    assert client.get("/runs", params={"name": "paged", "status": "failed"}).json()["items"] == []
    assert client.get("/runs", params={"since": 4e9}).json() == {"items": [], "next": None}
    assert client.get("/runs", params={"cursor": "nonsense"}).status_code == 422
    other = client.get(f"/runs/{ids[0]}/tasks", params={"limit": 1}).json()
    assert client.get("/runs", params={"cursor": other["next"]}).status_code == 422


def test_a_run_is_cancelled(client: httpx.Client) -> None:
    run = submitted(client, HANGS)["id"]
    answer = client.post(f"/runs/{run}/cancel")
    assert (answer.status_code, answer.json()["status"]) == (202, "cancelled")
    assert answer.json()["tasks"] == {"cancelled": 3}
    assert client.post(f"/runs/{run}/cancel").status_code == 409
    assert client.post(f"/runs/{run}/cancel", json={"force": True}).status_code == 202


def test_a_failed_run_is_tried_again_and_says_why(client: httpx.Client) -> None:
    run = submitted(client, FAILS)["id"]
    failed = awaited(client, run)
    assert failed["failures"] == [
        {
            "task": failed["failures"][0]["task"],
            "name": "fail",
            "attempt": 1,
            "reason": "exit code 1: the widget was stuck",
        }
    ]
    assert failed["tasks"] == {"failed": 1, "cancelled": 2}
    assert client.post(f"/runs/{run}/retry").status_code == 202
    awaited(client, run)
    explained = client.get(f"/runs/{run}/explain").json()
    assert explained["again"][0]["name"] == "fail"
    assert explained["again"][0]["why"][0]["reason"] == "exit code 1: the widget was stuck"
    done = submitted(client)["id"]
    awaited(client, done)
    assert client.post(f"/runs/{done}/retry").status_code == 409


def test_a_suspended_run_starts_nothing_until_it_goes_on(client: httpx.Client) -> None:
    run = submitted(client, HANGS)["id"]
    assert client.post(f"/runs/{run}/suspend").json()["status"] == "suspended"
    assert [each["id"] for each in client.get("/runs", params={"status": "suspended"}).json()["items"]] == [run]
    assert run not in [each["id"] for each in client.get("/runs", params={"status": "active"}).json()["items"]]
    assert client.post(f"/runs/{run}/resume").json()["status"] == "active"
    dated = client.put(f"/runs/{run}/deadline", json={"deadline": "3h"}).json()
    assert dated["deadline"] == dated["submitted"] + 3 * 3600
    assert client.put(f"/runs/{run}/deadline", json={"deadline": None}).json()["deadline"] is None
    for wrong in ({"deadline": "soon"}, {"deadline": 0}, {}):
        assert client.put(f"/runs/{run}/deadline", json=wrong).status_code == 422
    assert client.put(f"/runs/{run}/priority", json={"priority": 9}).json()["priority"] == 9
    assert client.put(f"/runs/{run}/priority", json={"priority": "x"}).status_code == 422
    assert client.post(f"/runs/{run}/cancel").status_code == 202


def test_why_a_task_waits_is_told(client: httpx.Client) -> None:
    run = submitted(client, HANGS)["id"]
    try:
        tasks = {task["name"]: task["number"] for task in client.get(f"/runs/{run}/tasks").json()["items"]}
        told = client.get(f"/runs/{run}/tasks/{tasks['b']}/explain").json()
        assert (told["cause"], told["text"]) == ("waits for parents", "waits for hang")
        explained = client.get(f"/runs/{run}/explain").json()
        assert {each["name"] for each in explained["waiting"]} == {"hang", "b", "c"}
    finally:
        client.post(f"/runs/{run}/cancel")


def test_an_ended_run_is_forgotten_with_its_files(client: httpx.Client, site: Site) -> None:
    run = submitted(client, HANGS)["id"]
    assert client.delete(f"/runs/{run}").status_code == 409
    client.post(f"/runs/{run}/cancel")
    assert client.delete(f"/runs/{run}").status_code == 204
    assert client.get(f"/runs/{run}").status_code == 404
    assert not (site.context.artefacts.root / run).exists()


def test_a_key_hands_in_once_even_at_the_same_time(client: httpx.Client) -> None:
    def hand_in(text: str) -> httpx.Response:
        headers = {"Idempotency-Key": "once", "Content-Type": "application/yaml"}
        return client.post("/runs", content=text, headers=headers)

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(hand_in, [HELLO] * 8))
    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [201]
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert hand_in(HELLO).status_code == 200
    other = hand_in(FAILS)
    assert (other.status_code, other.json()["type"]) == (409, "/problems/key")


def test_machines_setups_policies_and_cost_are_told(client: httpx.Client) -> None:
    run = submitted(client, HANGS)["id"]
    while True:
        held = client.get("/machines").json()["items"]
        if any(machine["running"] for machine in held):
            break
    machine = next(machine for machine in held if machine["running"])
    assert client.get(f"/machines/{machine['number']}").json()["status"] == "busy"
    attempts = client.get(f"/runs/{run}/tasks/{machine['running'][0]}/attempts").json()["items"]
    assert [attempt["outcome"] for attempt in attempts] == ["running"]
    assert client.post(f"/machines/{machine['number']}/drain").json()["status"] == "draining"
    assert client.post(f"/machines/{machine['number']}/remove").status_code == 202
    assert client.get(f"/machines/{machine['number']}").json()["status"] in ("released", "lost")
    assert client.post(f"/machines/{machine['number']}/remove").status_code == 409
    client.post(f"/runs/{run}/cancel")
    assert client.get("/machines/99999").status_code == 404
    setups = {setup["name"]: setup for setup in client.get("/setups").json()["items"]}
    assert setups["big"]["capabilities"] == ["gpu"]
    assert client.get("/setups/big").json() == setups["big"]
    assert [policy["name"] for policy in client.get("/policies").json()["items"] if policy["active"]] == ["demand"]
    total = client.get("/cost").json()
    assert total["total"] > 0
    for by in ("machine_type", "machine", "interval", "run"):
        found = client.get("/cost", params={"by": by}).json()
        if by != "run":  # idle time is nobody's
            assert found["total"] == pytest.approx(total["total"])
        assert found["items"]
    assert client.get(f"/runs/{run}/cost").json()["by_machine_type"][0]["machine_type"] == "small"


def test_a_step_that_no_machine_can_run_is_refused_at_once_where_it_is_certain_to_come(client: httpx.Client) -> None:
    text = "name: sure\nsteps:\n  a: {run: echo}\n  b: {run: echo, capabilities: [quantum], needs: [a]}\n"
    answer = client.post("/runs", content=text, headers={"Content-Type": "application/yaml"})
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/impossible")
    assert "step 'b' needs 'quantum'" in answer.json()["detail"]


def test_a_step_that_no_machine_can_run_and_comes_later_fails_its_run_and_nothing_else(client: httpx.Client) -> None:
    text = "name: later\nsteps:\n  a: {run: echo}\n  b: {for_each: '{{ range(1) }}', run: echo, needs: [a], gpus: 9}\n"
    run = submitted(client, text)
    failed = awaited(client, run["id"])
    assert (failed["status"], failed["failures"]) == ("failed", [])
    assert failed["reason"] == "no machine type offers what task 'b[0]' needs: gpus=9"
    assert failed["impossible"]
    assert client.get(f"/runs/{run['id']}/explain").json()["summary"] == failed["reason"]
    done = awaited(client, submitted(client)["id"])
    assert (done["status"], done["reason"], done["impossible"]) == ("done", None, False)
