"""The whole control plane in virtual time, with crashes between any two steps; a seed replays exactly.

Core, driver and store are the real ones; time, machines and messages are simulated. A crash throws driver and engine
away and starts new ones over the same store.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import cast

from tradewind.core.state import State
from tradewind.core.work import declared_time
from tradewind.live.cache.cache import Cache
from tradewind.live.driver import Driver
from tradewind.live.engines.fake import FakeEngine, Faults
from tradewind.live.facts import Close, Drain, Remove, Retry, Submit, Suspend, Unsuspend
from tradewind.live.jobs import Document
from tradewind.live.port import Broke, Done, Order
from tradewind.live.store.port import Changes, Lease, Store
from tradewind.model import workflow as work_model
from tradewind.model.action import Output, Shell
from tradewind.model.machine import Billing, MachineType
from tradewind.model.program import Loop, Program, Step
from tradewind.model.requirement import Requirement
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, SECOND, UNIT, Time
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.registry import build

TURNS = 20_000
"""A run that takes more turns than this does not end."""


class Crash(Exception):  # noqa: N818  # not an error: the end of a process
    """The control plane dies here."""


class Fragile:
    """A store whose process may die before or after any save."""

    def __init__(self, store: Store, dies: Callable[[], bool]) -> None:
        self._store = store
        self._dies = dies

    def save(self, changes: Changes, lease: Lease | None = None) -> None:
        if self._dies():
            raise Crash("before the save")
        self._store.save(changes, lease)
        if self._dies():
            raise Crash("after the save")

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)


class Shaky(FakeEngine):
    """An engine whose process may die in the middle of carrying out commands."""

    dies: Callable[[], bool] = staticmethod(lambda: False)

    def acquire(self, machine: int, type: MachineType) -> None:
        if self.dies():
            raise Crash("before a machine was acquired")
        super().acquire(machine, type)

    def start(self, orders: Sequence[Order]) -> None:
        if self.dies():
            raise Crash("before orders were given")
        super().start(orders)
        if self.dies():
            raise Crash("after orders were given")


class Near(Shaky):
    """An engine whose attempts die with it, and whose machines keep a line that may not move."""

    ends_with_us = True
    ahead = 3
    lined_up = 0

    def start(self, orders: Sequence[Order]) -> None:
        waiting = [order for order in orders if order.most and self._happens(0.5)]
        type(self).lined_up += sum(order.most > 0 for order in orders)
        super().start([order for order in orders if order not in waiting])
        for order in waiting:
            self._report(Broke(order.unit, order.attempt, order.machine, "returned", "its turn did not come"))


@dataclass(slots=True)
class World:
    """One seed's story."""

    seed: int
    crashes: int = 0
    turns: int = 0
    retries: int = 0
    runs: int = 0
    policy: str = ""


def random_workflow(chance: Random) -> Workflow:
    """A small graph, some of it for machines with a disk, some of it flaky."""
    count = chance.randint(1, 12)
    tasks, parents = [], []
    for index in range(count):
        needs = frozenset({"disk"}) if chance.random() < 0.3 else frozenset[str]()
        retry = work_model.Retry(attempts=chance.choice((1, 6, 6)), delay=chance.choice((0, SECOND)))
        tasks.append(Task(f"t{index}", "t", Requirement(needs), runtime=SECOND, retry=retry, command="true"))
        parents.append(tuple(sorted({chance.randrange(index) for _ in range(chance.randint(0, 2))})) if index else ())
    return Workflow("graph", tuple(tasks), tuple(parents))


def random_program(chance: Random) -> Program:
    """A list that is only known once a first step has run, a step for each item, and one that collects."""
    count = chance.randint(0, 5)
    first = Step("list", action=Shell(f"seq {count}"), outputs={"items": Output(value="json")})
    body = Step("each", action=Shell("work {{ item }}"), outputs={"size": Output(value="json")})
    loop = Step("all", steps=(body,), loop=Loop("{{ list.items }}"), gives={"sizes": "{{ each.size }}"})
    last = Step("sum", action=Shell("sum {{ all.sizes }}"), outputs={"total": Output(value="json")})
    return Program("list", (first, loop, last), outputs={"total": "{{ sum.total }}"})


