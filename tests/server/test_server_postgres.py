"""The same server over PostgreSQL."""

import json
import sys
from pathlib import Path

from server_rig import FAILS, HELLO, awaited, running, settings_for, submitted

sys.path.insert(0, str(Path(__file__).parents[1] / "live" / "store"))
from store_places import ended_server, new_database, running_server  # noqa: F401


def test_runs_events_search_and_access_work_over_postgres(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, store=new_database())
    with running(settings) as site:
        client = site.client()
        key = {"Idempotency-Key": "k", "Content-Type": "application/yaml"}
        first = client.post("/runs", content=HELLO, headers=key)
        assert (first.status_code, client.post("/runs", content=HELLO, headers=key).status_code) == (201, 200)
        assert awaited(client, first.json()["id"])["tasks"] == {"done": 3}
        failed = awaited(client, submitted(client, FAILS, name="needle")["id"])
        assert failed["failures"][0]["name"] == "fail"
        assert client.put("/tenants/ada", json={"budget": 3}).status_code == 201
        token = client.post("/tokens", json={"name": "x", "role": "user", "tenant": "ada"}).json()["token"]
        ada = site.client(token)
        assert ada.get("/runs").json()["items"] == []
        assert ada.get(f"/runs/{failed['id']}").status_code == 404
        assert client.get("/cost", params={"by": "machine_type"}).json()["total"] > 0
        assert client.get(f"/runs/{failed['id']}/cost").status_code == 200
        assert client.get("/audit").json()["items"]
        while True:  # the index follows the log a moment later
            found = client.get("/search", params={"q": "needle status:failed"}).json()
            if found["runs"]:
                break
        assert found["counts"]["runs"] == 1
        assert found["runs"][0]["name"] == "needle"
        assert client.get("/search", params={"q": "error:widget is:task"}).json()["counts"]["tasks"] == 1
        with client.stream("GET", f"/runs/{failed['id']}/events") as stream:
            lines = [line for line in stream.iter_lines() if line.startswith("event: ")]
        assert (lines[0], lines[-1]) == ("event: admitted", "event: end")
        assert client.delete(f"/runs/{failed['id']}").status_code == 204
    with running(settings) as site:
        assert site.token is None  # there is one already
        assert site.context.pages.runs()[0].status == "done"


def test_an_outage_of_the_database_is_told_to_those_who_look_and_those_who_listen(tmp_path: Path) -> None:
    database = running_server()
    with running(settings_for(tmp_path, store=new_database())) as site:
        ready = site.client()
        ready.base_url = site.url
        with site.client().stream("GET", "/events") as stream:
            lines = stream.iter_lines()
            next(lines)
            database.stop()
            try:
                away = next(json.loads(line[6:]) for line in lines if line.startswith("data: "))
                assert (away["available"], "cannot be reached" in away["text"]) == (False, True)
                assert ready.get("/readyz").json() == {"status": "store unavailable"}
            finally:
                database.start()
            back = next(json.loads(line[6:]) for line in lines if line.startswith("data: "))
            assert (back["available"], "can be reached again" in back["text"]) == (True, True)
        assert ready.get("/readyz").status_code == 200
