"""Admission: every decision of a policy is checked against the facts at the moment it is applied.

What no longer fits is dropped, and what budget or limits do not allow is cut, each with a notice that says why.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import cast

from tradewind.core.elastic.division import Share
from tradewind.core.fleet import Fleet
from tradewind.core.joining import NOBODY, note_loose
from tradewind.core.ledger import cost, first_periods, paid_back, paid_back_for_size, paid_for, worth
from tradewind.core.machines import BUSY, IDLE, Kind, Machine
from tradewind.core.pool import Pool
from tradewind.core.sharing import to_be_drained
from tradewind.core.state import State
from tradewind.core.transitions import MACHINE_TABLE, UNIT_TABLE, MachineState, MachineStep, UnitState, UnitStep
from tradewind.core.work import ID_BITS, READY, RUNNING, Attempt, Unit
from tradewind.model.command import (
    Acquire,
    Assign,
    Charged,
    Command,
    Confined,
    Cut,
    Dropped,
    Lent,
    Predicted,
    Refunded,
    Release,
    Start,
    Wanted,
)
from tradewind.model.units import Duration, Money, Time, show_money
from tradewind.model.vector import covers, minus
from tradewind.policies.protocol import Confine, Copy, Drain, Foresee, Placing, Rent, Return, Scaling, Split

_start = partial(tuple.__new__, Start)  # faster than naming the fields, and most commands are of this kind
_charged = partial(tuple.__new__, Charged)
_NOTHING = (0, "")
_STARTED = int(UNIT_TABLE[UnitState.READY, UnitStep.START])
_OCCUPIED = int(MACHINE_TABLE[MachineState.IDLE, MachineStep.OCCUPY])


class Admission:
    """Applies what policies decide, as far as the facts allow."""

    __slots__ = ("_on_first", "_on_paid", "_on_share", "_on_split", "_state", "asked", "cause", "out")

    def __init__(
        self,
        state: State,
        on_paid: Callable[[Machine], None],
        on_first: Callable[[Unit], None] = lambda _: None,
        on_share: Callable[[Unit], None] = lambda _: None,
        on_split: Callable[[Split], None] = lambda _: None,
    ) -> None:
        self._state = state
        self._on_paid = on_paid
        self._on_first = on_first
        self._on_share = on_share
        self._on_split = on_split
        self.cause = 0
        self.out: list[Command] = []
        self.asked: dict[int, tuple[int, str]] = {}
        """By kind that joins: how many more, or fewer, machines the scaler asks for in this decision, and why."""

    def scaling(self, action: Scaling) -> None:
        """Acquire, release or drain, divide further, or note what is foreseen."""
        if isinstance(action, Rent):
            self._rent(action)
        elif isinstance(action, Return):
            self._return(action)
        elif isinstance(action, Foresee):
            self._foresee(action)
        elif isinstance(action, Confine):
            self._confine(action)
        elif isinstance(action, Split):
            self._on_split(action)
        else:
            self._drain(action)

    def place(self, action: Placing) -> None:
        """Start a unit, if it is still ready and the machine has room for it."""
        unit: Unit = action.unit  # type: ignore[assignment]  # the core's own, seen through the protocol
        machine: Machine = action.machine  # type: ignore[assignment]
        need = unit.need
        if (
            unit.state != READY
            or (machine.state != IDLE and machine.state != BUSY)
            or machine.pool is not unit.run.pool
            or machine.kind not in need.kinds
            or not covers(machine.free, need.demand)
        ):
            if type(action) is Copy:
                self._copy(action, unit, machine)
            else:
                self._drop(action, f"unit {unit.id} on machine {machine.id}")
            return
        machine.fleet.occupy(machine, need.demand)
        self._start(unit, machine)

    def line_up(self, unit: Unit, machine: Machine) -> None:
        """Start a unit on a machine that has no room for it yet, and begins it once it has."""
        machine.free = minus(machine.free, unit.need.demand)
        self._start(unit, machine)

    def _start(self, unit: Unit, machine: Machine) -> None:
        machine.state = _OCCUPIED
        machine.running[unit.id] = unit
        machine.pool.dequeue(unit)
        unit.state = _STARTED
        attempt = unit.attempt = unit.last = unit.last + 1
        unit.machine = machine
        unit.started = now = self._state.now
        if attempt == 1 and unit.task.retry.within is not None:
            self._on_first(unit)
        self.out.append(_start((now, self.cause, unit.id, attempt, machine.id)))
        if unit.elastic is not None and isinstance(unit.elastic, Share):  # mostly it is None
            first = unit.elastic.division.begin(unit.elastic, machine.kind, now)
            self._on_share(unit)
            self.out.append(Assign(now, self.cause, unit.id, attempt, machine.id, *first))

    def _copy(self, action: Copy, unit: Unit, machine: Machine) -> None:
        """Start another attempt of a unit that runs, on another machine; what saves its progress has one place to."""
        need = unit.need
        if (
            unit.state != RUNNING
            or unit.checkpoint is not None
            or unit.elastic is not None
            or unit.run.is_stopping
            or unit.run.is_suspended
            or not machine.is_up
            or machine.pool is not unit.run.pool
            or machine.kind not in need.kinds
            or unit.id in machine.running
            or not covers(machine.free, need.demand)
        ):
            self._drop(action, f"a copy of unit {unit.id} on machine {machine.id}")
            return
        machine.fleet.occupy(machine, need.demand)
        machine.state = _OCCUPIED
        machine.running[unit.id] = unit
        unit.last += 1
        now = self._state.now
        unit.copies = (*unit.copies, Attempt(unit.last, machine, now))
        self.out.append(_start((now, self.cause, unit.id, unit.last, machine.id)))

    def release(self, machine: Machine, because: str) -> None:
        """Give back a machine that runs nothing."""
        state = self._state
        if not machine.kind.is_firm and not machine.is_booting:
            state.note_change(machine, grows=None)
        machine.move(MachineStep.RELEASE)
        self.pay_back(machine)
        self.out.append(Release(state.now, self.cause, machine.id, because))
        self.forget(machine)

    def forget(self, machine: Machine) -> None:
        """A machine is no longer held."""
        self._leave_pool(machine)
        del self._state.machines[machine.id]
        if machine.joined:
            del self._state.joined[machine.joined]
            machine.kind.present -= 1
            loose = self._state.loose.get(machine.kind.index, {})
            loose.pop(machine.id, None)
            if not loose:
                self._state.loose.pop(machine.kind.index, None)

    def _leave_pool(self, machine: Machine) -> None:
        if machine.id in machine.fleet.machines:  # a spare one is not
            now = self._state.now
            machine.fleet.leave(machine, now)
            machine.pool.account.withdraw(machine.kind.type, machine.id, machine.acquired, machine.paid_until, now)

    def take_up(self, machine: Machine, pool: Pool) -> None:
        """Let a spare machine work for a tenant, who pays for it from now on."""
        state, kind = self._state, machine.kind
        machine.fleet, machine.pool = pool.fleets[kind.index], pool
        machine.move(MachineStep.TAKE_UP)
        machine.fleet.join(machine, state.now)
        machine.idle_since = state.now
        pool.account.commit(kind.type)
        if kind.type.price:
            machine.acquired = machine.paid_until = machine.sized = state.now
            machine.lacking = machine.returned = 0
            self._charge(machine, first_periods(kind.type))
        machine.fleet.offer(machine)
        note_loose(state, machine)
        state.unsettle(pool)
        state.newly_vacant.append(machine)

    def set_aside(self, machine: Machine, *, is_told: bool = True) -> None:
        """Take a machine that joined from its tenant."""
        self.settle(machine)
        self.pay_back(machine)
        self._leave_pool(machine)
        machine.move(MachineStep.SET_ASIDE)
        note_loose(self._state, machine)
        if is_told:
            self.out.append(Lent(self._state.now, self.cause, machine.id, NOBODY))

    def hand_over(self, machine: Machine, pool: Pool) -> None:
        """Lend a machine that joined and runs nothing to a tenant."""
        if not machine.is_spare:
            self.set_aside(machine, is_told=False)
        self.out.append(Lent(self._state.now, self.cause, machine.id, pool.index))
        self.take_up(machine, pool)

    def settle(self, machine: Machine) -> None:
        """Pay for the time that a machine was held beyond what was paid, as when a timer comes late."""
        if machine.is_spare or machine.is_free_of_charge:
            return
        while machine.paid_until < self._state.now:
            self.renew(machine)

    def renew(self, machine: Machine) -> None:
        """Pay for another period."""
        self._charge(machine, 1)
        if machine.kind.type.core_price and not machine.is_booting:
            self._pay_back_for_size(machine, self._state.now)

    def note_size(self, machine: Machine) -> None:
        """A machine is about to have another size."""
        if not machine.is_booting:
            machine.measure(self._state.now)

    def _pay_back_for_size(self, machine: Machine, until: Time) -> None:
        machine.measure(until)
        paid = machine.paid_until - machine.acquired
        due = paid_back_for_size(machine.kind.type, machine.id, machine.lacking, paid)
        self._refund(machine, due - machine.returned)
        machine.returned = due

    def pay_back(self, machine: Machine) -> None:
        """Pay back what was charged for a machine beyond its use until now."""
        if machine.id not in machine.fleet.machines:  # it is spare
            return
        kind = machine.kind.type
        times = machine.acquired, machine.paid_until, self._state.now
        self._refund(machine, paid_back(kind, machine.id, *times))
        if kind.core_price:
            self._pay_back_for_size(machine, paid_for(kind, *times))

    def refund_all(self, machine: Machine) -> None:
        """Pay back all that was charged for a machine."""
        self._refund(machine, cost(machine.kind.type, machine.paid_until - machine.acquired, machine.id))

    def _rent(self, action: Rent) -> None:
        state = self._state
        pool = state.all_pools[action.pool.index]
        kind = state.kinds[action.kind.index]
        if kind.type.joins:
            self._ask(kind, action.number, action.because)
            return
        price = worth(kind.type, pool.account.interval)
        room = self._room(pool, kind)
        available = pool.account.available(state.now)
        affordable = action.number if price == 0 else max(0, available // price)
        granted = max(0, min(action.number, room, affordable))
        if granted < action.number:
            because = (
                self._why_no_room(pool, kind, max(0, room))
                if room <= affordable
                else f"{show_money(max(0, available))} of the budget is left, and each takes {show_money(price)}"
            )
            self.out.append(Cut(state.now, self.cause, pool.index, kind.index, action.number, granted, because))
        fleet = pool.fleets[kind.index]
        for _ in range(granted):
            self._acquire(fleet, action.because)

    def _room(self, pool: Pool, kind: Kind) -> int:
        """How many more machines of a kind a tenant may rent."""
        room = kind.type.limit - kind.held
        quota = pool.tenant.machines
        if quota is not None:
            room = min(room, quota - pool.held)
        claims = self._state.claims.get(kind.index)
        return room if claims is None else claims.allowance(pool, len(pool.fleets[kind.index].machines), room)

    @staticmethod
    def _why_no_room(pool: Pool, kind: Kind, room: int) -> str:
        quota = pool.tenant.machines
        if quota is not None and quota - pool.held <= room:
            return f"{pool.tenant.name} holds {pool.held} of the {quota} machines that it may"
        return f"only {room} of {kind.type.limit} machines are left"

    def make_way(self, quantum: Duration) -> None:
        """Drain machines of tenants with more than their share for those with less."""
        state = self._state
        for index, claims in state.claims.items():
            for machine in to_be_drained(state.kinds[index], claims, state.all_pools, state.now, quantum):
                self._drain(Drain(machine, "it is another tenant's turn"))

    def _acquire(self, fleet: Fleet, because: str) -> None:
        state = self._state
        kind = fleet.kind.type
        machine = Machine(state.next_machine, fleet, state.now, state.now + kind.boot.mean)
        state.machines[machine.id] = machine
        state.next_machine += 1
        fleet.join(machine, state.now)
        fleet.pool.account.commit(kind)
        self.out.append(
            Acquire(state.now, self.cause, machine.id, fleet.kind.index, fleet.pool.index, because),
        )
        self._charge(machine, first_periods(kind))

    def _return(self, action: Return) -> None:
        machine = cast("Machine", action.machine)
        if machine.joined:
            self._ask(machine.kind, -1, action.because)
        elif not machine.is_idle:
            self._drop(action, f"return of machine {machine.id}")
        elif not self._is_kept(machine):
            self.settle(machine)
            self.release(machine, action.because)

    def _ask(self, kind: Kind, more: int, because: str) -> None:
        self.asked[kind.index] = self.asked.get(kind.index, (0, ""))[0] + more, because

    def hint(self, lacking: Mapping[int, tuple[int, str]]) -> None:
        """Tell the owners of machines that cannot be rented how many are wanted, where that has changed."""
        state = self._state
        for kind in state.joining.values():
            more, because = self.asked.get(kind.index, _NOTHING)
            if kind.index in lacking:
                more, because = max((more, because), lacking[kind.index])
            count = max(0, min(kind.present + more, kind.type.limit)) if state.runs else 0
            if count != kind.wanted:
                kind.wanted = count
                because = because or ("those that are there are in use" if count else "nothing waits for them")
                self.out.append(Wanted(state.now, self.cause, kind.index, count, because))

    def _is_kept(self, machine: Machine) -> bool:
        """Whether its type is to be held on to although a policy has no use for it."""
        type = machine.kind.type
        return machine.kind.held <= type.keep or self._state.now - machine.idle_since < type.idle

    def keep_enough(self) -> None:
        """Rent what is to be held in any case, for the first tenant with work."""
        state = self._state
        pool = next((pool for pool in state.turn if pool.runs), None)
        for kind in state.kinds if pool is not None else ():
            missing = kind.type.keep - kind.held
            if missing > 0 and pool is not None:
                self._rent(Rent(pool, kind, missing, f"at least {kind.type.keep} are to be held"))

    def _drain(self, action: Drain) -> None:
        machine = cast("Machine", action.machine)
        if machine.joined:
            self._ask(machine.kind, -1, action.because)
        elif machine.state == BUSY:
            machine.move(MachineStep.DRAIN)
        elif machine.is_idle:
            self.settle(machine)
            self.release(machine, action.because)
        else:
            self._drop(action, f"draining of machine {machine.id}")

    def _foresee(self, action: Foresee) -> None:
        run = self._state.runs.get(action.run.id)
        if run is not None:
            now, tenant, finish = self._state.now, run.pool.index, action.finish
            run.predicted = finish
            slack = None if run.deadline is None else run.deadline - finish
            self.out.append(Predicted(now, self.cause, run.id, tenant, finish, slack, action.because))

    def _confine(self, action: Confine) -> None:
        unit = cast("Unit", action.unit)
        need = self._state.firm(unit.need)
        if need is unit.need or not need.kinds or unit.is_ended or unit.machine is not None:
            return
        is_queued = unit.state == READY
        if is_queued:
            unit.run.pool.dequeue(unit)
        unit.need = need
        if is_queued:
            unit.run.pool.enqueue(unit, unit.key >> ID_BITS)
            self._state.unsettle(unit.run.pool)
        self.out.append(Confined(self._state.now, self.cause, unit.run.id, unit.id, action.because))

    def _charge(self, machine: Machine, periods: int) -> None:
        pool = machine.pool
        type = machine.kind.type
        paid = machine.paid_until - machine.acquired
        time = periods * type.billing.period
        amount = cost(type, paid + time, machine.id) - cost(type, paid, machine.id)
        pool.account.charged += amount
        until = machine.paid_until = machine.paid_until + time
        self.out.append(_charged((self._state.now, self.cause, machine.id, pool.index, amount, until)))
        self._on_paid(machine)

    def _refund(self, machine: Machine, amount: Money) -> None:
        if amount:
            machine.pool.account.refunded += amount
            self.out.append(Refunded(self._state.now, self.cause, machine.id, machine.pool.index, amount))

    def _drop(self, action: Placing | Return | Drain, what: str) -> None:
        self.out.append(Dropped(self._state.now, self.cause, what, f"stale decision: {action.because}"))
