"""Events about machines and money: they come up, fail to, vanish, and their paid time ends."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from operator import attrgetter

from tradewind.core.elastic.division import Share
from tradewind.core.joining import note_loose
from tradewind.core.machines import BUSY, DRAINING, Machine
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
from tradewind.model.vector import covers, minus, plus

SHRUNK = "the machine has shrunk"
BEATEN = "another attempt was faster"
_started = attrgetter("started")
_VACATED = int(MACHINE_TABLE[MachineState.BUSY, MachineStep.VACATE])


class MachineEvents(Turn):
    """Handles what happens to machines."""

    def _machine_ready(self, event: MachineReady) -> None:
        machine = self.state.machines.get(event.machine)
        if machine is None or not machine.is_booting:
            self.stale(event)
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
            self.stale(event)
            return
        self.admission.refund_all(machine)
        machine.move(MachineStep.LOSE)
        self.admission.forget(machine)

    def _machine_lost(self, event: MachineLost) -> None:
        machine = self.state.machines.get(event.machine)
        if machine is None:
            self.stale(event)
            return
        self.lose(machine)

    def lose(self, machine: Machine, *, is_preempted: bool = False) -> None:
        """A machine is gone; what ran on one that could be taken back at any time has been preempted."""
        is_firm = machine.kind.is_firm
        if not is_firm and machine.is_up:
            count = len(machine.running)
            self.state.note_change(machine, grows=False, running=count, ended=count)
        units = self._evict(machine)
        machine.move(MachineStep.LOSE)
        self.admission.pay_back(machine)
        self.admission.forget(machine)
        self._run_again(units, is_preempted=is_preempted or not is_firm)
        self._replan_after_loss(units)

    def _machine_resized(self, event: MachineResized) -> None:
        machine = self.state.machines.get(event.machine)
        if machine is None:
            self.stale(event)
            return
        if not machine.kind.type.keeps(event.amounts):
            self.lose(machine)
            return
        capacity = machine.kind.with_amounts(event.amounts)
        before = machine.capacity
        if capacity == before:
            return
        self.admission.note_size(machine)
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
        self._replan_after_loss(units)

    def _replan_after_loss(self, units: Sequence[Unit]) -> None:
        """Ask the scaler about units that have lost their machine before they are placed, if it wants that."""
        if units and self.policy.replans_on_loss:
            self.scale()

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
                now, cause = self.state.now, self.cause
                self.out.append(Kill(now, cause, unit.id, unit.attempt, machine.id, SHRUNK, is_urgent=True))
                self.vacate(unit, offer=False)
                units.append(unit)
        if not machine.running and not machine.is_up:  # it was being drained
            self._let_go(machine, "it was drained")
        return units

    def _machine_unwanted(self, event: MachineUnwanted) -> None:
        machine = self.state.machines.get(event.machine)
        if machine is None:
            self.stale(event)
        elif not machine.running:
            self._let_go(machine, event.reason)
        elif event.is_urgent:
            self.admission.settle(machine)
            self.give_up(machine, event.reason)
        elif machine.state == BUSY:
            machine.move(MachineStep.DRAIN)

    def _let_go(self, machine: Machine, because: str) -> None:
        """Give back a machine on which nothing runs, whatever policies think of it."""
        self.admission.settle(machine)
        self.admission.release(machine, because)

    def give_up(self, machine: Machine, because: str) -> None:
        """Give back a machine with what runs on it, which has to run elsewhere."""
        units = self._kill_all(machine, because)
        self.admission.release(machine, because)
        self._run_again(units)

    def _kill_all(self, machine: Machine, because: str) -> list[Unit]:
        """End everything that runs on a machine."""
        _put_first(machine)
        for unit in machine.running.values():
            self.out.append(Kill(self.state.now, self.cause, unit.id, unit.attempt, machine.id, because))
        return self._evict(machine)

    def _evict(self, machine: Machine) -> list[Unit]:
        """Take everything off a machine that is about to go."""
        _put_first(machine)
        units = list(machine.running.values())
        for unit in units:
            self.vacate(unit, offer=False)
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
        elif run.is_stopping or (isinstance(unit.elastic, Share) and unit.elastic.division.is_over):
            unit.move(UnitStep.CANCEL)
            self.out.append(Eligible(self.state.now, self.cause, run.id, run.pool.index, -1))
            self.leave(run, 1)
        elif unit.lost > unit.task.retry.lost or unit.preempted > unit.task.retry.preempted:
            self.give_up_on(unit)
        else:
            unit.move(step)
            self._requeue(unit)

    def _run_on(self, unit: Unit) -> None:
        """Of a unit that has lost one of several attempts the others go on."""
        first, *rest = unit.copies
        unit.attempt, unit.machine, unit.started = first
        unit.copies = tuple(rest)
        self.state.newly_thin.append(unit)
        self.must_place = True

    def _end_copies(self, unit: Unit, because: str) -> None:
        """Kill what runs of a unit besides its first attempt."""
        now, cause = self.state.now, self.cause
        copies, unit.copies = unit.copies, ()
        for each in copies:
            self.out.append(Kill(now, cause, unit.id, each.number, each.machine.id, because, is_urgent=True))
            unit.machine = each.machine
            self.vacate(unit)

    def _requeue(self, unit: Unit) -> None:
        pool = unit.run.pool
        if unit.run.is_suspended:
            unit.move(UnitStep.HOLD)
            self.out.append(Eligible(self.state.now, self.cause, unit.run.id, pool.index, -1))
            return
        if unit.elastic is not None and isinstance(unit.elastic, Share):
            unit.elastic.division.queued += 1
        pool.enqueue(unit, self.policy.placer.rank(unit))
        self.state.unsettle(pool)
        self.state.newly_ready.append(unit)

    def vacate(self, unit: Unit, *, offer: bool = True) -> Machine:
        """A unit no longer occupies its machine."""
        machine = unit.machine
        if machine is None:
            raise AssertionError(f"unit {unit.id} runs nowhere")
        state = self.state
        if unit.checkpoint is not None:
            unit.kept += round(unit.checkpoint.saved(state.now - unit.started) * machine.kind.type.speed)
        if unit.elastic is not None and isinstance(unit.elastic, Share):  # mostly it is None
            unit.elastic.division.leave(unit.elastic)
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
            if machine.joined:
                note_loose(state, machine)
        if offer and machine.free[0] > 0:  # else what was lined up takes its place
            machine.fleet.offer(machine)
            if not machine.pool.is_unsettled:
                state.unsettle(machine.pool)
            state.newly_vacant.append(machine)
        return machine

    def _tenant_changed(self, event: TenantChanged) -> None:
        self.state.put_tenant(event.tenant)
        self.must_place = self.must_place or bool(self.state.loose)

    def _renew(self, due: list[Machine]) -> None:
        """Pay for another period of each machine; where the budget forbids it, give up what is cheapest to lose."""
        now = self.state.now
        for machine in sorted(due, key=_loss(now)):
            if machine.id not in self.state.machines or machine.is_spare or machine.paid_until > now:
                continue  # gone with the end of the last run, or seen to already
            if machine.joined and (machine.is_idle or machine.pool.account.is_overcommitted):
                self._set_aside(machine)
            elif machine.pool.account.is_overcommitted:
                self.give_up(machine, "the budget no longer pays for it")
            else:
                self.admission.renew(machine)

    def _set_aside(self, machine: Machine) -> None:
        """Stop paying for a machine that joined; one that is being drained goes."""
        is_leaving = machine.state == DRAINING
        units = self._kill_all(machine, "the budget no longer pays for it")
        if is_leaving:
            self.admission.release(machine, "it was drained")
        else:
            self.admission.set_aside(machine)
        self._run_again(units)

    @abstractmethod
    def leave(self, run: Run, count: int) -> None:
        """So many units of a run have ended."""

    @abstractmethod
    def give_up_on(self, unit: Unit) -> None:
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
