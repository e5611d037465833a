"""Events about units: they become ready, finish and fail, and with the last of them their run ends."""

from collections.abc import Sequence
from functools import partial
from heapq import heappush

from tradewind.core.machine_events import BEATEN, MachineEvents
from tradewind.core.transitions import UNIT_TABLE, UnitState, UnitStep
from tradewind.core.turn import NOBODY, RESUME
from tradewind.core.work import DELAYED, READY, RUNNING, Run, Unit
from tradewind.model.command import Eligible, Ended, Expired, Kill
from tradewind.model.event import Failed, Finished
from tradewind.model.requirement import Requirement, amounts_of
from tradewind.model.units import show_duration

_eligible = partial(tuple.__new__, Eligible)  # faster than naming the fields
_FREED = int(UNIT_TABLE[UnitState.WAITING, UnitStep.FREE])
_HELD = int(UNIT_TABLE[UnitState.READY, UnitStep.HOLD])
_FINISHED = int(UNIT_TABLE[UnitState.RUNNING, UnitStep.FINISH])


class UnitEvents(MachineEvents):
    """Handles what happens to units, and what comes of it for their runs."""

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
        if not pool.is_unsettled:
            state.unsettle(pool)
        self._out.append(_eligible((state.now, self._cause, run.id, pool.index, len(units))))

    def _finished(self, event: Finished) -> None:
        unit = self._reported(event)
        if unit is None:
            return
        state = self.state
        unit.state = _FINISHED
        machine = self._vacate(unit)
        if unit.copies:
            self._end_copies(unit, BEATEN)
        machine.fleet.completed += 1
        if state.learn is not None:
            state.learn(unit, machine.kind, state.now - unit.started)
        if state.lineup is not None:
            state.lineup.note(unit, state.now - unit.started)
            self._ended_on = machine
        run = unit.run
        if unit.children:
            freed = []
            for child in unit.children:
                waits = child.waits = child.waits - 1
                if not waits:
                    freed.append(child)
            if freed and not run.is_stopping:
                self._free(freed, run)
        left = run.left = run.left - 1
        if not left and not run.is_open:
            self._end(run)

    def _reported(self, event: Finished | Failed) -> Unit | None:
        """The unit that a report is about, that attempt its first; None: it is too late."""
        number, attempt, where = event[2:5]
        unit = self.state.units.get(number)
        if unit is not None:
            if unit.attempt == attempt and unit.state == RUNNING:
                machine = unit.machine
                if machine is not None and machine.id == where:
                    return unit
            if unit.copies:
                copy = unit.on(where)
                if copy is not None and copy.number == attempt:
                    unit.lead(copy)
                    return unit
        self._stale(event)
        return None

    def _failed(self, event: Failed) -> None:
        state = self.state
        unit = self._reported(event)
        if unit is None:
            return
        self._vacate(unit)
        if event.cause == "lost":
            self._run_again([unit])
            return
        if event.cause == "returned":  # it has not even begun, and so counts as nothing
            if state.lineup is not None:
                state.lineup.doubt(unit)
            self._run_elsewhere(unit, UnitStep.PREEMPT)
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
