"""A world of machines that join and leave at random, and the rules that hold in it whatever the policy."""

import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from worlds import Bench, task, workflow

from tradewind.core.joining import REPLACED
from tradewind.core.log import Record
from tradewind.core.machines import IDLE, SPARE
from tradewind.model.command import Acquire, Admitted, Charged, Kill, Lent, Release, Start, Wake, Wanted, Welcomed
from tradewind.model.event import (
    Cancelled,
    Closed,
    Event,
    Finished,
    MachineJoined,
    MachineLeft,
    MachineLost,
    MachineReady,
    MachineUnwanted,
    Submitted,
    TenantChanged,
    Timer,
)
from tradewind.model.machine import Billing, MachineType, Market
from tradewind.model.requirement import Requirement, amounts
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, SECOND, UNIT, Money, Time
from tradewind.model.vector import minus
from tradewind.model.workflow import Retry

POLICIES = (
    "demand",
    "pfa",
    "plf",
    "scf",
    "capability",
    "slacksched",
    "slacksched-heartbeat",
    "replicate",
    "scs",
    "scs+",
    "greedy",
    "gain",
)
_NEEDS = (
    Requirement(),
    Requirement(frozenset({"gpu"})),
    Requirement(frozenset(), amounts(memory=2)),
    Requirement(frozenset({"gpu"}), amounts(licences=1)),
    Requirement(frozenset({"quantum"})),
)
_OFFERS = (
    MachineType("desk"),
    MachineType("site", slots=3, limit=4),
    MachineType("rig", capabilities=frozenset({"gpu"}), slots=2, amounts=amounts(memory=4, licences=2)),
    MachineType("dear", 2 * UNIT, Billing(MINUTE), capabilities=frozenset({"gpu"})),
    MachineType("fine", UNIT, Billing(MINUTE, SECOND), amounts=amounts(memory=8), slots=2, market=Market.SPOT),
)
EVERYTHING = MachineType(
    "all", slots=4, capabilities=frozenset({"gpu", "quantum"}), amounts=amounts(memory=99, licences=99)
)


