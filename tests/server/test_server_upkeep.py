"""What a server does beside answering: search that follows, files that are copied, old runs that go."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from server_rig import FAILS, HELLO, Obedient, Site, awaited, running, settings_for, submitted

from tradewind.live.loop import wall_clock
from tradewind.live.port import Listener
from tradewind.live.store.errors import StoreUnavailableError
from tradewind.server.background import KEPT, prune
from tradewind.server.settings import ArtefactsSection


def eventually(look: Callable[[], Any]) -> Any:
    """What something gives once it gives anything."""
    for _ in range(300):
        if found := look():
            return found
        threading.Event().wait(0.02)
    raise AssertionError("it never happened")


def searched(client: httpx.Client, query: str, **more: Any) -> dict[str, Any]:
    answer = client.get("/search", params={"q": query, **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_search_follows_what_happens(site: Site) -> None:
    client = site.client()
    run = awaited(client, submitted(client, FAILS, name="needle one")["id"])
    awaited(client, submitted(client, HELLO, name="needle two")["id"])
    found = eventually(lambda: (f := searched(client, "needle"))["counts"]["runs"] == 2 and f)
    assert [each["name"] for each in found["runs"]] == ["needle two", "needle one"]
    assert found["counts"] == {"runs": 2, "tasks": 0, "exact": True}
    failed = eventually(lambda: searched(client, f"is:task status:failed run:{run['id']}")["tasks"])
    assert (failed[0]["name"], failed[0]["run_name"], failed[0]["status"]) == ("fail", "needle one", "failed")
    assert searched(client, "error:widget", **{"in": "tasks"})["counts"]["tasks"] >= 1
    page = searched(client, "is:task", limit=2)
    seen = [task["number"] for task in page["tasks"]]
    while page["next"]:
        page = searched(client, "is:task", limit=2, cursor=page["next"])
        seen += [task["number"] for task in page["tasks"]]
    assert seen == sorted(set(seen), reverse=True)
    wrong = client.get("/search", params={"q": "colour:red"})
    assert (wrong.status_code, wrong.json()["type"]) == (422, "/problems/query")
    assert "column 1" in wrong.json()["detail"]


def test_old_runs_go_with_their_files(site: Site) -> None:
    client, context = site.client(), site.context
    old = awaited(client, submitted(client)["id"])
    eventually(lambda: context.pages.tallies([old["number"]]))
    folder = context.artefacts.root / old["id"]
    assert folder.is_dir()
    assert prune(context, wall_clock() + 1, keep=10**6) == 0
    assert folder.is_dir()
    assert prune(context, wall_clock() + 1, keep=0) >= 1
    assert not folder.exists()
    assert client.get(f"/runs/{old['id']}").status_code == 404
    assert searched(client, f"run:{old['id']}")["counts"]["runs"] == 0


def test_files_of_ended_attempts_are_copied(tmp_path: Path) -> None:
    kept_there = {"artefacts": ArtefactsSection(url=f"file://{tmp_path}/kept")}
    settings = settings_for(tmp_path / "site").model_copy(update=kept_there)
    with running(settings) as site:
        client = site.client()
        run = awaited(client, submitted(client)["id"])["id"]
        kept = tmp_path / "kept" / run / "a.1" / "out"
        eventually(kept.exists)
        (site.context.artefacts.root / run / "a.1" / "out").unlink()
        (site.context.artefacts.root / run / "a.1").rmdir()
        task = client.get(f"/runs/{run}/tasks").json()["items"][0]["number"]
        assert client.get(f"/runs/{run}/tasks/{task}/attempts/last/logs/out").text == "this is a\n"
        eventually(lambda: site.context.pages.note(KEPT))
        site.context.store.transact(lambda session: session.change("DELETE FROM notes WHERE name = :name", name=KEPT))
        (tmp_path / "kept" / run / "b.1" / "out").unlink()
    with running(settings) as site:  # as if it had been killed before it was copied
        eventually((tmp_path / "kept" / run / "b.1" / "out").exists)


def test_a_store_that_is_away_is_told_and_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(settings_for(tmp_path)) as site:
        client = site.client()
        away = threading.Event()
        away.set()
        save = site.context.store.save

        def failing(*values: Any) -> None:
            if away.is_set():
                raise StoreUnavailableError("the disk is full")
            save(*values)

        monkeypatch.setattr(site.context.store, "save", failing)
        answers: list[httpx.Response] = []
        thread = threading.Thread(target=lambda: answers.append(site.client().post("/runs", json={"workflow": HELLO})))
        thread.start()
        thread.join(0.4)
        assert not answers
        eventually(lambda: client.get(f"{site.url}/readyz").status_code == 503)
        away.clear()
        thread.join(10)
        assert answers[0].status_code == 201
        assert awaited(client, answers[0].json()["id"])["status"] == "done"
        assert client.get(f"{site.url}/readyz").status_code == 200


def test_a_driver_that_breaks_ends_the_server(tmp_path: Path) -> None:
    class Broken(Obedient):
        def start(self, orders: Any) -> None:
            raise RuntimeError("nobody thought of this")

    def engine(listener: Listener) -> Any:
        return Broken(listener)

    def breaks() -> None:
        ended = threading.Event()
        with running(settings_for(tmp_path), engine) as site:
            site.context.on_end = ended.set
            submitted(site.client())
            assert ended.wait(10)
            assert site.client().get(f"{site.url}/readyz").status_code == 503
            assert site.client().post("/runs", json={"workflow": HELLO}).status_code == 503

    with pytest.raises(AssertionError, match="nobody thought of this"):
        breaks()
