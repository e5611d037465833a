"""What is learned of run times and boot lags: kept in the store, shared by all runs, found again after a restart."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from tradewind.core.chains.chain import Chain
from tradewind.core.estimates import Learned, input_size
from tradewind.core.state import State
from tradewind.formats.load import load
from tradewind.live.engines.fake import FakeEngine
from tradewind.live.facts import Submit
from tradewind.live.memory import Memories
from tradewind.live.port import Done, Listener, Order
from tradewind.live.service import Service, Settings
from tradewind.live.session import Session
from tradewind.live.session import Settings as SessionSettings
from tradewind.live.sizes import MOST, sized_task_of
from tradewind.live.store.memory import MemoryStore
from tradewind.live.store.open import open_store
from tradewind.live.store.port import Store
from tradewind.model.action import Call, Ref, Shell
from tradewind.model.machine import BootLag, MachineType
from tradewind.model.program import Program
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, SECOND
from tradewind.model.workflow import File, Task, Workflow
from tradewind.policies.registry import build

SMALL = MachineType("small", limit=4, boot=BootLag(declared=MINUTE))


def engine(listener: Listener) -> FakeEngine:
    def do(order: Order) -> Done:
        return Done(order.unit, order.attempt, order.machine)

    return FakeEngine(listener, soon=asyncio.get_running_loop().call_soon, work=do)


def served(folder: Path, store: Store, policy: str, ask: Callable[[Service], Awaitable[None]]) -> list[str]:
    """Let somebody use a service; what it complained of."""
    said: list[str] = []

    async def life() -> None:
        settings = Settings(
            folder, (SMALL,), (Tenant("ann"), Tenant("bob")), build(policy), SECOND // 50, engine=engine
        )
        service = Service(settings, store, on_trouble=said.append)
        await service.start()
        try:
            async with asyncio.timeout(20):
                await ask(service)
        finally:
            await service.stop()

    asyncio.run(life())
    return said


async def run(service: Service, tenant: str, *names: str) -> None:
    tasks = tuple(Task(name, name, inputs=(File("f", 77),)) for name in names)
    taken = await service.submit(Submit(Workflow("w", tasks, ((),) * len(names)), {}, tenant))
    while taken.number not in service.driver.ended:
        await asyncio.sleep(0.005)


def test_a_server_finds_what_it_has_learned_after_a_restart(tmp_path: Path) -> None:
    store = MemoryStore()

    async def first(service: Service) -> None:
        await run(service, "ann", "align", "align2", "align3", "align4")

    served(tmp_path, store, "demand", first)

    async def second(service: Service) -> None:
        (kind,) = service.state.kinds
        assert service.state.learned is not None
        assert service.state.learned.of(Task("x", "align"), kind.type) < MINUTE, "the guess"
        assert kind.type.boot.mean < MINUTE, "as declared"
        assert kind.configured.boot.declared == MINUTE
        await run(service, "bob", "align", "fresh")

    said = served(tmp_path, store, "scs+", second)
    assert not any("'align'" in text for text in said), "another tenant's run has shown how long it takes"
    assert sum("nothing is known of how long 'fresh' takes" in text for text in said) == 1


def test_what_was_learned_is_saved_now_and_then_not_with_each_batch() -> None:
    learned = Learned()
    from_store = Learned()
    state = State((SMALL,), [Tenant("default")], MINUTE, 0, learned)
    memories = Memories(build("scs+"), state, {})
    learned.learn_lag(SMALL, SECOND)
    saved = dict(memories.changed(0, is_over=False))
    learned.learn_lag(SMALL, SECOND)
    assert memories.changed(4 * SECOND, is_over=False) == {}
    learned.learn_lag(SMALL, SECOND)
    saved |= memories.changed(5 * SECOND, is_over=False)
    from_store.load(saved)
    assert from_store.lag(SMALL) == SECOND
    learned.learn_lag(SMALL, 2 * SECOND)
    assert memories.changed(6 * SECOND, is_over=True), "nothing more will come"


PROGRAM = """
name: sizes
steps:
  make: {run: "head -c {{ size }} /dev/zero > big.bin", outputs: {file: big.bin}, inputs: {size: "{{ params.size }}"}}
  read: {run: "cat {{ it }} > /dev/null", inputs: {it: "{{ make.file }}"}, cpus: 2}
params: {size: 1000}
"""


def test_chains_of_programs_are_learned_by_the_size_of_the_files_they_read(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(PROGRAM)
    program = load(tmp_path / "p.yaml").content
    assert isinstance(program, Program)
    host = MachineType("host", slots=2, amounts=(("cpus", 2),))
    settings = SessionSettings(tmp_path / "state", (host,), Tenant("default"), build("demand"), SECOND // 20)
    for size in (1000, 3000):
        assert Session(settings).run(program, {"size": size}, uses_cache=False).status == "done"
    store = open_store(tmp_path / "state" / "store.db")
    saved = {key: value for key, value in store.load(charges_since=0).memories.items() if "step" in value}
    store.close()
    (samples,) = (value["samples"] for value in saved.values() if value["step"] == "read")
    assert [size for size, _ in samples] == [1000, 3000]
    assert all(time > 0 for _, time in samples)


def test_only_files_that_are_there_count(tmp_path: Path) -> None:
    for name, size in (("a", 5), ("b", 7)):
        (tmp_path / name).write_bytes(bytes(size))
    inputs = {
        "files": [str(tmp_path / "a"), {"deep": str(tmp_path / "b")}],
        "folder": str(tmp_path),
        "gone": "/no/such/file",
        "odd": "/nul\0byte",
        "text": "hello",
        "number": 3,
        "later": Ref("other", "out"),
    }
    task = sized_task_of(Chain("c", (Call("c", Shell(":"), inputs),), "step"))
    assert input_size(task) == 12
    assert (task.id, task.name) == ("c", "step")
    many = sized_task_of(Chain("c", (Call("c", Shell(":"), {"all": [str(tmp_path / "a")] * (MOST + 9)}),), "step"))
    assert input_size(many) == 5 * MOST
