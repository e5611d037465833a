"""Harvest machines: they take what others leave, give it back at once, and never get in anybody's way."""

import asyncio
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from engine_rig import Rig, shell

from tradewind.core.log import Record
from tradewind.core.state import State
from tradewind.core.work import declared_time
from tradewind.live.driver import Driver
from tradewind.live.engines.harvest import LOWEST, HarvestEngine, HostLoad, Hysteresis
from tradewind.live.engines.local import LocalEngine
from tradewind.live.facts import Close, Submit
from tradewind.live.loop import Loop, wall_clock
from tradewind.live.port import Listener, Resized
from tradewind.live.store.memory import MemoryStore
from tradewind.model.command import Kill
from tradewind.model.event import Finished, MachineResized
from tradewind.model.machine import MachineType, Market
from tradewind.model.requirement import Requirement, amounts
from tradewind.model.tenant import Tenant
from tradewind.model.units import SECOND
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.registry import build

HARVEST = MachineType("here", slots=4, amounts=amounts(cpus=2), market=Market.HARVEST)


class Played:
    """What others use, as a test wants it."""

    def __init__(self) -> None:
        self.used = 0.0

    def cores(self) -> float:
        return self.used


class OneProcess:
    """A process that wants every core from its first second of work until it is gone.

    How much it gets in a moment depends on what else this host does: a share measured over a tenth of a second says now
    that it works and now that it does not, and the machine would grow and shrink with it.
    """

    def __init__(self) -> None:
        self._pid = 0

    def watch(self, pid: int) -> None:
        self._pid = pid

    def cores(self) -> float:
        try:
            return 4.0 if self._pid and used(self._pid) > 0 else 0.0
        except psutil.Error:
            return 0.0


def test_down_at_once_and_up_after_a_calm() -> None:
    sizing = Hysteresis(8, calm=3)
    assert [sizing.look(used) for used in (0.1, 2.5, 0, 0, 0, 0)] == [8, 5, 5, 5, 8, 8]
    assert [sizing.look(used) for used in (7.9, 0, 4, 0, 7.9, 0, 0, 0)] == [0, 0, 0, 4, 0, 0, 0, 8]


def test_trembling_does_not_make_it_grow() -> None:
    sizing = Hysteresis(4, calm=3)
    sizing.look(2)
    assert [sizing.look(used) for used in (1, 2, 1, 2, 1, 2)] == [2] * 6


def test_what_others_use_of_this_host_is_some_of_it() -> None:
    load = HostLoad()
    time.sleep(0.05)
    assert 0 <= load.cores() <= (psutil.cpu_count() or 1)


@pytest.fixture
def others() -> Played:
    return Played()


@pytest.fixture
def rig(tmp_path: Path, others: Played) -> Iterator[Rig]:
    def make(listener: Listener) -> HarvestEngine:
        return HarvestEngine(
            listener, lambda hear: LocalEngine(hear, tmp_path), others=others, cores=2, every=0.02, calm=0.1
        )

    rig = Rig(make, tmp_path)
    yield rig
    rig.close()


def test_a_machine_begins_with_what_is_left_and_follows(rig: Rig, others: Played) -> None:
    others.used = 1
    machine = rig.machine(HARVEST)
    assert rig.reports == [Resized(machine, amounts(cpus=1))]
    rig.reports.clear()
    others.used = 2
    while not rig.reports:
        rig.sleep(0.01)
    assert rig.reports == [Resized(machine, (("cpus", 0),))]
    rig.reports.clear()
    others.used = 0
    while not rig.reports:
        rig.sleep(0.01)
    assert rig.reports == [Resized(machine, amounts(cpus=2))]


def test_several_machines_share_what_is_left(rig: Rig, others: Played) -> None:
    """Two cores, of which the first machine takes what it can, whatever the second one says that it has."""
    first, second = rig.machine(HARVEST), rig.machine(replace(HARVEST, amounts=amounts(cpus=8)))
    assert rig.reports == [Resized(first, amounts(cpus=2)), Resized(second, (("cpus", 0),))]
    rig.reports.clear()
    rig.engine.release(first)
    while not rig.reports:
        rig.sleep(0.01)
    assert rig.reports == [Resized(second, amounts(cpus=2))]


def test_a_small_machine_on_a_large_host_keeps_its_cores_while_there_are_others(rig: Rig, others: Played) -> None:
    others.used = 1
    machine = rig.machine(replace(HARVEST, amounts=amounts(cpus=1)))
    assert rig.reports == [Resized(machine, amounts(cpus=1))]


def test_its_work_runs_at_the_lowest_priority(rig: Rig) -> None:
    machine = rig.machine(HARVEST)
    rig.reports.clear()
    folder, _ = rig.done(machine, shell("nice > level; sh -c nice >> level"))
    levels = [word for file in folder.rglob("level") for word in file.read_text().split()]
    assert levels == [str(LOWEST)] * 2


def test_other_machines_are_left_alone(rig: Rig, others: Played) -> None:
    others.used = 2
    machine = rig.machine(MachineType("firm", slots=2))
    folder, _ = rig.done(machine, shell("nice > level"))
    assert next(folder.rglob("level")).read_text().strip() == str(os.getpriority(os.PRIO_PROCESS, 0))
    assert not rig.reports


CORE = min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
HOG = f"import os; os.sched_setaffinity(0, [{CORE}])\nwhile True: pass"
ON_LINUX = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="pins processes to a core")


def burning(folder: Path) -> str:
    """A command that says who it is, and works until it is told to stop."""
    (folder / "pids").mkdir(exist_ok=True)
    return f": > {folder}/pids/$$; until [ -e {folder}/stop ]; do :; done"


