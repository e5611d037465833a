"""Machines that join a server: work that waits for them, where it is allowed, and what is shown of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from server_rig import Obedient, Site, awaited, running, settings_for, submitted

from tradewind.live.port import Listener, Order
from tradewind.model.machine import MachineType
from tradewind.server.settings import Settings

RARE = "name: rare\ntasks:\n  a: {run: echo hi, capabilities: [rare]}\n"
BOX = MachineType("box", capabilities=frozenset({"rare"}))


def settings(folder: Path, *, accept_unknown: bool) -> Settings:
    found = settings_for(folder, auth=False)
    machines = found.machines.model_copy(update={"accept_unknown": accept_unknown})
    return found.model_copy(update={"machines": machines})


class Open(Obedient):
    """Runs orders on any machine: the numbers of those that join go to the engine of the agents."""

    def start(self, orders: Sequence[Order]) -> None:
        for order in orders:
            self.machines.setdefault(order.machine, BOX)
        super().start(orders)


class Engines:
    """Makes the engine of a server, and lets machines join it."""

    def __call__(self, listener: Listener) -> Open:
        self.engine = Open(listener)
        return self.engine

    def join(self, name: str) -> None:
        self.engine.loop.call_soon_threadsafe(self.engine.join, name, BOX)


def setup_of(site: Site, name: str) -> dict[str, Any]:
    found: dict[str, Any] = site.client().get(f"/setups/{name}").json()
    return found


def test_unknown_work_is_refused_by_default(tmp_path: Path) -> None:
    with running(settings(tmp_path, accept_unknown=False)) as site:
        answer = site.client().post("/runs", content=RARE, headers={"Content-Type": "application/yaml"})
        assert answer.status_code == 422
        assert "rare" in answer.text


def test_unknown_work_waits_with_that_reason_until_a_machine_joins(tmp_path: Path) -> None:
    engines = Engines()
    with running(settings(tmp_path, accept_unknown=True), engines) as site:
        client = site.client()
        run = submitted(client, RARE)["id"]
        told = client.get(f"/runs/{run}/explain").text
        assert "no machine that offers rare has joined" in told
        engines.join("lab/1")
        assert awaited(client, run)["status"] == "done"
        machines = client.get("/machines").json()["items"]
        assert [(each["joined"], each["machine_type"]) for each in machines] == [("lab/1", "box")]
        box = setup_of(site, "box")
        assert (box["joins"], box["present"]) == (True, 1)
        assert b'tradewind_machines_wanted{type="box"}' in client.get(f"{site.url}/metrics").content
