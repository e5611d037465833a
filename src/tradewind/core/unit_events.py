"""Events about units: they become ready, finish and fail, and with the last of them their run ends."""

from collections.abc import Sequence
from functools import partial
from heapq import heappush
from itertools import repeat

from tradewind.core.elastic import events as elastic
from tradewind.core.elastic.division import Division, Share
from tradewind.core.machine_events import BEATEN, MachineEvents
from tradewind.core.outline import forget_expected, meet
from tradewind.core.transitions import UNIT_TABLE, UnitState, UnitStep
from tradewind.core.turn import NOBODY, RESUME
from tradewind.core.work import DELAYED, READY, RUNNING, Need, Run, Unit
from tradewind.model.command import Eligible, Ended, Expired, Kill
from tradewind.model.event import Failed, Finished, Progressed
from tradewind.model.units import show_duration
from tradewind.model.workflow import Task
from tradewind.policies.protocol import Split

_eligible = partial(tuple.__new__, Eligible)  # faster than naming the fields
_FREED = int(UNIT_TABLE[UnitState.WAITING, UnitStep.FREE])
_HELD = int(UNIT_TABLE[UnitState.READY, UnitStep.HOLD])
_FINISHED = int(UNIT_TABLE[UnitState.RUNNING, UnitStep.FINISH])