class Guests:
    """Drives a core with machines that join, from a seed."""

    def __init__(self, seed: int, policy: str | None = None) -> None:
        self.rng = rng = random.Random(seed)
        self.policy = policy or rng.choice(POLICIES)
        rented = (MachineType("rented", UNIT, Billing(MINUTE), limit=3), replace(_OFFERS[0], joins=True, limit=2))
        self.types = rented[: rng.randint(1, 2)]
        self.tenants = tuple(
            Tenant(name, rng.choice((None, 0, 2 * UNIT, 9 * UNIT)), MINUTE, rng.choice((1, 2)), rng.choice((None, 2)))
            for name in ("ann", "bob", "eve")[: rng.randint(1, 3)]
        )
        self.bench = Bench(self.types, self.policy, tenants=self.tenants)
        self.state = self.bench.state
        self.state.accepts_unknown = rng.random() < 0.7
        self.book = Book(self)
        self.now: Time = 0
        self.due: Time | None = None
        self.names = 0

    def play(self, steps: int) -> None:
        """Let so many things happen."""
        acts: list[Callable[[], Event | None]] = [
            self.submit,
            self.submit,
            *[self.finish] * 4,
            *[self.wake] * 4,
            *[self.join] * 3,
            self.leave,
            self.boot,
            self.boot,
            self.lose,
            self.unwant,
            self.join_again,
            self.cancel,
        ]
        for _ in range(steps):
            event = self.rng.choice(acts)()
            if event is not None:
                self.deliver(event)

    def deliver(self, event: Event) -> None:
        """Give an event to the core, timers before it on time, and check everything."""
        while self.due is not None and self.due < event.at:
            self._deliver(Timer(self.due, 0))
        self._deliver(event)

    def _deliver(self, event: Event) -> None:
        if isinstance(event, Timer):
            self.due = None
        self.now = max(self.now, event.at)
        event = event._replace(seq=self.bench.next_seq())
        self.book.note(event)
        for command in self.bench.handle(event):
            self.book.note(command)
            if isinstance(command, Wake):
                self.due = command.due if self.due is None else min(self.due, command.due)
        self.book.check()

    def later(self) -> Time:
        return self.now + self.rng.choice((0, 0, 1, 7, 30, 61)) * SECOND

    def submit(self) -> Event:
        tasks = [
            task(f"t{i}", self.rng.choice((0, 5, 40)), needs=self.rng.choice(_NEEDS), retry=Retry(lost=99))
            for i in range(self.rng.randint(1, 4))
        ]
        deadline = self.rng.choice((None, 5 * MINUTE))
        return Submitted(self.later(), 0, self.rng.choice(self.tenants).name, workflow(*tasks, deadline=deadline))

    def join(self) -> Event:
        self.names += 1
        type = self.rng.choice(_OFFERS)
        return MachineJoined(self.later(), 0, f"{type.name}/{self.names}", type, self._served())

    def _served(self) -> tuple[str, ...]:
        names = [tenant.name for tenant in self.tenants]
        return self.rng.choice(((), (), tuple(names[:1]), tuple(names[-2:]), ("nobody",)))

    def join_again(self) -> Event | None:
        """Under a name that is held: mostly the same machine, at times another."""
        name = self._any(sorted(self.state.joined))
        if name is None:
            return None
        machine = self.state.joined[name]
        same = MachineJoined(self.later(), 0, name, machine.kind.configured, tuple(sorted(machine.kind.tenants)))
        return same if self.rng.random() < 0.7 else same._replace(type=self.rng.choice(_OFFERS))

    def leave(self) -> Event | None:
        name = self._any(sorted(self.state.joined))
        return None if name is None else MachineLeft(self.later(), 0, self.state.joined[name].id, "it signs off")

    def lose(self) -> Event | None:
        number = self._any(sorted(self.state.machines))
        return None if number is None else MachineLost(self.later(), 0, number, "it burns")

    def unwant(self) -> Event | None:
        number = self._any(sorted(self.state.machines))
        if number is None:
            return None
        return MachineUnwanted(self.later(), 0, number, "it is old", self.rng.random() < 0.5)

    def boot(self) -> Event | None:
        number = self._any([m.id for m in self.state.machines.values() if m.is_booting])
        return None if number is None else MachineReady(self.later(), 0, number)

    def finish(self) -> Event | None:
        key = self._any(sorted(self.book.running))
        return None if key is None else Finished(self.later(), 0, key[0], key[1], self.book.running[key])

    def cancel(self) -> Event | None:
        run = self._any(sorted(self.state.runs))
        return None if run is None else Cancelled(self.later(), 0, run)

    def wake(self) -> Event | None:
        return None if self.due is None else Timer(self.due, 0)

    def _any(self, values: list[Any]) -> Any:
        return self.rng.choice(values) if values else None

    def come_to_an_end(self, turns: int = 2_000) -> bool:
        """Let a machine join that can do everything for everybody; whether all work ends."""
        for tenant in self.tenants:
            self.deliver(TenantChanged(self.now, 0, replace(tenant, budget=None, machines=None)))
        self.deliver(MachineJoined(self.now, 0, "the last", EVERYTHING))
        self.deliver(Closed(self.now, 0))
        for _ in range(turns):
            booting = [machine.id for machine in self.state.machines.values() if machine.is_booting]
            if self.book.running:
                (unit, attempt), machine = min(self.book.running.items())
                self.deliver(Finished(self.now + SECOND, 0, unit, attempt, machine))
            elif booting:
                self.deliver(MachineReady(self.now, 0, min(booting)))
            elif self.due is not None:
                self.deliver(Timer(max(self.now, self.due), 0))
            if not self.state.runs:
                return True
        return False


