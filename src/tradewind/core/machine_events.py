"""Events about machines and money: they come up, fail to, vanish, and their paid time ends."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from operator import attrgetter

from tradewind.core.machines import BUSY, DRAINING, Machine, covers, minus, plus
from tradewind.core.transitions import MACHINE_TABLE, MachineState, MachineStep, UnitStep
from tradewind.core.turn import Turn
from tradewind.core.work import Run, Unit
from tradewind.model.command import Eligible, Kill
from tradewind.model.event import (
    MachineFailed,
    MachineLost,
    MachineReady,
    MachineResized,
    MachineUnwanted,
    TenantChanged,
)
from tradewind.model.units import Duration, Time

SHRUNK = "the machine has shrunk"
BEATEN = "another attempt was faster"
_started = attrgetter("started")
_VACATED = int(MACHINE_TABLE[MachineState.BUSY, MachineStep.VACATE])


class MachineEvents(Turn, ABC):
    """Handles what happens to machines."""

    def _machine_ready(self, event: MachineReady) -> None:
        machine = self.state.machines.get(event.machine)
        if machine is None or not machine.is_booting:
            self._stale(event)
            return
        machine.move(MachineStep.BOOT)
        self.state.learn_lag(machine)
        machine.expected = machine.idle_since = machine.changed = self.state.now
        machine.fleet.offer(machine)
        self.state.unsettle(machine.pool)
        self.state.newly_vacant.append(machine)

    def _machine_failed(self, event: MachineFailed) -> None:
        machine = self.state.machines.get(event.machine)
        if machine is None or not machine.is_booting:
            self._stale(event)
            return
        self._admission.refund_all(machine)
        machine.move(MachineStep.LOSE)
        self._admission.forget(machine)

    def _machine_lost(self, event: MachineLost) -> None:
        machine = self.state.machines.get(event.machine)
        if machine is None:
            self._stale(event)
            return
        self._lose(machine)

    def _lose(self, machine: Machine) -> None:
        """A machine is gone; what ran on one that could be taken back at any time has been preempted."""
        is_firm = machine.kind.is_firm
        if not is_firm and machine.is_up:
            count = len(machine.running)
            self.state.note_change(machine, grows=False, running=count, ended=count)
        units = self._evict(machine)
        machine.move(MachineStep.LOSE)
        self._admission.pay_back(machine)
        self._admission.forget(machine)
        self._run_again(units, is_preempted=not is_firm)

    def _machine_resized(self, event: MachineResized) -> None:
        machine = self.state.machines.get(event.machine)
        if machine is None:
            self._stale(event)
            return
        if not machine.kind.type.keeps(event.amounts):
            self._lose(machine)
            return
        capacity = machine.kind.with_amounts(event.amounts)
        before = machine.capacity
        if capacity == before:
            return
        self._admission.note_size(machine)
        machine.capacity = capacity
        machine.free = plus(machine.free, minus(capacity, before))
        if machine.is_booting:
            return
        count = len(machine.running)
        units = self._make_fit(machine)
        if machine.id in self.state.machines:
            self.state.note_change(machine, grows=covers(capacity, before), running=count, ended=len(units))
        if machine.is_up and any(machine.free):
            machine.fleet.offer(machine)
            self.state.unsettle(machine.pool)
            self.state.newly_vacant.append(machine)
        self._run_again(units, is_preempted=True)

    def _make_fit(self, machine: Machine) -> list[Unit]:
        """End attempts, in the order that the policy wants, until what is left fits into a machine that has shrunk."""
        units: list[Unit] = []
        if min(machine.free) >= 0:
            return units
        _put_first(machine)
        by_age = sorted(machine.running.values(), key=lambda unit: (unit.started, unit.id))
        for unit in by_age if self.policy.kill == "oldest" else reversed(by_age):
            if min(machine.free) >= 0:
                break
            if any(free < 0 and takes for free, takes in zip(machine.free, unit.need.demand, strict=True)):
                now, cause = self.state.now, self._cause
                self._out.append(Kill(now, cause, unit.id, unit.attempt, machine.id, SHRUNK, is_urgent=True))
                self._vacate(unit, offer=False)
                units.append(unit)
        if not machine.running and not machine.is_up:  # it was being drained
            self._let_go(machine, "it was drained")
        return units

    def _machine_unwanted(self, event: MachineUnwanted) -> None:
        machine = self.state.machines.get(event.machine)
        if machine is None:
            self._stale(event)
        elif not machine.running:
            self._let_go(machine, event.reason)
        elif event.is_urgent:
            self._admission.settle(machine)
            self._give_up(machine, event.reason)
        elif machine.state == BUSY:
            machine.move(MachineStep.DRAIN)

    def _let_go(self, machine: Machine, because: str) -> None:
        """Give back a machine on which nothing runs, whatever policies think of it."""
        self._admission.settle(machine)
        self._admission.release(machine, because)

    def _give_up(self, machine: Machine, because: str) -> None:
        """Give back a machine with what runs on it, which has to run elsewhere."""
        _put_first(machine)
        for unit in machine.running.values():
            self._out.append(Kill(self.state.now, self._cause, unit.id, unit.attempt, machine.id, because))
        units = self._evict(machine)
        self._admission.release(machine, because)
        self._run_again(units)

    def _evict(self, machine: Machine) -> list[Unit]:
        """Take everything off a machine that is about to go."""
        _put_first(machine)
        units = list(machine.running.values())
        for unit in units:
            self._vacate(unit, offer=False)
        return units

    def _run_again(self, units: list[Unit], *, is_preempted: bool = False) -> None:
        """What has lost its machine has to run elsewhere; this may end runs, and with them all there is."""
        for unit in units:
            unit.lost += not is_preempted
            unit.preempted += is_preempted
            self._run_elsewhere(unit, UnitStep.PREEMPT if is_preempted else UnitStep.LOSE)

    def _run_elsewhere(self, unit: Unit, step: UnitStep) -> None:
        """A unit is ready again, unless others of its attempts go on or it has had to move too often."""
        run = unit.run
        if unit.copies:
            self._run_on(unit)
        elif run.is_stopping:
            unit.move(UnitStep.CANCEL)
            self._out.append(Eligible(self.state.now, self._cause, run.id, run.pool.index, -1))
            self._leave(run, 1)
        elif unit.lost > unit.task.retry.lost or unit.preempted > unit.task.retry.preempted:
            self._give_up_on(unit)
        else:
            unit.move(step)
            self._requeue(unit)

    def _run_on(self, unit: Unit) -> None:
        """Of a unit that has lost one of several attempts the others go on."""
        first, *rest = unit.copies
        unit.attempt, unit.machine, unit.started = first
        unit.copies = tuple(rest)
        self.state.newly_thin.append(unit)
        self._must_place = True

    def _end_copies(self, unit: Unit, because: str) -> None:
        """Kill what runs of a unit besides its first attempt."""
        now, cause = self.state.now, self._cause
        copies, unit.copies = unit.copies, ()
        for each in copies:
            self._out.append(Kill(now, cause, unit.id, each.number, each.machine.id, because, is_urgent=True))
            unit.machine = each.machine
            self._vacate(unit)

    def _requeue(self, unit: Unit) -> None:
        pool = unit.run.pool
        if unit.run.is_suspended:
            unit.move(UnitStep.HOLD)
            self._out.append(Eligible(self.state.now, self._cause, unit.run.id, pool.index, -1))
            return
        pool.enqueue(unit, self.policy.placer.rank(unit))
        self.state.unsettle(pool)
        self.state.newly_ready.append(unit)

    def _vacate(self, unit: Unit, *, offer: bool = True) -> Machine:
        """A unit no longer occupies its machine."""
        machine = unit.machine
        if machine is None:
            raise AssertionError(f"unit {unit.id} runs nowhere")
        state = self.state
        if unit.checkpoint is not None:
            unit.kept += round(unit.checkpoint.saved(state.now - unit.started) * machine.kind.type.speed)
        unit.machine = None
        running = machine.running
        del running[unit.id]
        if running:
            machine.free = plus(machine.free, unit.need.demand)
        else:
            machine.free = machine.capacity
            machine.idle_since = state.now
            if machine.state == DRAINING:
                if offer:
                    self._let_go(machine, "it was drained")
                return machine
            machine.state = _VACATED
        if offer and machine.free[0] > 0:  # else what was lined up takes its place
            machine.fleet.offer(machine)
            if not machine.pool.is_unsettled:
                state.unsettle(machine.pool)
            state.newly_vacant.append(machine)
        return machine

    def _tenant_changed(self, event: TenantChanged) -> None:
        tenant = event.tenant
        pool = self.state.by_name.get(tenant.name)
        if pool is None:
            self.state.add_pool(tenant)
            return
        pool.tenant = tenant
        pool.account.change(tenant, [m.kind.type for fleet in pool.fleets for m in fleet.machines.values()])

    def _renew(self, due: list[Machine]) -> None:
        """Pay for another period of each machine; where the budget forbids it, give up what is cheapest to lose."""
        now = self.state.now
        for machine in sorted(due, key=_loss(now)):
            if machine.id not in self.state.machines:
                continue  # gone with the end of the last run
            if machine.pool.account.is_overcommitted:
                self._give_up(machine, "the budget no longer pays for it")
            else:
                self._admission.renew(machine)

    @abstractmethod
    def _leave(self, run: Run, count: int) -> None:
        """So many units of a run have ended."""

    @abstractmethod
    def _give_up_on(self, unit: Unit) -> None:
        """A unit has failed for good."""


def _loss(now: Time) -> Callable[[Machine], tuple[Duration, int]]:
    """What giving up a machine would lose: the longest that anything has run on it; its number among equals."""

    def loss(machine: Machine) -> tuple[Duration, int]:
        running = machine.running
        return now - min(map(_started, running.values())) if running else -1, machine.id

    return loss


def _put_first(machine: Machine) -> None:
    """Of all units on a machine, make the attempts that run there the first."""
    for unit in machine.running.values():
        if unit.copies and (attempt := unit.on(machine.id)) is not None:
            unit.lead(attempt)
