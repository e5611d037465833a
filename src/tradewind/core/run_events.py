"""Events about runs: they are submitted, grow, and are steered by those who want them."""

from collections.abc import Sequence
from itertools import repeat

from tradewind.core.transitions import UnitStep
from tradewind.core.unit_events import UnitEvents
from tradewind.core.work import DELAYED, READY, RUNNING, Need, Run, Unit, ideal_makespan
from tradewind.model.command import Admitted, Eligible, Grown, Kill, Refused
from tradewind.model.event import (
    Broken,
    Cancelled,
    Extended,
    Redated,
    Reprioritised,
    Resumed,
    Submitted,
    Suspended,
)
from tradewind.model.requirement import Requirement
from tradewind.model.workflow import Task


class RunEvents(UnitEvents):
    """Handles what is asked of runs."""

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
        needs: list[Need] = []
        last: Requirement | None = None
        for task in tasks:
            if task.requirement is not last:  # mostly those of a workflow are a few objects, and hashing one is slow
                last = task.requirement
                need = self.state.need(last)
                if not need.kinds:
                    return f"no machine type offers what task {task.id!r} needs: {need.requirement}"
            needs.append(need)
        return needs

    def _add_units(
        self, run: Run, tasks: Sequence[Task], needs: Sequence[Need], parents: Sequence[Sequence[int]]
    ) -> list[Unit]:
        state = self.state
        ids = list(range(state.next_unit, state.next_unit + len(tasks)))  # a list, so that each is one object
        units = list(map(Unit, ids, repeat(run), tasks, needs, map(len, parents)))
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
        state.units.update(zip(ids, units, strict=True))
        state.next_unit += len(units)
        return units

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
        self._rank_again(run)

    def _redated(self, event: Redated) -> None:
        run = self.state.runs.get(event.run)
        if run is None:
            self._stale(event)
            return
        run.deadline = event.deadline
        self._rank_again(run)
        if self.policy.scaler.on_arrival:
            self._scale()

    def _rank_again(self, run: Run) -> None:
        for unit in run.units:
            if unit.state == READY:
                run.pool.enqueue(unit, self.policy.placer.rank(unit))
