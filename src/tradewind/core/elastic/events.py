"""Events about elastic units: they are divided, and their shares report, deliver and end.

Shares go through the same transitions as any other unit. The elastic unit itself counts as running from the moment it
could start until all its iterations are delivered. Where their results are to be reduced, it is then placed like any
other unit; otherwise it is done.
"""

from collections.abc import Sequence
from dataclasses import replace
from heapq import heappush
from typing import TYPE_CHECKING, cast

from tradewind.core.elastic.division import FAILURES, Division, Share
from tradewind.core.machines import DRAINING, Machine
from tradewind.core.state import State
from tradewind.core.transitions import UnitStep
from tradewind.core.turn import SILENCE
from tradewind.core.work import READY, RUNNING, WAITING, Run, Unit
from tradewind.model.command import Assign, Delivered, Dropped, Eligible, Grown, Kill, Predicted, Yielded
from tradewind.model.elastic import Assignment, Elastic
from tradewind.model.event import Progressed
from tradewind.model.machine import NO_LIMIT
from tradewind.model.units import SECOND, Duration, Time
from tradewind.model.vector import fitting
from tradewind.model.workflow import Retry, Task
from tradewind.policies.divisible.registry import BALANCERS
from tradewind.policies.protocol import Split

if TYPE_CHECKING:
    from tradewind.core.unit_events import UnitEvents