def outcome_of(seed: int) -> Callable[[Order], Done | Broke]:
    """What comes of orders: mostly good, and the same for the same order."""

    def work(order: Order) -> Done | Broke:
        own = Random(f"{order.run}/{order.chain}/{order.attempt}/{seed}")
        if order.attempt < 5 and own.random() < 0.1 and order.chain.startswith("t"):
            return Broke(order.unit, order.attempt, order.machine, "error", "it broke")
        results = {}
        for call in order.calls:
            results[call.id] = {name: [1, 2, 3] if name == "items" else 7 for name in call.outputs}
        return Done(order.unit, order.attempt, order.machine, results)

    return work


MACHINES = (
    MachineType("plain", price=UNIT, billing=Billing(10 * SECOND), limit=4),
    MachineType(
        "disky", price=2 * UNIT, billing=Billing(10 * SECOND), limit=3, capabilities=frozenset({"disk"}), slots=2
    ),
)
BUDGET = 12 * UNIT


def meddle(chance: Random, driver: Driver) -> None:
    """Somebody interferes."""
    for run in driver.state.runs.values():
        if run.is_suspended:
            if chance.random() < 0.5:
                driver.tell(Unsuspend(run.id))
        elif chance.random() < 0.01:
            driver.tell(Suspend(run.id))
    if driver.state.machines and chance.random() < 0.01:
        machine = chance.choice(sorted(driver.state.machines))
        driver.tell(chance.choice((Drain, Remove))(machine))


def live_through(
    seed: int, store: Store, folder: Path = Path("runs"), *, is_cached: bool = False, engine_class: type[Shaky] = Shaky
) -> World:
    """Play one seed to its end, dying now and then; whoever calls looks at the store afterwards."""
    chance = Random(seed)
    world = World(seed, policy=chance.choice(("demand", "fixed", "pfa")))
    faults = Faults(
        stillborn=chance.choice((0.0, 0.1)),
        lose=chance.choice((0.0, 0.05)),
        double=chance.choice((0.0, 0.2)),
        delay=chance.choice((0.0, 0.3)),
        drop=chance.choice((0.0, 0.05)),
        shuffle=chance.random() < 0.5,
    )
    deadliness = chance.choice((0.0, 0.02, 0.1))
    submissions: list[Document] = [
        random_workflow(chance) if chance.random() < 0.6 else random_program(chance)
        for _ in range(chance.randint(1, 4))
    ]
    world.runs = len(submissions)
    now: Time = chance.randrange(10 * MINUTE)
    work = outcome_of(seed)

    def dies() -> bool:
        return world.crashes < 60 and chance.random() < deadliness

    def begin() -> tuple[Driver, Shaky]:
        state = State(MACHINES, (Tenant("default", BUDGET, 30 * SECOND),), 5 * SECOND, seed, declared_time)
        policy = build(world.policy, {"machines": 4} if world.policy == "fixed" else {})
        engine = engine_class(
            lambda reports: driver.tell(*reports), work=work, faults=faults, seed=chance.randrange(1 << 30)
        )
        cache = Cache(store) if is_cached else None
        kept = cast("Store", Fragile(store, dies))
        driver = Driver(state, policy, kept, engine, lambda: now, folder, cache=cache)
        engine.dies = dies
        return driver, engine

    driver, engine = begin()
    pending = list(submissions)
    while True:
        world.turns += 1
        assert world.turns < TURNS, f"seed {seed} does not end"
        known = len(store.runs(limit=1000))
        if known < len(submissions) and not driver.state.runs and not driver._inbox:
            driver.tell(Submit(pending[known], {}))
        if known == len(submissions):
            driver.tell(Close())
        try:
            driver.turn()
            engine.deliver()
        except Crash:
            world.crashes += 1
            now += chance.randrange(SECOND)
            driver, engine = begin()
            continue
        ended = [run for run in store.runs(limit=1000) if run.ended is not None]
        broken = [run for run in ended if run.status != "done"]
        if broken:
            driver.tell(Retry(broken[0].id))
            world.retries += 1
        elif len(ended) == len(submissions) and not driver.state.machines and not driver._inbox:
            return world
        meddle(chance, driver)
        if not driver._inbox:
            now = max(now + 1, driver.due if driver.due is not None else now + SECOND)
            if chance.random() < 0.02:
                now -= chance.randrange(5 * SECOND)  # clocks jump
