"""Events about machines and money: they come up, fail to, vanish, and their paid time ends."""

from abc import ABC, abstractmethod
from dataclasses import replace

from tradewind.core.machines import Machine, plus
from tradewind.core.transitions import MACHINE_TABLE, MachineState, MachineStep, UnitStep
from tradewind.core.turn import Turn
from tradewind.core.work import Run, Unit
from tradewind.model.command import Eligible, Kill
from tradewind.model.event import BudgetChanged, MachineFailed, MachineLost, MachineReady

_VACATED = int(MACHINE_TABLE[MachineState.BUSY, MachineStep.VACATE])


class MachineEvents(Turn, ABC):
    """Handles what happens to machines."""

    def _machine_ready(self, event: MachineReady) -> None:
        machine = self.state.machines.get(event.machine)
        if machine is None or not machine.is_booting:
            self._stale(event)
            return
        machine.move(MachineStep.BOOT)
        machine.expected = machine.idle_since = self.state.now
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
        units = self._evict(machine)
        machine.move(MachineStep.LOSE)
        self._admission.forget(machine)
        self._run_again(units)

    def _evict(self, machine: Machine) -> list[Unit]:
        """Take everything off a machine that is about to go."""
        units = list(machine.running.values())
        for unit in units:
            self._vacate(unit, offer=False)
        return units

    def _run_again(self, units: list[Unit]) -> None:
        """What ran on a machine that is gone has to run elsewhere; this may end runs, and with them all there is."""
        for unit in units:
            run = unit.run
            unit.lost += 1
            if run.is_stopping:
                unit.move(UnitStep.CANCEL)
                self._out.append(Eligible(self.state.now, self._cause, run.id, run.pool.index, -1))
                self._leave(run, 1)
            elif unit.lost > unit.task.retry.lost:
                self._give_up_on(unit)
            else:
                unit.move(UnitStep.LOSE)
                self._requeue(unit)

    def _requeue(self, unit: Unit) -> None:
        pool = unit.run.pool
        pool.enqueue(unit, self.policy.placer.rank(unit))
        self.state.unsettle(pool)
        self.state.newly_ready.append(unit)

    def _vacate(self, unit: Unit, *, offer: bool = True) -> Machine:
        """A unit no longer occupies its machine."""
        machine = unit.machine
        if machine is None:
            raise AssertionError(f"unit {unit.id} runs nowhere")
        unit.machine = None
        del machine.running[unit.id]
        if not machine.running:
            machine.free = machine.kind.capacity
            machine.state = _VACATED
            machine.idle_since = self.state.now
        else:
            machine.free = plus(machine.free, unit.need.demand)
        if offer:
            machine.fleet.offer(machine)
            state = self.state
            if not machine.pool.is_unsettled:
                state.unsettle(machine.pool)
            state.newly_vacant.append(machine)
        return machine

    def _budget_changed(self, event: BudgetChanged) -> None:
        pool = self.state.by_name.get(event.tenant)
        if pool is None:
            self._stale(event)
            return
        pool.tenant = replace(pool.tenant, budget=event.budget)
        pool.account.budget = event.budget

    def _renew(self, due: list[Machine]) -> None:
        """Pay for another period of each machine; where the budget forbids it, give up what is cheapest to lose."""
        now = self.state.now
        by_loss = sorted(due, key=lambda m: (max((now - u.started for u in m.running.values()), default=-1), m.id))
        for machine in by_loss:
            if machine.id not in self.state.machines:
                continue  # gone with the end of the last run
            if machine.pool.account.is_overcommitted:
                for unit in machine.running.values():
                    self._out.append(
                        Kill(now, self._cause, unit.id, unit.attempt, machine.id, "the budget no longer pays for it")
                    )
                units = self._evict(machine)
                self._admission.release(machine, "the budget no longer pays for it")
                self._run_again(units)
            else:
                self._admission.renew(machine)

    @abstractmethod
    def _leave(self, run: Run, count: int) -> None:
        """So many units of a run have ended."""

    @abstractmethod
    def _give_up_on(self, unit: Unit) -> None:
        """A unit has failed for good."""
