"""The core: an event in, commands out.

`Core.handle` applies an event to the state, asks the scaler if it is due, then the placer, and returns what is to be
done. Decisions are checked and applied in `tradewind.core.admit`. Handling an event costs O(log n) in backlog and
machines; a submission costs O(tasks + edges), and a decision of the scaler what its policy needs.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import Any

from tradewind.core.admit import Admission
from tradewind.core.machines import Machine, plus
from tradewind.core.state import State
from tradewind.core.transitions import MACHINE_TABLE, UNIT_TABLE, MachineState, MachineStep, UnitState, UnitStep
from tradewind.core.work import READY, RUNNING, Run, Unit, ideal_makespan
from tradewind.model.command import Admitted, Command, Dropped, Eligible, Ended, Kill, Refused, Wake
from tradewind.model.event import (
    BudgetChanged,
    Cancelled,
    Closed,
    Event,
    Failed,
    Finished,
    MachineFailed,
    MachineLost,
    MachineReady,
    Submitted,
    Timer,
)
from tradewind.model.requirement import Requirement
from tradewind.model.units import Time
from tradewind.policies.protocol import Policy

_FREED = int(UNIT_TABLE[UnitState.WAITING, UnitStep.FREE])
_FINISHED = int(UNIT_TABLE[UnitState.RUNNING, UnitStep.FINISH])
_VACATED = int(MACHINE_TABLE[MachineState.BUSY, MachineStep.VACATE])
_NOBODY: tuple[Unit, ...] = ()
_SCALE, _RENEW, _RESUME = range(3)
"""What alarms are for; those of one instant go off in this order: a machine may be returned before it is renewed."""


class Core:
    """Work, machines and money under a policy."""

    def __init__(self, state: State, policy: Policy) -> None:
        self.state = state
        self.policy = policy
        self._out: list[Command] = []
        self._admission = Admission(state, self._schedule_renewal)
        self._alarms: list[tuple[Time, int, int]] = []
        self._armed: Time | None = None
        self._ticking = False
        self._has_scaled = False
        self._handlers: dict[type, Callable[[Any], None]] = {
            Submitted: self._submitted,
            Cancelled: self._cancelled,
            MachineReady: self._machine_ready,
            MachineFailed: self._machine_failed,
            MachineLost: self._machine_lost,
            Finished: self._finished,
            Failed: self._failed,
            BudgetChanged: self._budget_changed,
            Closed: self._closed,
            Timer: self._timer,
        }

    def handle(self, event: Event) -> Sequence[Command]:
        """Apply a fact and say what is to be done about it."""
        state = self.state
        if event.at > state.now:  # clocks may jump back; the core's time does not
            state.now = event.at
        self._cause = self._admission.cause = event.seq
        out = self._out = self._admission.out = []
        self._handlers[type(event)](event)
        if state.newly_ready or state.newly_vacant or self._has_scaled:
            self._place()
        alarms = self._alarms
        if alarms and (self._armed is None or alarms[0][0] < self._armed):
            self._armed = alarms[0][0]
            out.append(Wake(state.now, self._cause, self._armed))
        return out

    # Work

    def _submitted(self, event: Submitted) -> None:
        state = self.state
        workflow = event.workflow
        pool = state.by_name[event.tenant]
        needs = [state.need(task.requirement) for task in workflow.tasks]
        stuck = next((i for i, need in enumerate(needs) if not need.kinds), None)
        if stuck is not None:
            reason = f"no machine type offers what task {workflow.tasks[stuck].id!r} needs: {needs[stuck].requirement}"
            self._out.append(Refused(state.now, self._cause, event.tenant, workflow.name, reason))
            return
        deadline = None if workflow.deadline is None else state.now + workflow.deadline
        run = Run(len(state.runs), workflow.name, pool, workflow.priority, state.now, deadline)
        first = len(state.units)
        parents = workflow.parents
        units = run.units = [
            Unit(first + i, run, task, needs[i], len(parents[i])) for i, task in enumerate(workflow.tasks)
        ]
        for i, row in enumerate(parents):
            for parent in row:
                elder = units[parent]
                if elder.children is _NOBODY or not elder.children:
                    elder.children = [units[i]]
                else:
                    elder.children.append(units[i])  # type: ignore[attr-defined]  # a list from here on
        run.left = len(units)
        state.runs.append(run)
        state.units += units
        ideal = ideal_makespan(workflow, needs)
        self._out.append(
            Admitted(
                state.now, self._cause, run.id, pool.index, run.name, first, len(units), run.priority, ideal, deadline
            )
        )
        if not units:
            self._out.append(Ended(state.now, self._cause, run.id, pool.index, "done"))
            return
        pool.runs[run.id] = run
        state.active_runs += 1
        self._free([unit for unit in units if not unit.waits], run)
        if self.policy.scaler.on_arrival:
            self._scale()
        self._tick_from(state.now)

    def _free(self, units: Sequence[Unit], run: Run) -> None:
        """Units have nothing left to wait for but a machine."""
        state = self.state
        pool = run.pool
        rank = self.policy.placer.rank
        for unit in units:
            unit.state = _FREED
            pool.enqueue(unit, rank(unit))
        state.newly_ready += units
        state.unsettle(pool)
        self._out.append(Eligible(state.now, self._cause, run.id, pool.index, len(units)))

    def _finished(self, event: Finished) -> None:
        unit = self.state.units[event.unit]
        if unit.attempt != event.attempt or unit.state != RUNNING:
            self._stale(event)
            return
        unit.state = _FINISHED
        machine = self._vacate(unit)
        machine.fleet.completed += 1
        run = unit.run
        if unit.children:
            freed = []
            for child in unit.children:
                child.waits -= 1
                if not child.waits:
                    freed.append(child)
            if freed and not run.failed:
                self._free(freed, run)
        run.left -= 1
        if not run.left:
            self._end(run)

    def _failed(self, event: Failed) -> None:
        state = self.state
        unit = state.units[event.unit]
        if unit.attempt != event.attempt or unit.state != RUNNING:
            self._stale(event)
            return
        self._vacate(unit)
        unit.failures += 1
        run = unit.run
        if unit.failures < unit.task.retry.attempts and not run.failed:
            unit.move(UnitStep.RETRY)
            run.pool.delayed[unit.id] = unit
            heappush(self._alarms, (state.now + unit.task.retry.pause_after(unit.failures), _RESUME, unit.id))
            return
        unit.move(UnitStep.FAIL)
        self._out.append(Eligible(state.now, self._cause, run.id, run.pool.index, -1))
        self._give_up(run, "failed")
        self._leave(run, 1)

    def _cancelled(self, event: Cancelled) -> None:
        run = self.state.runs[event.run]
        if run.id not in run.pool.runs:
            self._stale(event)
            return
        self._give_up(run, "cancelled")
        running = [unit for unit in run.units if unit.state == RUNNING]
        for unit in running:
            machine = self._vacate(unit)
            unit.move(UnitStep.CANCEL)
            self._out.append(
                Kill(self.state.now, self._cause, unit.id, unit.attempt, machine.id, "the run was cancelled")
            )
        if running:
            self._out.append(Eligible(self.state.now, self._cause, run.id, run.pool.index, -len(running)))
            self._leave(run, len(running))

    def _give_up(self, run: Run, status: str) -> None:
        """Nothing of a run is started any more; what runs may end."""
        if run.failed:
            return
        run.failed = status
        eligible = dropped = 0
        for unit in run.units:
            if not unit.is_ended and unit.state != RUNNING:
                eligible += unit.state == READY or unit.id in run.pool.delayed
                dropped += 1
                run.pool.delayed.pop(unit.id, None)
                unit.move(UnitStep.CANCEL)
        if eligible:
            self._out.append(Eligible(self.state.now, self._cause, run.id, run.pool.index, -eligible))
        if dropped:
            self._leave(run, dropped)

    def _leave(self, run: Run, count: int) -> None:
        """So many units of a run have ended."""
        run.left -= count
        if not run.left:
            self._end(run)

    def _end(self, run: Run) -> None:
        state = self.state
        del run.pool.runs[run.id]
        state.active_runs -= 1
        self._out.append(Ended(state.now, self._cause, run.id, run.pool.index, run.failed or "done"))
        run.units = _NOBODY  # a long life should not remember every unit
        if state.is_closed:
            self._close()

    # Machines

    def _machine_ready(self, event: MachineReady) -> None:
        machine = self.state.machines[event.machine]
        if not machine.is_booting:
            self._stale(event)
            return
        machine.move(MachineStep.BOOT)
        machine.expected = machine.idle_since = self.state.now
        machine.fleet.offer(machine)
        self.state.unsettle(machine.pool)
        self.state.newly_vacant.append(machine)

    def _machine_failed(self, event: MachineFailed) -> None:
        machine = self.state.machines[event.machine]
        if not machine.is_booting:
            self._stale(event)
            return
        self._admission.refund_all(machine)
        machine.move(MachineStep.LOSE)
        self._admission.forget(machine)

    def _machine_lost(self, event: MachineLost) -> None:
        machine = self.state.machines[event.machine]
        if not (machine.is_up or machine.is_booting):
            self._stale(event)
            return
        self._evict(machine)
        machine.move(MachineStep.LOSE)
        self._admission.forget(machine)

    def _evict(self, machine: Machine) -> None:
        """What runs on a machine has to run again elsewhere."""
        for unit in tuple(machine.running.values()):
            run = unit.run
            self._vacate(unit, offer=False)
            if run.failed:
                unit.move(UnitStep.CANCEL)
                self._out.append(Eligible(self.state.now, self._cause, run.id, run.pool.index, -1))
                self._leave(run, 1)
                continue
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
            pool = machine.pool
            if not pool.is_unsettled:
                self.state.unsettle(pool)
            self.state.newly_vacant.append(machine)
        return machine

    # Money

    def _budget_changed(self, event: BudgetChanged) -> None:
        pool = self.state.by_name[event.tenant]
        pool.tenant = replace(pool.tenant, budget=event.budget)
        pool.account.budget = event.budget

    def _schedule_renewal(self, machine: Machine) -> None:
        heappush(self._alarms, (machine.paid_until, _RENEW, machine.id))

    def _renew(self, due: list[Machine]) -> None:
        """Pay for another period of each machine; where the budget forbids it, give up what is cheapest to lose."""
        now = self.state.now
        by_loss = sorted(due, key=lambda m: (max((now - u.started for u in m.running.values()), default=-1), m.id))
        for machine in by_loss:
            if machine.pool.account.available(now) < 0:
                for unit in machine.running.values():
                    self._out.append(
                        Kill(now, self._cause, unit.id, unit.attempt, machine.id, "the budget no longer pays for it")
                    )
                self._evict(machine)
                self._admission.release(machine, "the budget no longer pays for it")
            else:
                self._admission.renew(machine)

    # Time

    def _timer(self, _event: Timer) -> None:
        alarms = self._alarms
        now = self.state.now
        self._armed = None
        due: list[Machine] = []
        is_scaling = False
        while alarms and alarms[0][0] <= now:
            _, what, ref = heappop(alarms)
            if what == _SCALE:
                is_scaling = True
            elif what == _RENEW:
                machine = self.state.machines[ref]
                if machine.fleet.machines.get(ref) is machine and machine.paid_until <= now:
                    due.append(machine)
            else:
                unit = self.state.units[ref]
                if unit.run.pool.delayed.pop(ref, None) is not None:
                    unit.move(UnitStep.RESUME)
                    self._requeue(unit)
        if is_scaling:
            self._ticking = False
            self._tick_from(now + 1)
            self._scale()
        held = [machine for machine in due if machine.fleet.machines.get(machine.id) is machine]
        if held:
            self._renew(held)

    def _tick_from(self, earliest: Time) -> None:
        """Ask the scaler at the next whole interval, as long as there is anything to decide on."""
        state = self.state
        if self._ticking or not (state.active_runs or state.held):
            return
        self._ticking = True
        heappush(self._alarms, (-(-earliest // state.interval) * state.interval, _SCALE, 0))

    def _closed(self, _event: Closed) -> None:
        self.state.is_closed = True
        self._close()

    def _close(self) -> None:
        """Let every machine go when the last run has ended."""
        state = self.state
        if state.active_runs:
            return
        for machine in [m for pool in state.all_pools for fleet in pool.fleets for m in fleet.machines.values()]:
            self._admission.release(machine, "all work is done")
        self._alarms.clear()

    # Decisions

    def _scale(self) -> None:
        state = self.state
        state.shuffle_turn()
        self._has_scaled = True  # a plan may have changed, so the placer is asked even if nothing else has
        admission = self._admission
        with state.phase("decision"):
            for action in self.policy.scaler.scale(state):
                admission.scaling(action)

    def _place(self) -> None:
        state = self.state
        self._has_scaled = False
        admit = self._admission.place
        for action in self.policy.placer.place(state):
            admit(action)
        state.settle()

    def _stale(self, event: Event) -> None:
        self._out.append(Dropped(self.state.now, self._cause, repr(event), "it no longer fits the facts"))

    def offers(self, requirement: Requirement) -> bool:
        """Whether any machine type can ever run such work."""
        return bool(self.state.need(requirement).kinds)
