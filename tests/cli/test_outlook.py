"""When a run is thought to end, and by how much it is in time or late: wherever people look at it."""

import asyncio
import json
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner, Result

from tradewind.cli import application
from tradewind.cli.watch import follow
from tradewind.cli.watching import Watching
from tradewind.client.backend import Backend
from tradewind.core.handle import Core
from tradewind.core.state import State
from tradewind.core.work import declared_time
from tradewind.live.engines.fake import FakeEngine
from tradewind.live.facts import Submit
from tradewind.live.port import Listener, Order
from tradewind.live.service import Service, Settings
from tradewind.live.store.open import open_store
from tradewind.model.event import Submitted
from tradewind.model.machine import BootLag, MachineType
from tradewind.model.tenant import Tenant
from tradewind.model.units import HOUR, MINUTE, SECOND
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.registry import build

SMALL = MachineType("small", boot=BootLag(MINUTE))


class Endless(FakeEngine):
    """Ends nothing."""

    def start(self, orders: Sequence[Order]) -> None:
        """Let it run."""


def engine(listener: Listener) -> FakeEngine:
    return Endless(listener, soon=asyncio.get_running_loop().call_soon)


def job(name: str, deadline: int) -> Workflow:
    return Workflow(name, (Task("a", "a", runtime=HOUR),), ((),), deadline=deadline)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where a server was stopped before its work had ended."""
    folder = tmp_path_factory.mktemp("outlook")

    async def life() -> None:
        store = open_store(folder / "store.db", durability="relaxed")
        settings = Settings(folder, (SMALL,), (Tenant("default"),), build("scs+"), SECOND // 50, engine=engine)
        service = Service(settings, store)
        await service.start()
        for work in (job("late", 30 * MINUTE), job("early", 3 * HOUR)):
            taken = await service.submit(Submit(work, {}))
            while service.state.runs[taken.number].predicted is None:
                await asyncio.sleep(0.01)
        await service.stop()
        store.close()

    asyncio.run(asyncio.wait_for(life(), 30))
    return folder


def tradewind(command: str) -> Result:
    words = shlex.split(command)
    return CliRunner().invoke(application(words[0]), words, env={"COLUMNS": "250", "NO_COLOR": "1"})


def test_a_run_is_shown_with_its_foreseen_end_and_slack(folder: Path) -> None:
    early, late = json.loads(tradewind(f"list -o json --folder {folder}").stdout)
    assert (early["name"], late["name"]) == ("early", "late")
    assert early["slack"] == pytest.approx(early["deadline"] - early["predicted"])
    assert 0 < early["slack"] < 7200
    assert -31 * 60 - 10 < late["slack"] < -30 * 60
    shown = tradewind(f"get {late['id']} --folder {folder}").output
    assert "31m" in next(line for line in shown.splitlines() if line.startswith("slack"))
    assert " late" in next(line for line in shown.splitlines() if line.startswith("slack"))
    assert "predicted" in shown
    assert "31m" in tradewind(f"list -o wide --folder {folder}").output


def test_the_line_of_progress_tells_of_the_end() -> None:
    state = State((SMALL,), [Tenant("default")], SECOND, 0, declared_time)
    core = Core(state, build("scs+"))
    watching = Watching()
    watching.sink_for(state)
    core.handle(Submitted(0, 1, "default", job("late", 30 * MINUTE)))
    assert watching._line(state, watching.meter).endswith("ends in 1h01m, 31m00s after its deadline")
    core.handle(Submitted(0, 2, "default", job("early", 2 * HOUR)))
    assert watching._line(state, watching.meter).endswith("ends in 1h01m, 59m00s before its deadline")


class Looks:
    """A backend where a run turns late, and ends so."""

    def follow(self, _run: str) -> Iterator[dict[str, Any]]:
        active = {"id": "7", "name": "w", "status": "active", "submitted": 1.0, "ended": None, "tasks": {"running": 1}}
        yield active | {"deadline": 5.0, "slack": 3.0}
        yield active | {"deadline": 5.0, "slack": -90.0}
        yield active | {"deadline": 5.0, "slack": -90.0}
        yield active | {"deadline": 5.0, "slack": -90.0, "status": "done", "ended": 95.0, "tasks": {"done": 1}}


def test_whoever_watches_a_run_is_told_that_it_will_be_late(capsys: pytest.CaptureFixture[str]) -> None:
    assert follow(cast("Backend", Looks()), "7") == 4
    assert capsys.readouterr().err.splitlines() == [
        "7 active: 1 running",
        "7 active: 1 running, will miss its deadline by 1m30s",
        "7 done: 1 done",
        "7 is done after 1m34s, 1m30s after its deadline",
    ]
