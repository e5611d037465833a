"""A service: many runs, one driver, and answers that hold."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tradewind.core.transitions import UnitState
from tradewind.live.engines.fake import FakeEngine
from tradewind.live.facts import Cancel, Retry, SetTenant, Submit
from tradewind.live.port import Broke, Done, Listener, Order
from tradewind.live.service import Key, Load, RefusedError, Service, Settings, StoppedError
from tradewind.live.store.memory import MemoryStore
from tradewind.model.machine import MachineType
from tradewind.model.requirement import Requirement
from tradewind.model.tenant import Tenant
from tradewind.model.units import SECOND
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.registry import build


def work(name: str = "w", *needs: str) -> Workflow:
    """One task; a document of its own each time."""
    return Workflow(name, (Task(name, name, Requirement(frozenset(needs))),), ((),))


def engine(listener: Listener) -> FakeEngine:
    def do(order: Order) -> Done | Broke:
        if order.chain == "fail":
            return Broke(order.unit, order.attempt, order.machine, "error", "no")
        return Done(order.unit, order.attempt, order.machine)

    return FakeEngine(listener, soon=asyncio.get_running_loop().call_soon, work=do)


def settings(folder: Path) -> Settings:
    policy = build("demand", {})
    return Settings(
        folder, (MachineType("small", limit=5),), (Tenant("default"),), policy, SECOND // 100, engine=engine
    )


def served(folder: Path, store: MemoryStore, ask: Callable[[Service], Awaitable[None]]) -> list[str]:
    """Let somebody use a service; what it complained of."""
    said: list[str] = []

    async def life() -> None:
        service = Service(settings(folder), store, on_trouble=said.append)
        await service.start(wait=said.append)
        try:
            async with asyncio.timeout(20):
                await ask(service)
        finally:
            await service.stop()

    asyncio.run(life())
    return said


async def ended(service: Service, *numbers: int) -> None:
    while not all(number in service.driver.ended for number in numbers):
        await asyncio.sleep(0.005)


def test_submissions_at_the_same_time_share_a_batch_and_each_gets_its_own_run(tmp_path: Path) -> None:
    store = MemoryStore()

    async def ask(service: Service) -> None:
        before = store.saves
        documents = [work(f"w{number}") for number in range(50)]
        taken = await asyncio.gather(*(service.submit(Submit(document, {})) for document in documents))
        assert store.saves - before <= 3
        assert len({each.number for each in taken}) == 50
        for document, each in zip(documents, taken, strict=True):
            detail = store.run(each.id)
            assert detail is not None
            assert detail.run.name == document.name

    assert served(tmp_path, store, ask) == []


def test_what_nobody_can_run_is_refused_alone(tmp_path: Path) -> None:
    store = MemoryStore()

    async def ask(service: Service) -> None:
        given = [work("a"), work("b", "gpu"), work("c"), work("d", "gpu")]
        answers = await asyncio.gather(*(service.submit(Submit(each, {})) for each in given), return_exceptions=True)
        assert [isinstance(answer, RefusedError) for answer in answers] == [False, True, False, True]

    served(tmp_path, store, ask)
    assert sorted(head.name for head in store.runs()) == ["a", "c"]


def test_keys_are_saved_with_their_runs(tmp_path: Path) -> None:
    store = MemoryStore()

    async def ask(service: Service) -> None:
        taken = await service.submit(Submit(work(), {}), Key("once", "digest"))
        assert store.keys["default", "once"].run == taken.number

    served(tmp_path, store, ask)


def test_an_answer_waits_until_the_store_is_back(tmp_path: Path) -> None:
    store = MemoryStore()

    async def ask(service: Service) -> None:
        store.outage = "the disk is full"
        answer = asyncio.create_task(service.submit(Submit(work(), {})))
        await asyncio.sleep(0.15)
        assert not answer.done()
        assert service.trouble == "the disk is full"
        told = asyncio.create_task(service.tell(SetTenant(Tenant("ada"))))
        store.outage = ""
        assert store.run((await answer).id) is not None
        await told
        assert "ada" in service.state.by_name
        assert service.trouble == ""

    said = served(tmp_path, store, ask)
    assert said
    assert all("the disk is full" in line for line in said)


def test_the_load_of_tenants_is_counted_over_retries_and_restarts(tmp_path: Path) -> None:
    store = MemoryStore()

    async def fail(service: Service) -> None:
        taken = await service.submit(Submit(work("fail"), {}))
        assert service.loads["default"] == Load(1, 1)
        await ended(service, taken.number)
        assert service.loads["default"] == Load(0, 0)
        service.driver.ended.clear()
        await service.tell(Retry(taken.id))
        await ended(service, taken.number)
        assert service.loads["default"] == Load(0, 0)
        done = await service.submit(Submit(work("x"), {}))
        await service.tell(Cancel(done.number))
        await service.tell(Retry("nothing"))  # nothing comes of it, and yet it is answered
        await ended(service, done.number)

    served(tmp_path, store, fail)
    assert {head.status for head in store.runs()} <= {"failed", "cancelled", "done"}
    assert UnitState.FAILED in store.runs()[-1].units


def test_a_second_service_waits_until_the_first_has_ended(tmp_path: Path) -> None:
    store, said = MemoryStore(), list[str]()

    async def life() -> None:
        first = Service(settings(tmp_path), store)
        await first.start()
        for folder in (tmp_path, tmp_path / "elsewhere"):  # held back by the lock on the file, and by the lease
            second = Service(settings(folder), store)
            starting = asyncio.create_task(second.start(wait=said.append))
            await asyncio.sleep(0.1)
            assert not starting.done()
            with pytest.raises(StoppedError):
                await second.submit(Submit(work(), {}))
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
            await second.stop()
        await first.stop()
        third = Service(replace(settings(tmp_path / "elsewhere")), store)
        await third.start()
        await third.submit(Submit(work(), {}))
        await third.stop()

    asyncio.run(life())
    assert said == ["another server leads this store; waiting for it to end"] * 2