_OFTEN = 10**9
SHARE_RETRY = Retry(attempts=_OFTEN, lost=_OFTEN, preempted=_OFTEN, delay=SECOND // 2, factor=1.0)
"""A share is tried again until its elastic unit is given up; see `FAILURES`."""

OVERDUE = 30 * SECOND
"""By how much the report of a share may be overdue, unless another time is set."""
SHARE = "#"
"""Stands between the id of an elastic task and the number of a share."""
DELIVERED = "all iterations are delivered"
"""Why shares are killed that are no longer needed."""
SILENT = "its report is overdue"
"""Why shares are killed that have fallen silent."""


def divide(core: "UnitEvents", units: Sequence[Unit]) -> list[Unit]:
    """Divide those units that are elastic and have nothing left to wait for; return the others."""
    others = []
    for unit in units:
        spec, known = unit.task.elastic, unit.elastic
        if spec is None or (isinstance(known, Division) and known.is_over):
            others.append(unit)
            continue
        unit.move(UnitStep.FREE if unit.state == WAITING else UnitStep.RESUME)
        unit.move(UnitStep.START)
        unit.started = core.state.now
        division = known if isinstance(known, Division) else new_division(core, unit, spec)
        unit.elastic = division
        core.expect_expiry(unit)
        add_shares(core, division, min(division.initial, spec.iterations, division.maximum))
    return others


def new_division(core: "UnitEvents", unit: Unit, spec: Elastic) -> Division:
    """Return an elastic unit as it is divided at its start."""
    own = core.policy.balancer(spec.report)  # it may know more than another one of its name
    balancer = own if spec.balancer in ("", own.name) else BALANCERS[spec.balancer](spec.report)
    initial = spec.initial or _at_hand(core.state, unit)
    division = core.state.divided[unit.id] = Division(unit, spec, balancer, core.state.now, initial)
    return division


def _at_hand(state: State, unit: Unit) -> int:
    """How many shares fit on the machines that the tenant holds, and on those that cost nothing."""
    pool, total = unit.run.pool, 0
    for kind in unit.need.kinds:
        count = len(pool.fleets[kind.index].machines)
        if not state.worth(pool, kind):
            count += max(0, state.vacancies(kind))
        total += count * fitting(kind.capacity, unit.need.demand)
    return max(1, total)


def refusal(task: str, spec: Elastic) -> str:
    """Why an elastic task cannot be taken, if so."""
    if not spec.balancer or spec.balancer in BALANCERS:
        return ""
    return f"task {task!r} wants the balancer {spec.balancer!r}, but there are only {', '.join(BALANCERS)}"


def add_shares(core: "UnitEvents", division: Division, count: int) -> None:
    """Let more shares wait for machines."""
    parent = division.unit
    run, first = parent.run, core.state.next_unit
    tasks = [share_task(parent.task, number) for number in range(first, first + count)]
    units = core.add_units(run, tasks, (parent.need,) * count, ((),) * count, is_expected=False)
    for unit in units:
        make_share(unit, division)
    arrange(run)
    core.out.append(Grown(core.state.now, core.cause, run.id, run.pool.index, first, count))
    division.asked = core.state.now
    if not run.is_suspended:
        division.queued += count
    core.free(units, run)


def share_task(task: Task, number: int) -> Task:
    """Return the task of the share that is the unit of a number."""
    retry = replace(SHARE_RETRY, memory_growth=task.retry.memory_growth)
    return replace(task, id=f"{task.id}{SHARE}{number}", elastic=None, retry=retry, checkpoint=None)


def make_share(unit: Unit, division: Division) -> Share:
    """Let a unit be a share of another one."""
    unit.checkpoint = None  # what is delivered is saved
    unit.elastic = share = Share(division)
    unit.children = (division.unit,)  # for policies; the core knows by its ledger when the elastic unit is done
    division.shares[unit.id] = unit
    division.unit.waits += 1
    return share


def arrange(run: Run) -> None:
    """Let the graph of a run have shares before the elastic unit that they work on."""
    found: list[Unit] = []
    for unit in run.units if run.expected is None else run.graph:
        if isinstance(unit.elastic, Division):
            found += unit.elastic.shares.values()
        if not isinstance(unit.elastic, Share):
            found.append(unit)
    run.graph = found
    if run.expected is not None:
        places = run.expected.places
        run.expected.places = {unit.id: place for place, unit in enumerate(found) if unit.id in places}


def assign(machine: Machine, unit: Unit, now: int, cause: int, what: Assignment) -> Assign:
    """The command that tells a share what to do."""
    return Assign(now, cause, unit.id, unit.attempt, machine.id, *what)


def progressed(core: "UnitEvents", event: Progressed) -> None:
    """A share has reported how far it has come, and may have delivered results."""
    unit = core.reported(event)
    if unit is None or unit.machine is None:
        return
    share = unit.elastic
    if not isinstance(share, Share):
        core.stale(event)
        return
    division, now = share.division, core.state.now
    before = share.elapsed, share.deliveries
    refusal = _take_in(share, event, now)
    is_new = event.elapsed > before[0] or share.deliveries > before[1]
    if core.state.silence is not None:
        share.until = now + share.interval + patience(core.state.silence, share.interval)
    if division.ledger.delivered == division.iterations and not division.is_over:
        _complete(core, division, unit)
    if refusal:
        core.out.append(Dropped(now, core.cause, f"report of unit {unit.id}", refusal))
        return
    if division.is_over:
        answer = Assignment((), share.interval, "end")
    elif is_new:
        core.react()
        answer = _rebalance(core, unit, share, event.ahead)
    else:
        answer = division.answer(share, now)
        if share.is_leaving:
            answer = answer._replace(next="end")
    core.out.append(assign(unit.machine, unit, now, core.cause, answer))


def patience(silence: Duration, interval: Duration) -> Duration:
    """Return by how much a report may be overdue."""
    return max(silence, interval // 4)


def expect_report(core: "UnitEvents", unit: Unit, until: Time) -> None:
    """Give up a share that has not reported by then."""
    cast("Share", unit.elastic).until = until
    heappush(core.alarms, (until, SILENCE, unit.id))


def look_at(core: "UnitEvents", number: int) -> None:
    """Give up a share whose report is overdue; otherwise look again when it would be."""
    unit = core.state.units.get(number)
    if unit is None or unit.machine is None or not isinstance(unit.elastic, Share):
        return
    share, now = unit.elastic, core.state.now
    if share.until > now:
        heappush(core.alarms, (share.until, SILENCE, number))
        return
    core.out.append(Kill(now, core.cause, unit.id, unit.attempt, unit.machine.id, SILENT, is_urgent=True))
    core.vacate(unit)
    core.run_again(unit)


def excuse(core: "UnitEvents", now: Time) -> None:
    """Give every running share time to report again, after a while in which nobody could have heard it."""
    silence = core.state.silence
    if silence is None:
        return
    for run in core.state.runs.values():
        for unit in run.units if run.is_elastic else ():
            share = unit.elastic
            if isinstance(share, Share) and unit.machine is not None:
                until = now + share.interval + patience(silence, share.interval)
                if not share.until:
                    expect_report(core, unit, until)
                share.until = max(share.until, until)


def _take_in(share: Share, event: Progressed, now: int) -> str:
    """Count what was done and delivered; return why that cannot be, if so. A repeated report changes nothing."""
    division = share.division
    if division.is_over:
        return ""
    for number, given in event.deliveries:
        if number > share.deliveries + 1:
            return f"delivery {share.deliveries + 1} must come before delivery {number}"
        if number == share.deliveries + 1 and not division.deliver(share, given):
            return "it delivers iterations that it does not hold"
    if event.done > share.delivered + share.count:
        return f"it holds fewer than the {event.done} iterations it says it did"
    division.report(share, event.done, event.elapsed, now)
    return ""


def _rebalance(core: "UnitEvents", unit: Unit, share: Share, ahead: int) -> Assignment:
    """Ask for more shares if the elastic unit would end late, and give the one that reported its part."""
    division, now, run = share.division, core.state.now, unit.run
    is_waiting = division.queued > 0 and now - division.asked >= share.interval
    is_stuck = is_waiting or division.live >= division.maximum
    more = 0 if run.is_stopping else division.balancer.wanted(division, share, _reachable(core.state, division), now)
    if more > 0:
        add_shares(core, division, more)
        if core.policy.scaler.on_arrival:
            core.scale()
    _foresee(core, division, is_stuck=is_stuck)
    if not share.is_leaving and (because := division.gives_way(share, now)):
        share.is_leaving = True
        core.out.append(Yielded(now, core.cause, run.id, unit.id, because))
    if share.is_leaving or (unit.machine is not None and unit.machine.state == DRAINING):
        division.empty(share, ahead)
        return division.answer(share, now)._replace(next="end")
    division.balance(share, now, ahead)
    return division.answer(share, now)


def split(core: "UnitEvents", action: Split) -> None:
    """Add the shares that a policy asks for, as far as the elastic unit may have them."""
    division = core.state.divided.get(action.unit.id)
    if division is None or division.is_over or division.unit.run.is_stopping or division.unit.run.is_suspended:
        what = f"{action.shares} shares of unit {action.unit.id}"
        core.out.append(Dropped(core.state.now, core.cause, what, f"stale decision: {action.because}"))
        return
    more = min(action.shares, division.maximum - division.live - division.queued)
    if more > 0:
        add_shares(core, division, more)


def _reachable(state: State, division: Division) -> int:
    """How many shares could run at once on what the tenant holds, may still rent, and may be joined by."""
    need, pool = division.unit.need, division.unit.run.pool
    total, money = 0, state.affordable(pool)
    for kind in need.kinds:
        price = state.worth(pool, kind)
        room = kind.type.limit - kind.held if kind.type.joins and kind.type.limit < NO_LIMIT else state.vacancies(kind)
        more = min(room, money // price) if price else room
        total += (len(pool.fleets[kind.index].machines) + max(0, more)) * fitting(kind.capacity, need.demand)
    return max(1, total)


def _foresee(core: "UnitEvents", division: Division, *, is_stuck: bool) -> None:
    """Say when the run is expected to end, whenever it turns late, with no more shares to be had, or in time again."""
    due, time = division.due, division.time_left(core.state.now)
    if due is None or time is None:
        return
    run, is_late = division.unit.run, core.state.now + time > due
    if division.is_late == is_late or (is_late and not is_stuck):
        return
    division.is_late = is_late
    finish = core.state.now + time + division.tail
    run.predicted = finish
    slack = None if run.deadline is None else run.deadline - finish
    because = f"{division.unit.task.id}: {division.outlook(core.state.now)}"
    core.out.append(Predicted(core.state.now, core.cause, run.id, run.pool.index, finish, slack, because))


def _complete(core: "UnitEvents", division: Division, last: Unit) -> None:
    """All iterations are delivered: the unit is done, or reduces them. The share that delivered last ends by itself."""
    end_shares(core, division, DELIVERED, but=last)
    unit = division.unit
    core.out.append(Delivered(core.state.now, core.cause, unit.run.id, unit.id))
    unit.waits = 0
    if division.spec.reduces:
        unit.move(UnitStep.REDUCE)
        core.free([unit], unit.run)
        return
    unit.move(UnitStep.FINISH)
    core.free_children(unit)
    core.leave(unit.run, 1)


def end_shares(core: "UnitEvents", division: Division, because: str, but: Unit | None = None) -> None:
    """Nothing more is done for an elastic unit: kill its running shares and cancel the waiting ones."""
    division.is_over = True
    ended = eligible = 0
    for unit in [each for each in division.shares.values() if each is not but]:
        if unit.state == RUNNING and unit.machine is not None:
            now, where = core.state.now, unit.machine.id
            core.out.append(Kill(now, core.cause, unit.id, unit.attempt, where, because, is_urgent=True))
            core.vacate(unit)
            eligible += 1
        elif unit.state == READY:
            unit.run.pool.dequeue(unit)
            eligible += 1
        elif unit.run.pool.delayed.pop(unit.id, None) is not None:
            eligible += 1
        unit.move(UnitStep.CANCEL)
        del division.shares[unit.id]
        ended += 1
    run = division.unit.run
    run.left -= ended
    if eligible:
        core.out.append(Eligible(core.state.now, core.cause, run.id, run.pool.index, -eligible))


def share_finished(core: "UnitEvents", unit: Unit) -> None:
    """A share has ended in good order; another one takes its place if it left work behind."""
    division = cast("Share", unit.elastic).division
    back = cast("Share", unit.elastic).count
    unit.move(UnitStep.FINISH)
    machine = core.vacate(unit)
    machine.fleet.completed += 1
    division.shares.pop(unit.id, None)
    division.unit.waits -= not division.is_over
    is_short = bool(back) or (division.unassigned > 0 and not division.live)
    if not division.is_over and is_short and division.live + division.queued < division.maximum:
        add_shares(core, division, 1)
    core.leave(unit.run, 1)


def share_failed(core: "UnitEvents", unit: Unit) -> bool:
    """Count a failed share; return whether nothing more is to be done for it."""
    division = cast("Share", unit.elastic).division
    if division.is_over:
        core.run_again(unit)
        return True
    division.failures += 1
    if division.failures < FAILURES:
        return False
    parent = division.unit
    end_shares(core, division, f"{division.failures} shares failed in a row", but=unit)
    parent.move(UnitStep.FAIL)
    parent.run.left -= 1
    if parent.run.keeps_going:
        core.cancel_after(parent)
    core.give_up_on(unit)
    return True
