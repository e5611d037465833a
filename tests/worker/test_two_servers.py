"""Two whole servers over one store, behind a proxy that sends each request to the next: nobody notices."""

import sys
from pathlib import Path

import pytest
from full_server import FullServer, StandBy, squares, started
from round_robin import round_robin
from running import wait_for, worker

sys.path.insert(0, str(Path(__file__).parents[1] / "live" / "store"))
from store_places import DATABASES, ended_server, new_database  # noqa: F401


@pytest.mark.parametrize("kind", DATABASES)
def test_two_servers_over_one_store_are_as_one(kind: str, tmp_path: Path) -> None:
    store = ("--store", new_database()) if kind == "postgres" else ()
    first, second = FullServer(tmp_path, *store), StandBy(tmp_path, *store)
    body = {"iterations": 6_000, "target": 20, "reducer": "sum", "initial": 2, "maximum": 2}
    with started(first, second), round_robin(first.url, second.url) as url:
        tokens = [first.site_token("a"), second.site_token("b")]
        job = second.ask("POST", "/jobs", body | {"command": first.command})["id"]
        with worker(url, tokens[0], slots=1, most=1), worker(url, tokens[1], slots=1, most=1):
            wait_for(lambda: first.ask("GET", f"/jobs/{job}")["state"] == "done", within=90)
        shown = [server.ask("GET", f"/jobs/{job}") for server in (first, second)]
        assert shown[0] == shown[1]
        assert (shown[0]["delivered"], shown[0]["computed"]) == (6_000, 6_000)
        results = [server.ask("GET", f"/jobs/{job}/results")["result"] for server in (first, second)]
        assert results == [squares(6_000)] * 2
        assert {each["site"] for each in second.ask("GET", f"/jobs/{job}/partitions")["items"]} == {"a", "b"}


def test_a_server_that_dies_is_not_missed_while_another_one_lives(tmp_path: Path) -> None:
    first, second = StandBy(tmp_path), StandBy(tmp_path)
    with started(first, second), round_robin(first.url, second.url) as url:
        body = {"iterations": 8_000, "target": 20, "reducer": "sum"}
        job = first.ask("POST", "/jobs", body | {"command": first.command})["id"]
        with worker(url, first.site_token("a"), slots=1, most=1):
            wait_for(lambda: second.ask("GET", f"/jobs/{job}")["delivered"] > 0)
            first.kill()  # every other request now fails, and is sent again
            wait_for(lambda: second.ask("GET", f"/jobs/{job}")["state"] == "done", within=300)
        assert second.ask("GET", f"/jobs/{job}/results")["result"] == squares(8_000)
        first.start()
