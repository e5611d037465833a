"""The whole control plane in virtual time, with crashes between any two steps; a seed replays exactly.

Core, driver and store are the real ones; time, machines and messages are simulated. A crash throws driver and engine
away and starts new ones over the same store; machines and attempts may survive it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import cast

from crowd import Crowd

from tradewind.core.state import State
from tradewind.core.work import declared_time
from tradewind.live.cache.cache import Cache
from tradewind.live.driver import Driver
from tradewind.live.engines.fake import FakeEngine, Faults, Yard
from tradewind.live.facts import Close, Drain, Remove, Retry, Submit, Suspend, Unsuspend
from tradewind.live.jobs import Document
from tradewind.live.port import Broke, Done, Down, Order
from tradewind.live.store.port import Changes, Lease, Store
from tradewind.model import workflow as work_model
from tradewind.model.action import Divisible, Output, Shell
from tradewind.model.machine import Billing, MachineType
from tradewind.model.program import Loop, Program, Retries, Step
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
    crowd: Crowd
    """Plays shares of elastic units."""

    def acquire(self, machine: int, type: MachineType) -> None:
        if self.dies():
            raise Crash("before a machine was acquired")
        super().acquire(machine, type)

    def start(self, orders: Sequence[Order]) -> None:
        if self.dies():
            raise Crash("before orders were given")
        super().start([order for order in orders if not is_share(order)])
        for order in filter(is_share, orders):
            if order.machine not in self.machines:
                self._report(Down(order.machine, "there is no such machine"))
            elif self._happens(self._faults.lose):
                self.lose(order.machine)
            else:
                self.crowd.start(order, self.yard)
        if self.dies():
            raise Crash("after orders were given")

    def deliver(self) -> bool:
        shares = {key: order for key, order in self.yard.running.items() if is_share(order)}
        for key in shares:
            del self.yard.running[key]
        held_back = super().deliver()
        self.yard.running.update(shares)
        return held_back

    def end(self, report: Done | Broke) -> None:
        """The process of a share has ended."""
        if not self.ends_with_us:
            self.yard.ended[report.unit, report.attempt, report.machine] = report
        self._report(report)


def is_share(order: Order) -> bool:
    return order.share is not None and order.share.iterations > 0


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


class Lasting(Shaky):
    """An engine over a yard that outlives it; nothing is begun that still runs there, or has ended well."""

    def start(self, orders: Sequence[Order]) -> None:
        for order in orders:
            running = [key for key in self.yard.running if key[0] == order.unit]
            assert not running, f"attempt {order.attempt} begins while {running} runs"
            ended = self.yard.ended.items() if not is_share(order) else ()  # a share may end although work is left
            done = [key for key, end in ended if key[0] == order.unit and isinstance(end, Done)]
            assert not done, f"attempt {order.attempt} begins although {done} has ended well"
        super().start(orders)


class Club(Lasting):
    """The same, and machines join and leave as they like."""

    def welcome(self, name: str, machine: int) -> None:
        if self.dies():
            raise Crash("before a machine was welcomed")
        super().welcome(name, machine)


GUESTS = (
    MachineType("desk"),
    MachineType("site", slots=2, limit=3, capabilities=frozenset({"disk"})),
    MachineType("rig", capabilities=frozenset({"rare"}), slots=2),
    MachineType("dear", UNIT, Billing(10 * SECOND), capabilities=frozenset({"disk", "rare"})),
)


class Visits:
    """Machines that join and leave, from a seed of their own, so that other stories stay as they are."""

    def __init__(self, seed: int, *, are_welcome: bool) -> None:
        self.are_welcome = are_welcome
        self._chance = Random(f"{seed}/guests")
        self._names = 0

    def happen(self, engine: FakeEngine, *, is_over: bool) -> None:
        """Some machine may join or leave."""
        chance, guests = self._chance, engine.yard.guests
        if not self.are_welcome or is_over:
            return
        if len(guests) < 4 and chance.random() < 0.2:
            self._names += 1
            type = chance.choice(GUESTS)
            engine.join(f"{type.name}/{self._names}", type)
        elif guests and chance.random() < 0.03:
            engine.leave(chance.choice(sorted(guests)))

    def outlive(self, yard: Yard) -> None:
        """Machines leave while there is no control plane."""
        for name in [name for name in sorted(yard.guests) if self._chance.random() < 0.1]:
            del yard.guests[name]
            yard.drop(yard.numbers.get(name, -1))

    def made_rare(self, document: Document) -> Document:
        """The same work, some of it for machines that nobody has declared."""
        if not self.are_welcome or not isinstance(document, Workflow):
            return document
        rare = Requirement(frozenset({"rare"}))
        tasks = (replace(each, requirement=rare) if self._chance.random() < 0.3 else each for each in document.tasks)
        return replace(document, tasks=tuple(tasks))


@dataclass(slots=True)
class World:
    """One seed's story."""

    seed: int
    crashes: int = 0
    adopted: set[tuple[int, int]] = field(default_factory=set)
    """Units and attempts that ran on, or had ended, while there was no control plane."""
    turns: int = 0
    retries: int = 0
    reports: int = 0
    silences: int = 0
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


