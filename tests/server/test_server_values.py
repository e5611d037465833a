"""Values from steps and submissions: what cannot be kept fails its step, and never the server."""

import json
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from server_rig import FAILS, Obedient, Site, awaited, running, settings_for, submitted

from tradewind.live.port import Broke, Done, Order

sys.path.insert(0, str(Path(__file__).parents[1] / "live" / "store"))
from store_places import ended_server, new_database  # noqa: F401

USED = """
name: used
steps:
  a: {run: "COMMAND", outputs: {n: json}}
  b: {run: "echo {{ a.n }}", when: "WHEN", outputs: {m: json}}
outputs: {whole: "{{ a.n }}", inside: ["{{ a.n }}"], text: "it is {{ a.n }}", m: "{{ b.m }}"}
"""
"""What the first step gives is looked at, passed on to the second, and part of what the program gives."""
HOSTILE = {
    "a number of 65 bits": (2**64, "64 bits"),
    "half a character": ("\ud800", "Unicode"),
    "a key of half a character": ({"\udfff": 1}, "Unicode"),
    "no number": (float("nan"), "finite"),
    "infinite": ([-float("inf")], "finite"),
    "deep": (json.loads("[" * 900 + "]" * 900), "deep"),
    "large": ("x" * (17 << 20), "16 MiB"),
    "many": ([0] * 3_000_000, "16 MiB"),
}


LONG = """
name: long
steps:
  a: {run: x, outputs: {n: json}}
  hang: {run: "echo {{ a.n }}", when: "{{ a.n }}"}
"""
WHENS = (
    "true",
    "{{ a.n != 5 }}",
    "{{ len(str([a.n] * 1000)) > 3 }}",
    "{{ [a.n] + [a.n] }}",
    "{{ a.n * 1000000 }}",
    "{{ sorted([a.n, a.n]) }}",
    "{{ a.n.x.y }}",
    "{{ default(a.n[0], a.n.x, join(flatten([[a.n]]), a.n)) }}",
    "{{ len(str(['a' * 1000000] * a.n)) > 3 }}",
)


class Giving(Obedient):
    """Lets every step give what is to be given at present."""

    gives: Any = None

    @staticmethod
    def _do(order: Order) -> Done | Broke:
        if order.chain.startswith("fail"):
            return Broke(order.unit, order.attempt, order.machine, "error", Giving.gives)
        results = {call.id: dict.fromkeys(call.outputs, Giving.gives) for call in order.calls}
        return Done(order.unit, order.attempt, order.machine, results)


def story(site: Site, when: str = "true", text: str = USED, command: str = "x") -> tuple[str, str]:
    """How a run ends whose steps give what is to be given, and why; whatever can be asked of it is answered."""
    client = site.client()
    document = text.replace("WHEN", when).replace("COMMAND", command)
    run = awaited(client, submitted(client, document, cache=False)["id"])
    for path in ("", "/results", "/tasks", "/document", "/cost", "/critical-path"):
        assert client.get(f"/runs/{run['id']}{path}").status_code in (200, 404), path
    with client.stream("GET", f"/runs/{run['id']}/events") as stream:
        events = [line for line in stream.iter_lines() if line.startswith("event: ")]
    assert events[-1] == "event: end"
    assert client.get("/search", params={"q": "used"}).status_code == 200
    reasons = [run.get("reason") or "", *map(str, run["failures"])]
    return run["status"], "; ".join(filter(None, reasons))


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    store = {} if request.param == "sqlite" else {"store": new_database()}
    settings = settings_for(tmp_path_factory.mktemp("site"), auth=False, **store)
    with running(settings, Giving) as made:
        yield made
    with running(settings, Giving) as again:  # nothing that was ever saved keeps a server from starting
        Giving.gives = 1
        assert story(again)[0] == "done"


@pytest.mark.parametrize("what", HOSTILE)
def test_a_value_that_cannot_be_kept_fails_its_step_with_the_reason(site: Site, what: str) -> None:
    Giving.gives, reason = HOSTILE[what]
    status, why = story(site)
    assert (status, "output \\'n\\' " in why or "output 'n' " in why, reason in why) == ("failed", True, True), why
    Giving.gives = 1
    assert story(site) == ("done", "")


def test_an_expression_that_builds_too_much_fails_its_run(site: Site) -> None:
    Giving.gives = 1_000_000
    status, why = story(site, "{{ len(str(['a' * 1000000] * a.n)) > 3 }}")
    assert (status, "more than 1,000,000 items" in why) == ("failed", True), why


def test_a_reason_that_is_not_text_is_told_all_the_same(site: Site) -> None:
    Giving.gives = "half a character: \ud800, nothing: \0"
    status, why = story(site, text=FAILS)
    assert (status, "half a character" in why) == ("failed", True)