def burners(folder: Path) -> dict[int, float]:
    """Processor time of the work that is alive, all of it on the core that the hog wants."""
    found = {}
    for pid in [int(file.name) for file in (folder / "pids").iterdir()]:
        with suppress(psutil.Error, ProcessLookupError):
            if Path(psutil.Process(pid).cwd()).is_relative_to(folder):  # otherwise the pid has been reused
                os.sched_setaffinity(pid, [CORE])
                found[pid] = used(pid)
    return found


def is_lowered(pid: int) -> bool:
    """Whether a process, and its session where that counts, runs at the lowest priority."""
    session = Path(f"/proc/{pid}/autogroup")
    is_last = not session.exists() or session.read_text().split()[-1] == str(LOWEST)
    return is_last and os.getpriority(os.PRIO_PROCESS, pid) == LOWEST


def used(pid: int) -> float:
    """Seconds of processor time."""
    process = psutil.Process(pid)
    if process.status() == psutil.STATUS_ZOMBIE:
        raise psutil.NoSuchProcess(pid)
    times = process.cpu_times()
    return times.user + times.system


@ON_LINUX
def test_a_session_that_may_not_be_lowered_at_once_is_lowered_later(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[int] = Counter()

    def busy_twice(pid: int, level: int) -> bool:
        assert level == LOWEST
        asked[pid] += 1
        return asked[pid] > 2

    monkeypatch.setattr("tradewind.live.engines.harvest.lower_session", busy_twice)
    rig.start(rig.machine(HARVEST), shell("sleep 60"))
    while 3 not in asked.values():
        rig.sleep(0.02)
    rig.sleep(0.2)
    assert max(asked.values()) == 3


@ON_LINUX
def test_a_hog_has_a_core_that_work_runs_on_nearly_to_itself(rig: Rig) -> None:
    """Whatever else this host does: the two of them want the same core, and are measured against each other."""
    rig.start(rig.machine(HARVEST), shell(burning(rig.root)))
    while not any(is_lowered(pid) for pid in burners(rig.root)):
        rig.sleep(0.02)
    with subprocess.Popen([sys.executable, "-c", HOG]) as hog:
        try:
            while os.sched_getaffinity(hog.pid) != {CORE}:
                rig.sleep(0.02)
            begun, ours = used(hog.pid), sum(burners(rig.root).values())
            while (its := used(hog.pid) - begun) < 0.5:
                rig.sleep(0.05)
            assert its / (its + sum(burners(rig.root).values()) - ours) > 0.8
        finally:
            hog.kill()


@ON_LINUX
def test_a_hog_gets_its_cores_back_and_all_work_ends_once(tmp_path: Path) -> None:
    """A real process starts to use this host; what is harvested gives way, and runs again when it has gone."""
    others = OneProcess()
    records: list[Record] = []
    needs = Requirement(amounts=amounts(cpus=1))
    tasks = tuple(Task(f"t{i}", "t", needs, SECOND, command=burning(tmp_path)) for i in range(4))
    work = Workflow("w", tasks, ((),) * len(tasks))

    async def run() -> None:
        loop = Loop(lambda _: None)
        engine = HarvestEngine(
            loop.hear, lambda hear: LocalEngine(hear, tmp_path, grace=0.5), others=others, cores=2, every=0.1, calm=0.5
        )
        try:
            state = State([HARVEST], [Tenant("default")], SECOND, 0, declared_time)
            store = MemoryStore()
            policy = build("slacksched", {"machines": 1})
            driver = Driver(state, policy, store, engine, wall_clock, tmp_path / "runs", sinks=[records.append])
            driver.tell(Submit(work, {}), Close())
            running = asyncio.create_task(loop.run(driver, lambda: bool(driver.ended)))
            await _until(lambda: len(burners(tmp_path)) == 2, running)
            with subprocess.Popen([sys.executable, "-c", HOG]) as hog:
                try:
                    others.watch(hog.pid)
                    await _until(lambda: _size(records) == 0, running)
                    await _until(lambda: not burners(tmp_path), running, patience=300)
                finally:
                    hog.kill()
            await _until(lambda: _size(records) == 2, running)
            (tmp_path / "stop").touch()
            await asyncio.wait_for(running, 60)
            assert list(driver.ended.values()) == ["done"]
            assert policy.memory is not None
            assert store.load(charges_since=0).memories["slacksched"]["changes"]["seen"]
        finally:
            engine.close()

    asyncio.run(run())
    finished = [record.unit for record in records if isinstance(record, Finished)]
    assert sorted(finished) == sorted(set(finished))
    assert len(finished) == 4
    assert _sizes(records) == [2, 0, 2]
    assert len([record for record in records if isinstance(record, Kill)]) == 2


def _sizes(records: list[Record]) -> list[int]:
    """Cores that the machine had, one after the other."""
    return [dict(record.amounts)["cpus"] for record in records if isinstance(record, MachineResized)]


def _size(records: list[Record]) -> int:
    """Cores that the machine has now."""
    return _sizes(records)[-1]


async def _until(condition: Callable[[], bool], running: "asyncio.Task[None]", patience: float = 30.0) -> None:
    """Wait for a condition while the work goes on; what stops the work is the error.

    What was killed dies at the lowest priority, in the time that others leave it: no clock says when that is.
    """
    ends = time.monotonic() + patience
    while not condition():
        if running.done():
            running.result()
        assert time.monotonic() < ends, "it did not come to pass"
        await asyncio.sleep(0.02)
