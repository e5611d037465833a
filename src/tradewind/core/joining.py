"""Machines that join: they come and leave by themselves, and work for one tenant at a time.

A machine that is idle is lent to another tenant that it serves if its present one has nothing for it to do; tenants
with the fewest slots for their weight come first. One that costs nothing always belongs to a tenant. One with a price
is spare until a tenant has work for it and can pay, is charged for by the period from then on, and becomes spare again
when a paid period ends and it is idle. For types that cannot be rented, what the scaler asks for becomes a hint to
their owner.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tradewind.core.ledger import worth
from tradewind.core.machines import IDLE, SPARE, Kind, Machine
from tradewind.core.pool import Pool
from tradewind.core.state import State
from tradewind.core.work import Need
from tradewind.model.command import Welcomed
from tradewind.model.event import MachineJoined, MachineLeft
from tradewind.model.vector import fitting
from tradewind.policies.parts.room import room_in

if TYPE_CHECKING:
    from tradewind.core.machine_events import MachineEvents
    from tradewind.core.turn import Turn

REPLACED = "another machine has joined under its name"
NOBODY = -1
"""Stands for a tenant in notices about machines that no tenant uses."""


def joined(core: "MachineEvents", event: MachineJoined) -> None:
    """Take in a machine; one that is held under its name, with the same offer, is no news."""
    state = core.state
    if state.has_joined(event.name, event.type, event.tenants):
        return
    held = state.joined.get(event.name)
    if held is not None:
        core.admission.settle(held)
        core.give_up(held, REPLACED)
    kind = state.add_kind(event.type, event.tenants)
    pool = None if kind.type.price else _first_user(state, kind)
    fleet = (pool or _formal_user(state, kind)).fleets[kind.index]
    machine = Machine(state.next_machine, fleet, state.now, state.now, event.name)
    state.next_machine += 1
    state.machines[machine.id] = state.joined[event.name] = machine
    machine.state = SPARE
    kind.present += 1
    tenant = NOBODY if pool is None else pool.index
    core.out.append(Welcomed(state.now, core.cause, machine.id, kind.index, tenant, event.name))
    if pool is None:
        note_loose(state, machine)
    else:
        core.admission.take_up(machine, pool)
    core.must_place = True


def left(core: "MachineEvents", event: MachineLeft) -> None:
    """A machine has signed off or fallen silent; what ran there gave way, as on one that is taken back."""
    machine = core.state.machines.get(event.machine)
    if machine is None or not machine.joined:
        core.stale(event)
    else:
        core.lose(machine, is_preempted=True)


def note_loose(state: State, machine: Machine) -> None:
    """A machine that joined runs nothing, so another tenant may have it."""
    state.loose.setdefault(machine.kind.index, {})[machine.id] = machine


@dataclass(slots=True)
class _Want:
    """Ready work of a tenant for which there is no room on its machines."""

    pool: Pool
    need: Need
    units: int

    def priority(self) -> tuple[float, int, int]:
        return _wealth(self.pool), self.pool.index, self.need.index


def lend(core: "Turn") -> bool:
    """Give idle machines to tenants that have work for them; whether any has changed hands."""
    state = core.state
    wants = [want for pool in state.all_pools for want in _wants(state, pool)]
    has_lent = False
    while wants:
        want = min(wants, key=_Want.priority)
        machine = _lendable(state, want)
        if machine is None:
            wants.remove(want)
            continue
        core.admission.hand_over(machine, want.pool)
        has_lent = True
        want.units -= max(1, fitting(machine.free, want.need.demand))
        if want.units <= 0:
            wants.remove(want)
    return has_lent


def _wants(state: State, pool: Pool) -> list[_Want]:
    loose = state.loose
    return [
        _Want(pool, need, pool.remaining(need))
        for need in pool.waiting()
        if any(kind.index in loose for kind in need.kinds)
        and pool.first(need) is not None
        and not pool.has_room_for(need)
    ]


def _lendable(state: State, want: _Want) -> Machine | None:
    """The first machine, by kind and number, that a tenant may have for its work."""
    pool = want.pool
    if not _may_hold_more(pool):
        return None
    for kind in want.need.kinds:
        loose = state.loose.get(kind.index)
        if not loose or not kind.serves(pool.tenant.name):
            continue
        if worth(kind.type, pool.account.interval) > pool.account.available(state.now):
            continue
        for machine in sorted(_still_loose(state, kind), key=lambda machine: machine.id):
            if machine.is_spare or not has_use(machine.pool, kind):
                return machine
    return None


def _still_loose(state: State, kind: Kind) -> list[Machine]:
    """Machines of a kind that are spare or idle; others are forgotten until they run out of work again."""
    loose = state.loose[kind.index]
    for number in [number for number, machine in loose.items() if machine.state not in (IDLE, SPARE)]:
        del loose[number]
    if not loose:
        del state.loose[kind.index]
    return list(loose.values())


def has_use(pool: Pool, kind: Kind) -> bool:
    """Whether anything of a tenant is ready that machines of a kind could run."""
    return any(kind in need.kinds and pool.first(need) is not None for need in pool.waiting())


def _first_user(state: State, kind: Kind) -> Pool | None:
    """The tenant that a machine works for when it joins; None: there is none, or none may hold more machines."""
    served = [pool for pool in state.all_pools if kind.serves(pool.tenant.name) and _may_hold_more(pool)]
    return min(served, key=lambda pool: (not has_use(pool, kind), _wealth(pool), pool.index), default=None)


def _formal_user(state: State, kind: Kind) -> Pool:
    """A tenant whose fleet a machine names that no tenant uses."""
    return next((pool for pool in state.all_pools if kind.serves(pool.tenant.name)), state.all_pools[0])


def _may_hold_more(pool: Pool) -> bool:
    quota = pool.tenant.machines
    return quota is None or pool.held < quota


def _wealth(pool: Pool) -> float:
    """Slots that a tenant holds for its weight."""
    return sum(len(fleet.machines) * fleet.kind.type.slots for fleet in pool.fleets) / pool.tenant.weight


def lacking(state: State) -> dict[int, tuple[int, str]]:
    """By kind that joins: how many more machines the work that finds no room could use, and why."""
    found: dict[int, tuple[int, str]] = {}
    for pool in state.all_pools:
        needs = [need for need in pool.waiting() if any(kind.type.joins for kind in need.kinds)]
        if not needs:
            continue
        rooms = [room_in(fleet) for fleet in pool.fleets]
        for need in sorted(needs, key=lambda need: (len(need.kinds), need.index)):
            waiting = units = pool.remaining(need) if pool.first(need) is not None else 0
            for kind in need.kinds:
                units -= rooms[kind.index].take(need.demand, units)
            for kind in _by_price(state, pool, need):
                if units <= 0:
                    break
                asked, _ = found.get(kind.index, (0, ""))
                places = fitting(kind.capacity, need.demand)
                number = min(-(-units // places), kind.type.limit - kind.present - asked)
                if number > 0:
                    found[kind.index] = asked + number, f"{waiting} units of {pool.tenant.name} need {need.requirement}"
                    units -= number * places
    return found


def _by_price(state: State, pool: Pool, need: Need) -> list[Kind]:
    """Kinds that join and serve a tenant, by what a unit pays for its share of a machine."""
    kinds = [kind for kind in need.kinds if kind.type.joins and kind.serves(pool.tenant.name)]
    return sorted(kinds, key=lambda kind: (state.worth(pool, kind) / fitting(kind.capacity, need.demand), kind.index))
