"""Events about work: it is submitted, grows, finishes, fails and is cancelled."""

from collections.abc import Sequence
from heapq import heappush

from tradewind.core.machine_events import BEATEN, MachineEvents
from tradewind.core.transitions import UNIT_TABLE, UnitState, UnitStep
from tradewind.core.turn import NOBODY, RESUME
from tradewind.core.work import DELAYED, READY, RUNNING, Need, Run, Unit, ideal_makespan
from tradewind.model.command import Admitted, Eligible, Ended, Expired, Grown, Kill, Refused
from tradewind.model.event import (
    Broken,
    Cancelled,
    Extended,
    Failed,
    Finished,
    Reprioritised,
    Resumed,
    Submitted,
    Suspended,
)
from tradewind.model.requirement import Requirement, amounts_of
from tradewind.model.units import show_duration
from tradewind.model.workflow import Task

_FREED = int(UNIT_TABLE[UnitState.WAITING, UnitStep.FREE])
_HELD = int(UNIT_TABLE[UnitState.READY, UnitStep.HOLD])
_FINISHED = int(UNIT_TABLE[UnitState.RUNNING, UnitStep.FINISH])


class WorkEvents(MachineEvents):
    """Handles what happens to runs and their units."""

    def _submitted(self, event: Submitted) -> None:
        state = self.state
        workflow = event.workflow
        pool = state.by_name.get(event.tenant)
        if pool is None:
            reason = f"there is no tenant {event.tenant!r}"
            self._out.append(Refused(state.now, self._cause, event.tenant, workflow.name, reason))
            return
        needs = self._needs(workflow.tasks)
        if isinstance(needs, str):
            self._out.append(Refused(state.now, self._cause, event.tenant, workflow.name, needs))
            return
        deadline = None if workflow.deadline is None else state.now + workflow.deadline
        run = Run(state.next_run, workflow.name, pool, workflow.priority, state.now, deadline)
        run.is_open = event.is_open
        run.keeps_going = event.keeps_going
        first = state.next_unit
        units = self._add_units(run, workflow.tasks, needs, workflow.parents)
        state.runs[run.id] = run
        state.next_run += 1
        ideal = ideal_makespan(workflow, needs)
        self._out.append(
            Admitted(
                state.now, self._cause, run.id, pool.index, run.name, first, len(units), run.priority, ideal, deadline
            )
        )
        pool.runs[run.id] = run
        if not units:
            self._end_if_over(run)
            return
        self._free([unit for unit in units if not unit.waits], run)
        if self.policy.scaler.on_arrival:
            self._scale()

    def _extended(self, event: Extended) -> None:
        run = self.state.runs.get(event.run)
        if run is None or not run.is_open:
            self._stale(event)
            return
        run.is_open = not event.is_last
        needs = self._needs(event.tasks)
        if isinstance(needs, str):
            self._out.append(Refused(self.state.now, self._cause, run.pool.tenant.name, run.name, needs))
            self._stop(run, "failed")
        elif event.tasks and not run.is_stopping:
            units = self._add_units(run, event.tasks, needs, ((),) * len(event.tasks))
            first, pool = units[0].id, run.pool.index
            self._out.append(Grown(self.state.now, self._cause, run.id, pool, first, len(units)))
            self._free(units, run)
            if self.policy.scaler.on_arrival:
                self._scale()
        self._end_if_over(run)

    def _needs(self, tasks: Sequence[Task]) -> list[Need] | str:
        """What each task needs of a machine, or why one of them can never run."""
        needs = []
        for task in tasks:
            need = self.state.need(task.requirement)
            if not need.kinds:
                return f"no machine type offers what task {task.id!r} needs: {need.requirement}"
            needs.append(need)
        return needs

    def _add_units(
        self, run: Run, tasks: Sequence[Task], needs: Sequence[Need], parents: Sequence[Sequence[int]]
    ) -> list[Unit]:
        state = self.state
        first = state.next_unit
        units = [Unit(first + i, run, task, needs[i], len(parents[i])) for i, task in enumerate(tasks)]
        for unit, row in zip(units, parents, strict=True):
            for parent in row:
                units[parent].adopt(unit)
        if self.policy.checkpoint is not None:
            for unit in units:
                unit.checkpoint = unit.checkpoint or self.policy.checkpoint
        run.left += len(units)
        if isinstance(run.units, list):
            run.units += units
        else:
            run.units = units
        for unit in units:
            state.units[unit.id] = unit
        state.next_unit += len(units)
        return units

    def _free(self, units: Sequence[Unit], run: Run) -> None:
        """Units have nothing left to wait for but a machine."""
        state = self.state
        pool = run.pool
        if run.is_suspended:
            for unit in units:
                unit.state = _HELD
            return
        rank = self.policy.placer.rank
        for unit in units:
            unit.state = _FREED
            pool.enqueue(unit, rank(unit))
        state.newly_ready += units
        state.unsettle(pool)
        self._out.append(Eligible(state.now, self._cause, run.id, pool.index, len(units)))

    def _finished(self, event: Finished) -> None:
        unit = self.state.units.get(event.unit)
        if unit is None or (
            (unit.attempt != event.attempt or unit.state != RUNNING or not _is_there(unit, event.machine))
            and not _is_copy(unit, event)
        ):
            self._stale(event)
            return
        unit.state = _FINISHED
        machine = self._vacate(unit)
        if unit.copies:
            self._end_copies(unit, BEATEN)
        machine.fleet.completed += 1
        if self.state.learn is not None:
            self.state.learn(unit, machine.kind, self.state.now - unit.started)
        if self.state.lineup is not None:
            self.state.lineup.note(unit, self.state.now - unit.started)
            self._ended_on = machine
        run = unit.run
        if unit.children:
            freed = []
            for child in unit.children:
                child.waits -= 1
                if not child.waits:
                    freed.append(child)
            if freed and not run.is_stopping:
                self._free(freed, run)
        run.left -= 1
        if not run.left and not run.is_open:
            self._end(run)

    def _failed(self, event: Failed) -> None:
        state = self.state
        unit = state.units.get(event.unit)
        if unit is None or (
            (unit.attempt != event.attempt or unit.state != RUNNING or not _is_there(unit, event.machine))
            and not _is_copy(unit, event)
        ):
            self._stale(event)
            return
        self._vacate(unit)
        if event.cause == "lost":
            self._run_again([unit])
            return
        if event.cause == "returned":
            if state.lineup is not None:
                state.lineup.doubt(unit)
            self._run_again([unit], is_preempted=True)
            return
        unit.failures = {**unit.failures, event.cause: unit.failures.get(event.cause, 0) + 1}
        if unit.copies:  # the others may still end well
            self._run_on(unit)
            return
        retry = unit.task.retry
        if unit.run.is_stopping or not retry.allows(event.cause, unit.failures) or not self._grow(unit, event.cause):
            self._give_up_on(unit)
            return
        unit.move(UnitStep.RETRY)
        unit.run.pool.delayed[unit.id] = unit
        pause = retry.pause_after(sum(unit.failures.values()))
        heappush(self._alarms, (state.now + pause, RESUME, unit.id))

    def _expire(self, number: int) -> None:
        """A unit has used up the time that all its attempts may take together."""
        unit = self.state.units.get(number)
        if unit is None or unit.is_ended:
            return
        because = f"it has taken {show_duration(unit.task.retry.within or 0)} over all attempts, and may not take more"
        if unit.machine is not None:
            where = unit.machine.id
            self._out.append(Kill(self.state.now, self._cause, unit.id, unit.attempt, where, because))
            self._vacate(unit)
            self._end_copies(unit, because)
        elif unit.state == READY:
            unit.run.pool.dequeue(unit)
        was_held = unit.state == DELAYED and unit.run.pool.delayed.pop(unit.id, None) is None
        self._out.append(Expired(self.state.now, self._cause, unit.run.id, unit.id, unit.attempt, because))
        if was_held:  # by a suspension, and so no longer counted
            self._out.append(Eligible(self.state.now, self._cause, unit.run.id, unit.run.pool.index, 1))
        self._give_up_on(unit)

    def _grow(self, unit: Unit, cause: str) -> bool:
        """Ask for more memory if that was what lacked; whether any machine type could still run the unit."""
        growth = unit.task.retry.memory_growth
        if cause != "memory" or growth <= 1:
            return True
        wanted = unit.need.requirement
        grown = {name: round(count * growth) if name == "memory" else count for name, count in wanted.amounts}
        need = self.state.need(Requirement(wanted.capabilities, amounts_of(grown)))
        if need.kinds:
            unit.need = need
            unit.queued = False  # it joins another queue
        return bool(need.kinds)

    def _give_up_on(self, unit: Unit) -> None:
        """A unit has failed for good, and its run with it."""
        run = unit.run
        unit.move(UnitStep.FAIL)
        self._out.append(Eligible(self.state.now, self._cause, run.id, run.pool.index, -1))
        if run.keeps_going:
            run.status = "failed"
            self._cancel_after(unit)
        else:
            self._stop(run, "failed")
        self._leave(run, 1)

    def _cancel_after(self, failed: Unit) -> None:
        """What waits for a failed unit, directly or not, will never start."""
        walk = [failed]
        for unit in walk:  # grows while it is walked
            for child in unit.children:
                if not child.is_ended:
                    child.move(UnitStep.CANCEL)
                    child.run.left -= 1
                    walk.append(child)

    def _broken(self, event: Broken) -> None:
        run = self.state.runs.get(event.run)
        if run is None:
            self._stale(event)
            return
        self._stop(run, "failed")
        self._end_if_over(run)

    def _cancelled(self, event: Cancelled) -> None:
        run = self.state.runs.get(event.run)
        if run is None:
            self._stale(event)
            return
        self._stop(run, "cancelled")
        running = [unit for unit in run.units if unit.state == RUNNING]
        for unit in running:
            if unit.machine is not None:
                now, cause, where = self.state.now, self._cause, unit.machine.id
                because = "the run was cancelled"
                self._out.append(Kill(now, cause, unit.id, unit.attempt, where, because, event.is_urgent))
            self._vacate(unit)
            self._end_copies(unit, because)
            unit.move(UnitStep.CANCEL)
        if running:
            self._out.append(Eligible(self.state.now, self._cause, run.id, run.pool.index, -len(running)))
        self._leave(run, len(running))

    def _suspended(self, event: Suspended) -> None:
        run = self.state.runs.get(event.run)
        if run is None or run.is_suspended or run.is_stopping:
            self._stale(event)
            return
        run.is_suspended = True
        ready = [unit for unit in run.units if unit.state == READY]
        for unit in ready:
            run.pool.dequeue(unit)
            unit.move(UnitStep.HOLD)
        if ready:
            self._out.append(Eligible(self.state.now, self._cause, run.id, run.pool.index, -len(ready)))

    def _resumed(self, event: Resumed) -> None:
        run = self.state.runs.get(event.run)
        if run is None or not run.is_suspended:
            self._stale(event)
            return
        run.is_suspended = False
        held = [unit for unit in run.units if unit.state == DELAYED and unit.id not in run.pool.delayed]
        for unit in held:
            unit.move(UnitStep.RESUME)
            self._requeue(unit)
        if held:
            self._out.append(Eligible(self.state.now, self._cause, run.id, run.pool.index, len(held)))
        if self.policy.scaler.on_arrival:
            self._scale()

    def _reprioritised(self, event: Reprioritised) -> None:
        run = self.state.runs.get(event.run)
        if run is None:
            self._stale(event)
            return
        run.priority = event.priority
        for unit in run.units:
            if unit.state == READY:
                run.pool.enqueue(unit, self.policy.placer.rank(unit))

    def _stop(self, run: Run, status: str) -> None:
        """Nothing of a run is started any more; what runs may end."""
        run.status = status
        run.is_open = False
        if run.is_stopping:
            return
        run.is_stopping = True
        eligible = dropped = 0
        for unit in run.units:
            if not unit.is_ended and unit.state != RUNNING:
                if unit.state == READY:
                    eligible += 1
                    run.pool.dequeue(unit)
                elif run.pool.delayed.pop(unit.id, None) is not None:
                    eligible += 1
                dropped += 1
                unit.move(UnitStep.CANCEL)
            unit.children = NOBODY  # nothing follows any more
        if eligible:
            self._out.append(Eligible(self.state.now, self._cause, run.id, run.pool.index, -eligible))
        run.left -= dropped

    def _leave(self, run: Run, count: int) -> None:
        """So many units of a run have ended without a result."""
        run.left -= count
        self._end_if_over(run)

    def _end_if_over(self, run: Run) -> None:
        """End a run of which nothing is left, unless it may still grow; what has failed does not grow any more."""
        if not run.left and not (run.is_open and run.status == "done") and run.id in self.state.runs:
            self._end(run)

    def _end(self, run: Run) -> None:
        state = self.state
        del state.runs[run.id]
        del run.pool.runs[run.id]
        for unit in run.units:
            del state.units[unit.id]
        self._out.append(Ended(state.now, self._cause, run.id, run.pool.index, run.status))
        self._ended.append(run)
        if state.is_closed:
            self._close()

    def _close(self) -> None:
        """Let every machine go when all runs have ended, but for those that are suspended."""
        state = self.state
        if not all(run.is_suspended for run in state.runs.values()):
            return
        for machine in list(state.machines.values()):
            if not machine.running:
                self._let_go(machine, "all work is done")
        if not state.runs:
            self._forget_alarms()


def _is_there(unit: Unit, machine: int) -> bool:
    """Whether a unit runs on the machine that a report names."""
    return unit.machine is not None and unit.machine.id == machine


def _is_copy(unit: Unit, event: Finished | Failed) -> bool:
    """Whether a report is of an attempt that runs beside the first; if so, it becomes the first."""
    attempt = unit.on(event.machine) if unit.copies else None
    if attempt is None or attempt.number != event.attempt:
        return False
    unit.lead(attempt)
    return True
