"""Events about runs: they are submitted, grow, and are steered by those who want them."""

from collections.abc import Sequence

from tradewind.core.elastic import events as elastic
from tradewind.core.elastic.division import Share
from tradewind.core.outline import drop_overdue, expect
from tradewind.core.pool import Pool
from tradewind.core.transitions import UnitStep
from tradewind.core.unit_events import UnitEvents
from tradewind.core.work import DELAYED, READY, RUNNING, Need, Run, ideal_makespan
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
            self.out.append(Refused(state.now, self.cause, event.tenant, workflow.name, reason))
            return
        needs = self._needs(workflow.tasks, pool)
        if isinstance(needs, str):
            self.out.append(Refused(state.now, self.cause, event.tenant, workflow.name, needs))
            return
        deadline = None if workflow.deadline is None else state.now + workflow.deadline
        run = Run(state.next_run, workflow.name, pool, workflow.priority, state.now, deadline)
        run.is_open = event.is_open
        run.keeps_going = event.keeps_going
        first = state.next_unit
        units = self.add_units(run, workflow.tasks, needs, workflow.parents)
        if event.outline is not None:
            expect(state, run, event.outline)
        state.runs[run.id] = run
        state.next_run += 1
        ideal = ideal_makespan(workflow, needs)
        self.out.append(
            Admitted(
                state.now, self.cause, run.id, pool.index, run.name, first, len(units), run.priority, ideal, deadline
            )
        )
        pool.runs[run.id] = run
        if not units:
            self._end_if_over(run)
            return
        self.free([unit for unit in units if not unit.waits], run)
        if self.policy.scaler.on_arrival:
            self.scale()

    def _extended(self, event: Extended) -> None:
        run = self.state.runs.get(event.run)
        if run is None or not run.is_open:
            self.stale(event)
            return
        run.is_open = not event.is_last
        needs = self._needs(event.tasks, run.pool)
        if isinstance(needs, str):
            self.out.append(Refused(self.state.now, self.cause, run.pool.tenant.name, run.name, needs))
            self._stop(run, "failed")
        elif event.tasks and not run.is_stopping:
            units = self.add_units(run, event.tasks, needs, ((),) * len(event.tasks))
            first, pool = units[0].id, run.pool.index
            self.out.append(Grown(self.state.now, self.cause, run.id, pool, first, len(units)))
            self.free(units, run)
            drop_overdue(self.state, run)
            if self.policy.scaler.on_arrival:
                self.scale()
        else:
            drop_overdue(self.state, run)
        self._end_if_over(run)

    def _needs(self, tasks: Sequence[Task], pool: Pool) -> list[Need] | str:
        """What each task needs of a machine, or why one of them can never run."""
        needs: list[Need] = []
        last: Requirement | None = None
        for task in tasks:
            if task.requirement is not last:  # mostly those of a workflow are a few objects, and hashing one is slow
                last = task.requirement
                need = self.state.need(last)
                if not self.state.can_serve(need, pool) and not self.state.accepts_unknown:
                    return f"no machine type offers what task {task.id!r} needs: {need.requirement}"
            if task.elastic is not None and (refusal := elastic.refusal(task.id, task.elastic)):
                return refusal
            needs.append(need)
        return needs

    def _broken(self, event: Broken) -> None:
        run = self.state.runs.get(event.run)
        if run is None:
            self.stale(event)
            return
        self._stop(run, "failed")
        self._end_if_over(run)

    def _cancelled(self, event: Cancelled) -> None:
        run = self.state.runs.get(event.run)
        if run is None:
            self.stale(event)
            return
        self._stop(run, "cancelled")
        running = [unit for unit in run.units if unit.state == RUNNING]
        for unit in running:
            if unit.machine is not None:
                now, cause, where = self.state.now, self.cause, unit.machine.id
                because = "the run was cancelled"
                self.out.append(Kill(now, cause, unit.id, unit.attempt, where, because, event.is_urgent))
            self.vacate(unit)
            self._end_copies(unit, because)
            unit.move(UnitStep.CANCEL)
        if running:
            self.out.append(Eligible(self.state.now, self.cause, run.id, run.pool.index, -len(running)))
        self.leave(run, len(running))

    def _suspended(self, event: Suspended) -> None:
        run = self.state.runs.get(event.run)
        if run is None or run.is_suspended or run.is_stopping:
            self.stale(event)
            return
        run.is_suspended = True
        ready = [unit for unit in run.units if unit.state == READY]
        for unit in ready:
            run.pool.dequeue(unit)
            unit.move(UnitStep.HOLD)
            if isinstance(unit.elastic, Share):
                unit.elastic.division.queued -= 1
        if ready:
            self.out.append(Eligible(self.state.now, self.cause, run.id, run.pool.index, -len(ready)))

    def _resumed(self, event: Resumed) -> None:
        run = self.state.runs.get(event.run)
        if run is None or not run.is_suspended:
            self.stale(event)
            return
        run.is_suspended = False
        held = [unit for unit in run.units if unit.state == DELAYED and unit.id not in run.pool.delayed]
        if run.is_elastic:
            held = elastic.divide(self, held)
        for unit in held:
            unit.move(UnitStep.RESUME)
            self._requeue(unit)
        if held:
            self.out.append(Eligible(self.state.now, self.cause, run.id, run.pool.index, len(held)))
        if self.policy.scaler.on_arrival:
            self.scale()

    def _reprioritised(self, event: Reprioritised) -> None:
        run = self.state.runs.get(event.run)
        if run is None:
            self.stale(event)
            return
        run.priority = event.priority
        self._rank_again(run)

    def _redated(self, event: Redated) -> None:
        run = self.state.runs.get(event.run)
        if run is None:
            self.stale(event)
            return
        run.deadline = event.deadline
        self._rank_again(run)
        if self.policy.scaler.on_arrival:
            self.scale()

    def _rank_again(self, run: Run) -> None:
        for unit in run.units:
            if unit.state == READY:
                run.pool.enqueue(unit, self.policy.placer.rank(unit))
