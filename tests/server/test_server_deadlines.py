"""Deadlines over REST: given with the work, foreseen while it runs, warned of in the stream of events."""

import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from server_rig import HANGS, HELLO, Site, awaited, running, settings_for, submitted
from test_server_events import listened

from tradewind.server.settings import Settings

LATE = (
    "name: late\ntasks:\n  hang: {run: sleep 9, runtime: 2h}\n  b: {run: echo, needs: [hang]}\n"
    "  c: {run: echo, needs: [hang]}\n"
)


def by_deadline(folder: Path) -> Settings:
    """A server that looks ahead."""
    plain = settings_for(folder, auth=False)
    return plain.model_copy(update={"policy": plain.policy.model_copy(update={"name": "scs+"})})


def foreseen(client: httpx.Client, run: str) -> dict[str, Any]:
    """A run as soon as its end is foreseen."""
    for _ in range(400):
        found: dict[str, Any] = client.get(f"/runs/{run}").json()
        if found["predicted"] is not None:
            return found
        time.sleep(0.02)
    raise AssertionError(f"nobody foresees the end of {run}")


def test_the_foreseen_end_and_the_slack_are_told_with_a_run_and_in_lists(tmp_path: Path) -> None:
    with running(by_deadline(tmp_path)) as site:
        client = site.client()
        run = foreseen(client, submitted(client, HANGS, deadline="2h")["id"])
        assert run["slack"] == pytest.approx(run["deadline"] - run["predicted"])
        assert 0 < run["slack"] < 7200
        (listed,) = client.get("/runs").json()["items"]
        assert (listed["predicted"], listed["slack"]) == (run["predicted"], run["slack"])


def test_a_miss_is_warned_of_as_soon_as_it_is_foreseen(tmp_path: Path) -> None:
    with running(by_deadline(tmp_path)) as site:
        client = site.client()
        run = submitted(client, LATE, deadline="1h")
        for event in listened(site.client(), f"/runs/{run['id']}/events"):
            if event.name == "predicted":
                assert event.data["slack"] < -3600 + 60
                assert event.data["finish"] > run["deadline"]
                break
        shown = foreseen(client, run["id"])
        assert shown["status"] == "active"
        assert shown["slack"] < 0


def test_what_is_foreseen_outlives_a_restart(tmp_path: Path) -> None:
    with running(by_deadline(tmp_path)) as site:
        client = site.client()
        before = foreseen(client, submitted(client, LATE, deadline="1h")["id"])
    with running(settings_for(tmp_path, auth=False)) as site:  # under a policy that foresees nothing itself
        after = site.client().get(f"/runs/{before['id']}").json()
        assert (after["predicted"], after["slack"]) == (before["predicted"], before["slack"])


def test_a_deadline_is_taken_from_the_document_from_the_query_and_from_the_envelope(site: Site) -> None:
    client = site.client()
    yaml = {"Content-Type": "application/yaml"}
    answers = [
        client.post("/runs", content=f"deadline: 30m\n{HELLO}", headers=yaml),
        client.post("/runs", content=HELLO, headers=yaml, params={"deadline": "30m"}),
        client.post("/runs", json={"workflow": HELLO, "deadline": "30m"}),
        client.post("/runs", json={"workflow": f"deadline: 5h\n{HELLO}", "deadline": 1800}),
    ]
    for answer in answers:
        assert answer.status_code == 201, answer.text
        run = answer.json()
        assert run["deadline"] - run["submitted"] == pytest.approx(1800)
        done = awaited(client, run["id"])
        assert done["predicted"] is None, "it has ended"
        assert done["slack"] == pytest.approx(done["deadline"] - done["ended"])


@pytest.mark.parametrize("deadline", ["soon", "-1h", "0s", 0])
def test_a_deadline_that_makes_no_sense_is_refused(site: Site, deadline: object) -> None:
    answer = site.client().post("/runs", json={"workflow": HELLO, "deadline": deadline})
    assert answer.status_code == 422
    assert "deadline" in answer.json()["detail"]
