"""Tenants that compete for too few machines: each gets its share, or its turn."""

from collections import Counter

import pytest
from worlds import Bench, of, task, workflow

from tradewind.model.command import Acquire, Release, Start
from tradewind.model.event import Finished, MachineReady, Timer
from tradewind.model.machine import Billing, MachineType
from tradewind.model.tenant import Tenant
from tradewind.model.units import SECOND

QUANTUM = 30 * SECOND


class Crowd:
    """Tenants on a few machines that boot at once, with tasks of five seconds."""

    def __init__(self, limit: int, *tenants: Tenant, policy: str = "demand") -> None:
        kind = MachineType("m", billing=Billing(10 * SECOND), limit=limit)
        self.bench = Bench([kind], policy, tenants=list(tenants))
        self.bench.state.quantum = QUANTUM
        self.bench.state.interval = 5 * SECOND
        self.started: Counter[str] = Counter()
        self._now = 0
        self._seen = 0
        self._ends: list[tuple[int, Start]] = []

    def submit(self, tenant: str, count: int = 400) -> None:
        self.bench.submit(self._now, workflow(*(task(f"t{i}", 5) for i in range(count))), tenant)

    def work(self, seconds: int) -> None:
        bench = self.bench
        for _ in range(seconds):
            fresh, self._seen = bench.records[self._seen :], len(bench.records)
            for record in fresh:
                if isinstance(record, Acquire):
                    bench.tell(MachineReady, self._now, record.machine)
                elif isinstance(record, Start):
                    self.started[bench.state.units[record.unit].run.pool.tenant.name] += 1
                    self._ends.append((self._now + 5, record))
            due = [start for end, start in self._ends if end <= self._now]
            self._ends = [each for each in self._ends if each[0] > self._now]
            for start in due:
                bench.tell(Finished, self._now, start.unit, start.attempt, start.machine)
            bench.tell(Timer, self._now)
            self._now += 1

    def held(self) -> Counter[str]:
        return Counter(machine.pool.tenant.name for machine in self.bench.state.machines.values())


def test_whoever_comes_second_gets_half() -> None:
    crowd = Crowd(4, Tenant("ann"), Tenant("bob"))
    crowd.submit("ann")
    crowd.work(60)
    crowd.submit("bob")
    crowd.work(400)
    assert crowd.held() == {"ann": 2, "bob": 2}


def test_a_single_machine_changes_hands() -> None:
    crowd = Crowd(1, Tenant("ann"), Tenant("bob"))
    crowd.submit("ann")
    crowd.submit("bob")
    crowd.work(600)
    assert min(crowd.started.values()) > 0.3 * crowd.started.total()


def test_weights_decide() -> None:
    crowd = Crowd(8, Tenant("ann", weight=3.0), Tenant("bob", weight=1.0))
    crowd.submit("bob")
    crowd.submit("ann")
    crowd.work(300)
    assert crowd.held() == {"ann": 6, "bob": 2}


def test_nobody_is_drained_while_nobody_waits() -> None:
    crowd = Crowd(2, Tenant("ann"), Tenant("bob"))
    crowd.submit("ann", 40)
    crowd.work(60)
    assert not of(crowd.bench.records, Release)


def test_a_quota_holds() -> None:
    crowd = Crowd(8, Tenant("ann", machines=3))
    crowd.submit("ann", 40)
    crowd.work(30)
    assert crowd.held() == {"ann": 3}


@pytest.mark.parametrize("policy", ["demand", "fixed"])
def test_an_idle_fleet_makes_way(policy: str) -> None:
    crowd = Crowd(1, Tenant("ann"), Tenant("bob"), policy=policy)
    crowd.submit("ann", 2)
    crowd.work(60)
    crowd.submit("bob", 5)
    crowd.work(200)
    assert crowd.started["bob"] == 5


def test_without_a_quantum_first_come_is_first_served() -> None:
    crowd = Crowd(2, Tenant("ann"), Tenant("bob"))
    crowd.bench.state.quantum = None
    crowd.submit("ann")
    crowd.work(20)
    crowd.submit("bob")
    crowd.work(200)
    assert crowd.held() == {"ann": 2}