class UnitEvents(MachineEvents):
    """Handles what happens to units, and what comes of it for their runs."""

    def add_units(
        self,
        run: Run,
        tasks: Sequence[Task],
        needs: Sequence[Need],
        parents: Sequence[Sequence[int]],
        *,
        is_expected: bool = True,
    ) -> list[Unit]:
        """Number new units of a run, which may be those that its outline expects."""
        state = self.state
        ids = list(range(state.next_unit, state.next_unit + len(tasks)))  # a list, so that each is one object
        units = list(map(Unit, ids, repeat(run), tasks, needs, map(len, parents)))
        for unit, row in zip(units, parents, strict=True):
            for parent in row:
                units[parent].adopt(unit)
        run.is_elastic = run.is_elastic or any(task.elastic is not None for task in tasks)
        if self.policy.checkpoint is not None:
            for unit in units:
                unit.checkpoint = unit.checkpoint or self.policy.checkpoint
        run.left += len(units)
        if isinstance(run.units, list):
            run.units += units
        else:
            run.units = units
        if run.expected is None:
            run.graph = run.units
            if run.is_elastic and is_expected:
                elastic.arrange(run)
        elif is_expected:
            meet(state, run, units)
        state.units.update(zip(ids, units, strict=True))
        state.next_unit += len(units)
        return units

    def free(self, units: Sequence[Unit], run: Run) -> None:
        """Units have nothing left to wait for but a machine."""
        state = self.state
        pool = run.pool
        if run.is_suspended:
            for unit in units:
                unit.state = _HELD
            return
        if run.is_elastic:
            units = elastic.divide(self, units)
            if not units:
                return
        rank = self.policy.placer.rank
        for unit in units:
            unit.state = _FREED
            pool.enqueue(unit, rank(unit))
        state.newly_ready += units
        if not pool.is_unsettled:
            state.unsettle(pool)
        self.out.append(_eligible((state.now, self.cause, run.id, pool.index, len(units))))

    def split(self, action: Split) -> None:
        """Add the shares that a policy asks for."""
        elastic.split(self, action)

    def _finished(self, event: Finished) -> None:
        unit = self.reported(event)
        if unit is None:
            return
        if isinstance(unit.elastic, Share):
            elastic.share_finished(self, unit)
            return
        state = self.state
        unit.state = _FINISHED
        machine = self.vacate(unit)
        if unit.copies:
            self._end_copies(unit, BEATEN)
        machine.fleet.completed += 1
        if state.learn is not None and unit.elastic is None:
            state.learn(unit, machine.kind, state.now - unit.started)
        if state.lineup is not None and unit.elastic is None:
            state.lineup.note(unit, state.now - unit.started)
            self._ended_on = machine
        run = unit.run
        if unit.children:
            self.free_children(unit)
        left = run.left = run.left - 1
        if not left and not run.is_open:
            self._end(run)

    def free_children(self, unit: Unit) -> None:
        """What waited for a unit that is done may start, unless it waits for others too."""
        freed = []
        for child in unit.children:
            waits = child.waits = child.waits - 1
            if not waits:
                freed.append(child)
        run = unit.run
        if run.expected is not None:  # these wait for what the driver makes of the results
            run.expected.due += freed
        elif freed and not run.is_stopping:
            self.free(freed, run)

    def reported(self, event: Finished | Failed | Progressed) -> Unit | None:
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
        self.stale(event)
        return None

    def _failed(self, event: Failed) -> None:
        state = self.state
        unit = self.reported(event)
        if unit is None:
            return
        self.vacate(unit)
        if event.cause == "lost":
            self._run_again([unit])
            return
        if event.cause == "returned":  # it has not even begun, and so counts as nothing
            if state.lineup is not None:
                state.lineup.doubt(unit)
            self._run_elsewhere(unit, UnitStep.PREEMPT)
            return
        unit.failures = {**unit.failures, event.cause: unit.failures.get(event.cause, 0) + 1}
        if isinstance(unit.elastic, Share) and elastic.share_failed(self, unit):
            return
        if unit.copies:  # the others may still end well
            self._run_on(unit)
            return
        retry = unit.task.retry
        if unit.run.is_stopping or not retry.allows(event.cause, unit.failures) or not self._grow(unit, event.cause):
            self.give_up_on(unit)
            return
        unit.move(UnitStep.RETRY)
        unit.run.pool.delayed[unit.id] = unit
        pause = retry.pause_after(sum(unit.failures.values()))
        heappush(self.alarms, (state.now + pause, RESUME, unit.id))

    def run_again(self, unit: Unit) -> None:
        """Let a unit whose attempt was given up run elsewhere."""
        self._run_again([unit])

    def _expire(self, number: int) -> None:
        """A unit has used up the time that all its attempts may take together."""
        unit = self.state.units.get(number)
        if unit is None or unit.is_ended:
            return
        because = f"it has taken {show_duration(unit.task.retry.within or 0)} over all attempts, and may not take more"
        if unit.machine is not None:
            where = unit.machine.id
            self.out.append(Kill(self.state.now, self.cause, unit.id, unit.attempt, where, because))
            self.vacate(unit)
            self._end_copies(unit, because)
        elif unit.state == READY:
            unit.run.pool.dequeue(unit)
        was_held = unit.state == DELAYED and unit.run.pool.delayed.pop(unit.id, None) is None
        if isinstance(unit.elastic, Division) and not unit.elastic.is_over:
            elastic.end_shares(self, unit.elastic, because)
            was_held = True  # it was not counted itself
        self.out.append(Expired(self.state.now, self.cause, unit.run.id, unit.id, unit.attempt, because))
        if was_held:  # by a suspension, and so no longer counted
            self.out.append(Eligible(self.state.now, self.cause, unit.run.id, unit.run.pool.index, 1))
        self.give_up_on(unit)

    def _grow(self, unit: Unit, cause: str) -> bool:
        """Ask for more memory if that was what lacked; whether any machine type could still run the unit."""
        growth = unit.task.retry.memory_growth
        if cause != "memory" or growth <= 1:
            return True
        wanted = unit.need.requirement
        need = self.state.need(wanted.with_memory(round(dict(wanted.amounts).get("memory", 0) * growth)))
        if need.kinds:
            unit.need = need
            unit.queued = False  # it joins another queue
        return bool(need.kinds)

    def give_up_on(self, unit: Unit) -> None:
        """A unit has failed for good, and its run with it."""
        run = unit.run
        unit.move(UnitStep.FAIL)
        self.out.append(Eligible(self.state.now, self.cause, run.id, run.pool.index, -1))
        if run.keeps_going:
            run.status = "failed"
            self.cancel_after(unit)
        else:
            self._stop(run, "failed")
        self.leave(run, 1)

    def cancel_after(self, failed: Unit) -> None:
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
        forget_expected(self.state, run)
        if run.is_stopping:
            return
        run.is_stopping = True
        eligible = dropped = 0
        for unit in run.units:
            division = unit.elastic if isinstance(unit.elastic, Division) and not unit.elastic.is_over else None
            if not unit.is_ended and (unit.state != RUNNING or division is not None):
                if division is not None:
                    division.is_over = True  # its shares end with their next report
                elif unit.state == READY:
                    eligible += 1
                    run.pool.dequeue(unit)
                elif run.pool.delayed.pop(unit.id, None) is not None:
                    eligible += 1
                dropped += 1
                unit.move(UnitStep.CANCEL)
            unit.children = NOBODY  # nothing follows any more
        if eligible:
            self.out.append(Eligible(self.state.now, self.cause, run.id, run.pool.index, -eligible))
        run.left -= dropped

    def leave(self, run: Run, count: int) -> None:
        """So many units of a run have ended without a result."""
        run.left -= count
        self._end_if_over(run)

    def _end_if_over(self, run: Run) -> None:
        """End a run of which nothing is left, unless it may still grow; what has failed does not grow any more."""
        if not run.left and not (run.is_open and run.status == "done") and run.id in self.state.runs:
            self._end(run)

    def _end(self, run: Run) -> None:
        state = self.state
        forget_expected(state, run)
        del state.runs[run.id]
        run.pool.forget(run)
        for unit in run.units:
            del state.units[unit.id]
        self.out.append(Ended(state.now, self.cause, run.id, run.pool.index, run.status))
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