atoms = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(2**62, 2**66),
    st.floats(),
    st.text(st.characters(), max_size=20),
    st.sampled_from(["\ud800", "\0", "{{ a.n }}", "'; echo", "$(x)", "x" * 100_000]),
)
values = st.recursive(
    atoms,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
) | st.integers(90, 1100).map(lambda depth: json.loads("[" * depth + "]" * depth))


@given(value=values, when=st.sampled_from(WHENS))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_a_step_gives_its_run_ends_and_the_server_goes_on(site: Site, value: Any, when: str) -> None:
    Giving.gives = value
    assert story(site, when)[0] in ("done", "failed")
    assert site.context.service.is_running


@given(value=values)
@settings(max_examples=40, deadline=None)
def test_whatever_is_submitted_is_taken_or_refused(site: Site, value: Any) -> None:
    Giving.gives = 1
    document = {
        "name": "given",
        "params": {"x": {"default": value}},
        "steps": {"a": {"run": "echo {{ params.x }}", "inputs": {"y": value}, "outputs": {"n": "json"}}},
        "outputs": {"x": "{{ params.x }}", "y": value},
    }
    text = json.dumps(document)
    sent = site.client().post("/runs", content=text, headers={"Content-Type": "application/yaml"})
    assert sent.status_code in (201, 413, 422), sent.text
    if sent.status_code == 201:
        run = awaited(site.client(), sent.json()["id"])
        assert site.client().get(f"/runs/{run['id']}/results").status_code == 200


def test_a_parameter_of_more_than_64_bits_is_refused_and_not_rounded(site: Site) -> None:
    document = "params: {p: {}}\nsteps: {a: {run: 'echo {{ params.p }}'}}"
    body = f'{{"workflow": {json.dumps(document)}, "parameters": {{"p": {2**64}}}}}'
    sent = site.client().post("/runs", content=body, headers={"Content-Type": "application/json"})
    assert sent.status_code == 422, sent.text
    assert "64 bits" in sent.text


def test_what_real_workers_bring_home_is_checked_too(tmp_path: Path) -> None:
    printed = {
        "18446744073709551616": "64 bits",
        json.dumps("\ud800"): "Unicode",
        "[" * 900 + "]" * 900: "deep",
        "[" * 90_000 + "]" * 90_000: "deep",
        "NaN": "finite",
    }
    with running(settings_for(tmp_path), None) as site:
        for text, reason in printed.items():
            (tmp_path / "value").write_text(text)
            status, why = story(site, command=f"cat {tmp_path / 'value'}")
            assert (status, "output" in why, reason in why) == ("failed", True, True), why
        (tmp_path / "value").write_text("3")
        assert story(site, command=f"cat {tmp_path / 'value'}")[0] == "done"


@pytest.mark.parametrize("place", ["sqlite", "postgres"])
@pytest.mark.parametrize("what", ["results", "document", "chain"])
def test_a_run_that_cannot_be_rebuilt_fails_and_the_others_go_on(tmp_path: Path, place: str, what: str) -> None:
    settings = settings_for(tmp_path, auth=False, **({} if place == "sqlite" else {"store": new_database()}))
    Giving.gives = 7
    with running(settings, Giving) as site:
        client = site.client()
        poisoned, sound = (submitted(client, LONG, cache=False)["id"] for _ in range(2))
        for run in (poisoned, sound):
            while client.get(f"/runs/{run}").json()["tasks"].get("running") != 1:
                threading.Event().wait(0.02)
        number = next(run.number for run in site.context.pages.runs() if run.id == poisoned)
    statements = {
        "results": """UPDATE units SET results = '{"a": {"n": 99999999999999999999}}' WHERE run = %d AND chain = 'a'""",
        "document": "UPDATE documents SET document = 'nonsense' WHERE run = %d",
        "chain": "UPDATE units SET tasks = NULL WHERE run = %d AND chain LIKE 'hang%%'",
    }
    if place == "sqlite":
        with closing(sqlite3.connect(tmp_path / "store.db")) as connection, connection:
            assert connection.execute(statements[what].replace("'nonsense'", "x'00'") % number).rowcount == 1
    else:
        with psycopg.connect(str(settings.server.store), autocommit=True) as database:
            assert database.execute(statements[what] % number).rowcount == 1
    with running(settings, Giving) as site:
        client = site.client()
        if what != "results":
            found = awaited(client, poisoned)
            assert (found["status"], "cannot be processed" in found["reason"]) == ("failed", True)
        assert client.get(f"/runs/{sound}").json()["status"] == "active"
        assert client.get(f"/runs/{poisoned}/tasks").status_code == 200
        assert story(site)[0] == "done"
    with running(settings, Giving) as site:
        assert site.client().get(f"/runs/{sound}").json()["status"] == "active"
