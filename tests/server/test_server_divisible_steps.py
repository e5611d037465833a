"""Steps that are divisible jobs, on a server: done by the sites that are connected, or here where there are none."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from server_rig import Obedient, Site, awaited, running, settings_for, submitted

STEP = """
steps:
  price:
    divisible: {iterations: 100, run: ./price, within: 1h, reduce: sum}
    outputs: {total: return}
  show: {run: "echo {{ price.total }}"}
"""


class Worker:
    """A site that does its partitions at once, when it is told to."""

    def __init__(self, site: Site, client: httpx.Client, name: str = "far") -> None:
        token = client.post("/site-tokens", json={"site": name}).json()["token"]
        self.name = name
        self.http = httpx.Client(base_url=site.url, headers={"Authorization": f"Bearer {token}"})
        self.call("PUT", f"/worker/v1/sites/{name}", {"slots": 2, "max_slots": 2})
        self.count = 0
        self.commands: list[Any] = []

    def call(self, method: str, path: str, body: Any = None, lease: str = "") -> Any:
        headers = {"Authorization": f"Bearer {lease}"} if lease else {}
        answer = self.http.request(method, path, json=body, headers=headers)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def step(self) -> int:
        """Take a partition, if there is one, and do part of what it holds; how many iterations that were."""
        self.count += 1
        body = {"key": f"{self.name} {self.count}", "slots": 1}
        done = 0
        for handed in self.call("POST", f"/worker/v1/sites/{self.name}/fetch", body)["partitions"]:
            self.commands.append(handed["command"])
            path, lease = handed["path"], handed["lease"]
            told = self.call("POST", f"{path}/start", {}, lease)
            number = 0
            while told["ranges"] and told["next"] == "go":
                number += 1
                begin, end = told["ranges"][0]
                done += end - begin
                one = {"number": number, "ranges": [[begin, end]], "result": sum(range(begin, end))}
                told = self.call("POST", f"{path}/report", _report(done, number, one), lease)
                if number == 2:
                    break
            self.call("POST", f"{path}/finish", {}, lease)
        return done

    def until(self, is_so: Callable[[], bool]) -> None:
        for _ in range(400):
            self.step()
            if is_so():
                return
            threading.Event().wait(0.02)
        raise AssertionError(f"in vain: {self.commands}")


def _report(done: int, number: int, one: dict[str, Any]) -> dict[str, Any]:
    return {"done": done, "elapsed": float(number), "deliveries": [one]}


def status(client: httpx.Client, run: str) -> str:
    return str(client.get(f"/runs/{run}").json()["status"])


def test_sites_do_the_work_and_the_step_ends_with_the_job(tmp_path: Path) -> None:
    with running(settings_for(tmp_path)) as site:
        client = site.client()
        worker = Worker(site, client)
        run = submitted(client, STEP)["id"]
        worker.until(lambda: status(client, run) == "done")
        (job,) = client.get("/jobs").json()["items"]
        assert job["state"] == "done"
        assert job["delivered"] == 100
        assert worker.commands[0] == ["./price"]
        (result,) = tmp_path.glob("runs/*/price.*/result")
        assert result.read_text() == str(sum(range(100)))
        worker.http.close()


def test_without_sites_the_step_runs_on_its_own_machine(tmp_path: Path) -> None:
    with running(settings_for(tmp_path)) as site:
        client = site.client()
        run = submitted(client, STEP.replace("\n    outputs: {total: return}", "").replace(" {{ price.total }}", ""))[
            "id"
        ]
        awaited(client, run, "done")
        assert client.get("/jobs").json()["items"] == []


def test_a_server_that_comes_back_finds_the_job_with_all_that_was_delivered(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, auth=False)
    with running(settings, Obedient) as site:
        client = site.client()
        worker = Worker(site, client)
        run = submitted(client, STEP)["id"]
        worker.until(
            lambda: (
                bool(client.get("/jobs").json()["items"]) and client.get("/jobs").json()["items"][0]["delivered"] > 0
            )
        )
        before = client.get("/jobs").json()["items"][0]
        worker.http.close()
    with running(settings, Obedient) as site:
        client = site.client()
        worker = Worker(site, client, "other")
        worker.until(lambda: status(client, run) == "done")
        (job,) = client.get("/jobs").json()["items"]
        assert (job["id"], job["delivered"]) == (before["id"], 100)
        worker.http.close()


def test_a_cancelled_run_cancels_its_job(tmp_path: Path) -> None:
    with running(settings_for(tmp_path)) as site:
        client = site.client()
        worker = Worker(site, client)
        run = submitted(client, STEP)["id"]
        for _ in range(400):
            if client.get("/jobs").json()["items"]:
                break
            threading.Event().wait(0.02)
        client.post(f"/runs/{run}/cancel")
        awaited(client, run, "cancelled")
        for _ in range(400):
            if client.get("/jobs").json()["items"][0]["state"] == "cancelled":
                break
            threading.Event().wait(0.02)
        assert client.get("/jobs").json()["items"][0]["state"] == "cancelled"
        worker.http.close()
