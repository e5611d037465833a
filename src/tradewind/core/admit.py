"""Admission: every decision of a policy is checked against the facts at the moment it is applied.

What no longer fits is dropped, and what budget or limits do not allow is cut, each with a notice that says why.
"""

from collections.abc import Callable
from functools import partial
from typing import cast

from tradewind.core.fleet import Fleet
from tradewind.core.ledger import first_charge, first_periods, paid_back, paid_back_for_size, paid_for, worth
from tradewind.core.machines import BUSY, IDLE, Kind, Machine, covers, minus
from tradewind.core.pool import Pool
from tradewind.core.sharing import to_be_drained
from tradewind.core.state import State
from tradewind.core.transitions import MACHINE_TABLE, UNIT_TABLE, MachineState, MachineStep, UnitState, UnitStep
from tradewind.core.work import READY, RUNNING, Attempt, Unit
from tradewind.model.command import Acquire, Charged, Command, Cut, Dropped, Predicted, Refunded, Release, Start
from tradewind.model.units import Duration, Money, Time, show_money
from tradewind.policies.protocol import Copy, Drain, Foresee, Placing, Rent, Return, Scaling

_start = partial(tuple.__new__, Start)  # faster than naming the fields, and most commands are of this kind
_charged = partial(tuple.__new__, Charged)
_STARTED = int(UNIT_TABLE[UnitState.READY, UnitStep.START])
_OCCUPIED = int(MACHINE_TABLE[MachineState.IDLE, MachineStep.OCCUPY])


class Admission:
    """Applies what policies decide, as far as the facts allow."""

    __slots__ = ("_on_first", "_on_paid", "_state", "cause", "out")

    def __init__(
        self, state: State, on_paid: Callable[[Machine], None], on_first: Callable[[Unit], None] = lambda _: None
    ) -> None:
        self._state = state
        self._on_paid = on_paid
        self._on_first = on_first
        self.cause = 0
        self.out: list[Command] = []

    def scaling(self, action: Scaling) -> None:
        """Acquire, release or drain, or note what is foreseen."""
        if isinstance(action, Rent):
            self._rent(action)
        elif isinstance(action, Return):
            self._return(action)
        elif isinstance(action, Foresee):
            self._foresee(action)
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

    def _copy(self, action: Copy, unit: Unit, machine: Machine) -> None:
        """Start another attempt of a unit that runs, on another machine; what saves its progress has one place to."""
        need = unit.need
        if (
            unit.state != RUNNING
            or unit.checkpoint is not None
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
        now = self._state.now
        machine.fleet.leave(machine, now)
        machine.pool.account.withdraw(machine.kind.type, machine.acquired, machine.paid_until, now)
        del self._state.machines[machine.id]

    def settle(self, machine: Machine) -> None:
        """Pay for the time that a machine was held beyond what was paid, as when a timer comes late."""
        while machine.paid_until < self._state.now:
            self.renew(machine)

    def renew(self, machine: Machine) -> None:
        """Pay for another period."""
        type = machine.kind.type
        self._charge(machine, type.price, 1)
        if type.core_price and not machine.is_booting:
            self._pay_back_for_size(machine, self._state.now)

    def note_size(self, machine: Machine) -> None:
        """A machine is about to have another size."""
        if not machine.is_booting:
            machine.measure(self._state.now)

    def _pay_back_for_size(self, machine: Machine, until: Time) -> None:
        machine.measure(until)
        due = paid_back_for_size(machine.kind.type, machine.lacking, machine.acquired, machine.paid_until)
        self._refund(machine, due - machine.returned)
        machine.returned = due

    def pay_back(self, machine: Machine) -> None:
        """Pay back what was charged for a machine beyond its use until now."""
        kind = machine.kind.type
        times = machine.acquired, machine.paid_until, self._state.now
        self._refund(machine, paid_back(kind, *times))
        if kind.core_price:
            self._pay_back_for_size(machine, paid_for(kind, *times))

    def refund_all(self, machine: Machine) -> None:
        """Pay back all that was charged for a machine."""
        kind = machine.kind.type
        periods = (machine.paid_until - machine.acquired) // kind.billing.period
        self._refund(machine, periods * kind.price)

    def _rent(self, action: Rent) -> None:
        state = self._state
        pool = state.all_pools[action.pool.index]
        kind = state.kinds[action.kind.index]
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
        self._charge(machine, first_charge(kind), first_periods(kind))

    def _return(self, action: Return) -> None:
        machine = cast("Machine", action.machine)
        if not machine.is_idle:
            self._drop(action, f"return of machine {machine.id}")
        elif not self._is_kept(machine):
            self.settle(machine)
            self.release(machine, action.because)

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
        if machine.state == BUSY:
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

    def _charge(self, machine: Machine, amount: Money, periods: int) -> None:
        pool = machine.pool
        pool.account.charged += amount
        until = machine.paid_until = machine.paid_until + periods * machine.kind.type.billing.period
        self.out.append(_charged((self._state.now, self.cause, machine.id, pool.index, amount, until)))
        self._on_paid(machine)

    def _refund(self, machine: Machine, amount: Money) -> None:
        if amount:
            machine.pool.account.refunded += amount
            self.out.append(Refunded(self._state.now, self.cause, machine.id, machine.pool.index, amount))

    def _drop(self, action: Placing | Return | Drain, what: str) -> None:
        self.out.append(Dropped(self._state.now, self.cause, what, f"stale decision: {action.because}"))
