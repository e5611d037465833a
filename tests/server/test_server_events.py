"""Streams of events: complete, in order, each once, over any number of interruptions and restarts."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from server_rig import FAILS, HANGS, HELLO, Site, awaited, running, settings_for, submitted

from tradewind.live.store import coding
from tradewind.server.auth import Role
from tradewind.server.stream import BEGINNING, Position, position_of


class Told(NamedTuple):
    id: str
    name: str
    data: Any


def listened(client: httpx.Client, path: str, *, after: str | None = None, most: int = 1 << 30) -> Iterator[Told]:
    """Events of a stream, until it ends or there are so many."""
    headers = {} if after is None else {"Last-Event-ID": after}
    with client.stream("GET", path, headers=headers) as stream:
        assert stream.status_code == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
        fields: dict[str, str] = {}
        for line in stream.iter_lines():
            key, _, value = line.partition(": ")
            if line and not line.startswith(":"):
                fields[key] = value
            elif not line and fields:
                yield Told(fields.get("id", ""), fields["event"], json.loads(fields["data"]))
                fields, most = {}, most - 1
                if not most:
                    return


def logged(site: Site) -> list[tuple[str, str]]:
    """All events in the store with their ids."""
    return [
        (f"{batch.first}-{place}", record["event"])
        for batch in site.context.pages.batches(0, 100_000)
        for place, record in enumerate(coding.unpack(batch.payload))
    ]


def test_the_events_of_a_run_end_with_it(site: Site) -> None:
    client = site.client()
    run = submitted(client)
    events = list(listened(site.client(), f"/runs/{run['id']}/events"))
    names = [event.name for event in events]
    assert names[0] == "admitted"
    assert names[-2:] == ["ended", "end"]
    assert names.count("start") == names.count("finished") == 3
    assert events[-1].data == {"status": "done"}
    assert all(event.data.get("run", run["number"]) == run["number"] for event in events[:-1])
    assert list(listened(site.client(), f"/runs/{run['id']}/events")) == events
    half = len(events) // 2
    rest = list(listened(site.client(), f"/runs/{run['id']}/events", after=events[half].id))
    assert rest == events[half + 1 :]


def test_every_event_comes_once_however_often_a_client_comes_back(site: Site) -> None:
    client, listener = site.client(), site.client()
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            submitted(client, HELLO)

    worker = threading.Thread(target=work)
    worker.start()
    seen: list[tuple[str, str]] = []
    after = "start"
    try:
        for most in (1, 2, 50, 7, 300, 1, 100):
            part = [(each.id, each.name) for each in listened(listener, "/events", after=after, most=most)]
            seen += part
            after = part[-1][0]
    finally:
        stop.set()
        worker.join()
    assert seen == logged(site)[: len(seen)]


def test_nothing_is_missed_over_a_restart(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    seen: list[tuple[str, str]] = []
    after = "start"
    for round_ in range(3):
        with running(settings) as site:
            client = site.client(site.token_for(Role.ADMIN))
            listener = site.client(site.token_for(Role.ADMIN))
            if round_ == 0:
                left = submitted(client, HANGS)["id"]
            awaited(client, submitted(client)["id"])
            for event in listened(listener, "/events", after=after, most=12 + round_):
                seen.append((event.id, event.name))
                after = event.id
            assert client.get(f"/runs/{left}").json()["status"] == "active"
    with running(settings) as site:
        assert seen == logged(site)[: len(seen)]
        assert len(set(seen)) == len(seen)


def test_tenants_hear_of_their_own_only(site: Site) -> None:
    admin = site.client()
    for name in ("ada", "bob"):
        admin.put(f"/tenants/{name}", json={})
    ada, bob = (site.client(site.token_for(Role.USER, name)) for name in ("ada", "bob"))
    runs = {"ada": submitted(ada, FAILS)["number"], "bob": submitted(bob)["number"]}
    for client, name, other in ((ada, "ada", "bob"), (bob, "bob", "ada")):
        events = list(listened(client, "/events", after="start", most=8))
        assert {event.data.get("run") for event in events} - {None} == {runs[name]}
        assert other not in json.dumps([event.data for event in events])
    both = list(listened(admin, "/events?tenant=ada", after="start", most=8))
    assert {event.data.get("run") for event in both} - {None} == {runs["ada"]}


def test_a_quiet_stream_gives_signs_of_life(site: Site) -> None:
    client = site.client()
    with client.stream("GET", "/events") as stream:
        lines = stream.iter_lines()
        assert [next(lines) for _ in range(4)] == [": ", "", ": ", ""]


@pytest.mark.parametrize("wrong", ["x", "1", "1-", "-", "1-x", "1--1", "9" * 30 + "-0", "é-1", "1 - 2"])
def test_ids_that_are_none_are_refused(site: Site, wrong: str) -> None:
    assert site.client().get("/events", params={"after": wrong}).status_code == 422


def test_a_gap_is_told(tmp_path: Path) -> None:
    with running(settings_for(tmp_path)) as site:
        client = site.client()
        for _ in range(3):
            awaited(client, submitted(client)["id"])
        site.context.store.transact(lambda session: session.change("DELETE FROM log WHERE first < 4"))
        first = next(listened(site.client(), "/events", after="1-0", most=1))
        assert first.name == "gap"
        assert first.data["after"] == "1-0"


@given(st.integers(-1, 2**61), st.integers(0, 10**6))
def test_positions_are_read_as_they_are_written(first: int, place: int) -> None:
    assert position_of(str(Position(first, place))) == Position(first, place)


@given(st.text(max_size=30))
def test_any_text_is_a_position_or_none(text: str) -> None:
    found = position_of(text)
    assert found is None or found >= BEGINNING
