"""What the core counts as it goes agrees with what it holds, whatever it has been told, after every event."""

from functools import reduce

from hypothesis import given, settings
from hypothesis import strategies as st
from mischief import Mischief

from tradewind.core.ledger import worth
from tradewind.core.machines import BOOTING, BUSY, DRAINING, IDLE, Machine
from tradewind.core.pool import Pool
from tradewind.core.work import DELAYED, READY, RUNNING, Run, Unit
from tradewind.model.event import Event
from tradewind.model.vector import minus


class Watched(Mischief):
    """A world of tricks that looks at the core after each of them."""

    def _deliver(self, event: Event) -> None:
        super()._deliver(event)
        state = self.bench.state
        for machine in state.machines.values():
            check_machine(machine)
        for pool in state.all_pools:
            check_pool(pool)
        for kind in state.kinds:
            assert kind.held == sum(len(pool.fleets[kind.index].machines) for pool in state.all_pools)
        for run in state.runs.values():
            check_run(run)


def check_machine(machine: Machine) -> None:
    taken = [unit.need.demand for unit in machine.running.values()]
    assert machine.free == reduce(minus, taken, machine.capacity)
    assert machine.state in ((BUSY, DRAINING) if taken else (IDLE, BOOTING))
    assert machine.fleet.machines[machine.id] is machine
    slot = (1, *(0 for _ in machine.capacity[1:]))
    assert not machine.is_up or not machine.free[0] or machine.fleet.first_with(slot) is not None


def check_pool(pool: Pool) -> None:
    held = [machine for fleet in pool.fleets for machine in fleet.machines.values()]
    assert pool.held == len(held)
    assert pool.account.committed == sum(worth(machine.kind.type, pool.account.interval) for machine in held)
    assert pool.account.refunded <= pool.account.charged
    ready: dict[int, list[Unit]] = {}
    for run in pool.runs.values():
        for unit in run.units:
            if unit.state == READY:
                ready.setdefault(unit.need.index, []).append(unit)
    for units in ready.values():
        need = units[0].need
        assert pool.remaining(need) == len(units)
        assert pool.first(need) is min(units, key=lambda unit: unit.key)


def check_run(run: Run) -> None:
    assert run.left == sum(not unit.is_ended for unit in run.units)
    for unit in run.units:
        assert (unit.state == RUNNING) == (unit.machine is not None)
        assert all(attempt.machine.running[unit.id] is unit for attempt in unit.attempts())
        assert unit.state == RUNNING or not unit.copies
        assert unit.state != READY or not (run.is_suspended or run.is_stopping)
        assert unit.state != DELAYED or run.is_suspended or unit.id in run.pool.delayed


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6))
def test_the_books_agree_after_every_event(seed: int) -> None:
    Watched(seed, is_orderly=False).play(80)