class Book:
    """What the records say, kept in the plainest way, and compared with the state."""

    def __init__(self, world: Guests) -> None:
        self._world = world
        self.running: dict[tuple[int, int], int] = {}
        """By unit and attempt: the machine."""
        self.tenant_of: dict[int, int] = {}
        """Of each machine that is held; below zero: none."""
        self.served: dict[int, frozenset[str]] = {}
        self.joined: dict[int, str] = {}
        self.unwanted: set[int] = set()
        self.wanted: dict[int, int] = defaultdict(int)
        self.run_tenants: list[tuple[int, int]] = []
        """First unit and tenant of each run."""
        self.charges: list[tuple[int, Time, Money]] = []
        self._served_next: tuple[str, ...] = ()
        self._is_closed = False

    def note(self, record: Record) -> None:
        """Take in a record."""
        handler = getattr(self, f"_on_{type(record).__name__.lower()}", None)
        if handler is not None:
            handler(record)

    def _on_machinejoined(self, record: MachineJoined) -> None:
        self._served_next = record.tenants

    def _on_welcomed(self, record: Welcomed) -> None:
        assert record.name not in self.joined.values()
        self.joined[record.machine], self.tenant_of[record.machine] = record.name, record.tenant
        self.served[record.machine] = frozenset(self._served_next)
        self._check_service(record.machine)

    def _on_lent(self, record: Lent) -> None:
        assert self.tenant_of[record.machine] != record.tenant
        assert not self._runs_on(record.machine), "it was lent while it ran something"
        self.tenant_of[record.machine] = record.tenant
        self._check_service(record.machine)

    def _on_wanted(self, record: Wanted) -> None:
        kind = self._world.state.kinds[record.kind]
        assert kind.type.joins
        assert 0 <= record.count <= kind.type.limit
        assert record.count != self.wanted[record.kind], "a hint was repeated"
        self.wanted[record.kind] = record.count

    def _on_acquire(self, record: Acquire) -> None:
        assert not self._world.state.kinds[record.kind].type.joins, "a machine that joins was rented"
        self.tenant_of[record.machine] = record.tenant

    def _on_release(self, record: Release) -> None:
        assert not self._runs_on(record.machine)
        is_ours = record.machine not in self.joined
        assert is_ours or record.machine in self.unwanted or self._is_closed or record.because == REPLACED
        self._forget(record.machine)

    def _on_machineunwanted(self, record: MachineUnwanted) -> None:
        self.unwanted.add(record.machine)

    def _on_closed(self, _: Closed) -> None:
        self._is_closed = True

    def _on_machinelost(self, record: MachineLost) -> None:
        self._forget(record.machine)

    def _on_machineleft(self, record: MachineLeft) -> None:
        self._forget(record.machine)

    def _on_admitted(self, record: Admitted) -> None:
        self.run_tenants.append((record.first, record.tenant))

    def _on_start(self, record: Start) -> None:
        tenant = max((first, tenant) for first, tenant in self.run_tenants if first <= record.unit)[1]
        assert self.tenant_of[record.machine] == tenant, "it runs on a machine of another tenant"
        if self._world.policy != "replicate":
            assert all(unit != record.unit for unit, _ in self.running), "it runs twice at a time"
        self.running[record.unit, record.attempt] = record.machine

    def _on_kill(self, record: Kill) -> None:
        del self.running[record.unit, record.attempt]

    def _on_finished(self, record: Finished) -> None:
        self.running.pop((record.unit, record.attempt), None)

    def _on_charged(self, record: Charged) -> None:
        assert self.tenant_of[record.machine] == record.tenant
        if record.machine in self.joined:
            assert record.amount > 0, "a machine that costs nothing was charged for"
        self.charges.append((record.tenant, record.at, record.amount))

    def _check_service(self, machine: int) -> None:
        tenant, served = self.tenant_of[machine], self.served[machine]
        if tenant >= 0 and served:
            assert self._world.tenants[tenant].name in served

    def _runs_on(self, machine: int) -> bool:
        return machine in self.running.values()

    def _forget(self, machine: int) -> None:
        self.running = {key: where for key, where in self.running.items() if where != machine}
        for known in (self.tenant_of, self.joined, self.served):
            known.pop(machine, None)

    def check(self) -> None:
        """Compare with the state."""
        state = self._world.state
        assert set(self.tenant_of) == set(state.machines)
        places: dict[int, list[int]] = defaultdict(list)
        for pool in state.all_pools:
            for fleet in pool.fleets:
                for number, machine in fleet.machines.items():
                    places[number].append(pool.index)
                    assert machine.fleet is fleet
                    assert machine.pool is pool
            quota = pool.tenant.machines
            assert quota is None or pool.held <= quota
        for number, machine in state.machines.items():
            assert places[number] == ([] if machine.is_spare else [self.tenant_of[number]]), "not in just one pool"
            free = machine.capacity
            for unit in machine.running.values():
                free = minus(free, unit.need.demand)
            assert machine.free == free
            assert len(machine.capacity) == 1 + len(state.dimensions)
            assert bool(machine.joined) == (number in self.joined)
            if machine.joined and machine.state in (IDLE, SPARE) and not machine.running:
                assert machine.id in state.loose[machine.kind.index]
        for kind in state.kinds:
            assert kind.held == sum(len(pool.fleets[kind.index].machines) for pool in state.all_pools)
            assert kind.present == sum(machine.kind is kind for machine in state.joined.values())
        running = {(unit.id, each.number) for unit in state.units.values() for each in unit.attempts()}
        assert running == set(self.running)

    def check_spending(self) -> None:
        """No stretch as long as the interval costs more than the budget; to be called before budgets change."""
        for index, tenant in enumerate(self._world.tenants):
            if tenant.budget is None:
                continue
            charges = [(at, amount) for who, at, amount in self.charges if who == index]
            for end, _ in charges:
                spent = sum(amount for at, amount in charges if end - tenant.interval < at <= end)
                assert spent <= tenant.budget, f"{tenant.name} spends {spent} of {tenant.budget} up to {end}"