def random_elastic(chance: Random) -> Program:
    """A step whose iterations are shared out, and one that needs their result."""
    price = Divisible(
        iterations=chance.randint(1, 500),
        command="price",
        within=chance.choice((None, MINUTE, 10 * MINUTE)),
        initial=chance.choice((None, 1, 3)),
        maximum=chance.choice((3, 8)),
        reducer="sum",
    )
    retries = Retries(error=work_model.Retry(attempts=9))
    first = Step("price", action=price, alone=True, outputs={"total": Output(value="return")}, retries=retries)
    last = Step("show", action=Shell("show {{ price.total }}"), outputs={"text": Output(value="json")})
    return Program("price", (first, last))


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
RESTLESS = ("demand", "pfa", "plf", "scf", "capability", "slacksched", "scs+", "pfa/slacksched")


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


def outlive(chance: Random, yard: Yard, work: Callable[[Order], Done | Broke]) -> None:
    """Things happen while there is no control plane: attempts end, machines are lost."""
    for key in [key for key in yard.running if chance.random() < 0.3]:
        order = yard.running.pop(key)
        if not is_share(order):
            yard.ended[key] = work(order)
    for machine in [number for number in yard.machines if chance.random() < 0.1]:
        yard.drop(machine)


def other_machines(chance: Random) -> tuple[MachineType, ...]:
    """Another machine file: types with other sizes and limits, one more, or one less."""
    plain, disky = MACHINES
    disky = replace(disky, slots=chance.randint(1, 3), limit=chance.randint(1, 3))
    plain = replace(plain, slots=chance.randint(1, 2), limit=chance.randint(1, 4))
    extra = replace(plain, name="extra", slots=1)
    return chance.choice(((plain, disky), (disky,), (disky, plain), (extra, plain, disky)))


def live_through(
    seed: int,
    store: Store,
    folder: Path = Path("runs"),
    *,
    is_cached: bool = False,
    engine_class: type[Shaky] = Shaky,
    is_restless: bool = False,
    is_elastic: bool = False,
) -> World:
    """Play one seed to its end, dying now and then; whoever calls looks at the store afterwards.

    `is_restless`: each life has another policy, and other machine types.
    """
    chance = Random(seed)
    world = World(seed, policy=chance.choice(("demand", "fixed", "pfa", "scs+")))
    faults = Faults(
        stillborn=chance.choice((0.0, 0.1)),
        lose=chance.choice((0.0, 0.05)),
        double=chance.choice((0.0, 0.2)),
        delay=chance.choice((0.0, 0.3)),
        drop=chance.choice((0.0, 0.05)),
        shuffle=chance.random() < 0.5,
    )
    visits = Visits(seed, are_welcome=issubclass(engine_class, Club))
    yard = Yard() if issubclass(engine_class, Lasting) else None
    if yard is not None:
        faults = replace(faults, slow=chance.choice((0.0, 0.5, 0.9)))
    deadliness = chance.choice((0.0, 0.02, 0.1))
    submissions: list[Document] = [
        visits.made_rare(random_workflow(chance) if chance.random() < 0.6 else random_program(chance))
        for _ in range(chance.randint(1, 4))
    ]
    if is_elastic:
        submissions[0] = random_elastic(chance)
    world.runs = len(submissions)
    crowd = Crowd(Random(f"crowd {seed}"), chance.choice((0.0, 0.02, 0.05)) if is_elastic else 0.0)
    now: Time = chance.randrange(10 * MINUTE)
    work = outcome_of(seed)

    def dies() -> bool:
        return world.crashes < 60 and chance.random() < deadliness

    def begin() -> tuple[Driver, Shaky]:
        machines: tuple[MachineType, ...] = MACHINES
        if is_restless:
            world.policy = chance.choice(RESTLESS)
            machines = other_machines(chance)
        state = State(machines, (Tenant("default", BUDGET, 30 * SECOND),), 5 * SECOND, seed, declared_time)
        state.accepts_unknown = visits.are_welcome
        state.silence = 20 * SECOND
        name, _, placer = world.policy.partition("/")
        parameters = {"machines": 4} if name == "fixed" else {"placer": placer} if placer else {}
        policy = build(name, parameters)
        engine = engine_class(
            lambda reports: driver.tell(*reports), work=work, faults=faults, seed=chance.randrange(1 << 30), yard=yard
        )
        cache = Cache(store) if is_cached else None
        kept = cast("Store", Fragile(store, dies))
        driver = Driver(state, policy, kept, engine, lambda: now, folder, cache=cache)
        engine.dies = dies
        engine.crowd = crowd
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
            visits.happen(engine, is_over=driver.state.is_closed and not driver.state.runs)
            for end in crowd.step(driver, engine.yard):
                engine.end(end)
            engine.deliver()
        except Crash:
            world.crashes += 1
            world.reports, world.silences = crowd.reports, crowd.silences
            now += chance.randrange(SECOND)
            if yard is not None:
                outlive(chance, yard, work)
                visits.outlive(yard)
                world.adopted.update(key[:2] for key in (*yard.running, *yard.ended))
            driver, engine = begin()
            continue
        ended = [run for run in store.runs(limit=1000) if run.ended is not None]
        broken = [run for run in ended if run.status != "done"]
        if broken:
            driver.tell(Retry(broken[0].id))
            world.retries += 1
        elif len(ended) == len(submissions) and not driver.state.machines and not driver._inbox:
            world.reports, world.silences = crowd.reports, crowd.silences
            return world
        meddle(chance, driver)
        if not driver._inbox:
            now = max(now + 1, driver.due if driver.due is not None else now + SECOND)
            if chance.random() < 0.02:
                now -= chance.randrange(5 * SECOND)  # clocks jump
