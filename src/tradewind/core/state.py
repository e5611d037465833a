"""The state of the core, which is also the view that policies get of it."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, cast

from tradewind.core.elastic.division import Division, estimated
from tradewind.core.estimates import Learned
from tradewind.core.fleet import Fleet
from tradewind.core.ledger import worth
from tradewind.core.lineup import Lineup
from tradewind.core.machines import Kind, Machine
from tradewind.core.pool import Pool
from tradewind.core.sharing import Claims, claims_on
from tradewind.core.work import Need, Run, Unit, left
from tradewind.model.machine import MachineType, offer_of
from tradewind.model.requirement import Requirement
from tradewind.model.tenant import Tenant
from tradewind.model.units import Duration, Money, Time
from tradewind.policies import protocol

Estimator = Callable[[Unit, Kind], Duration]
Learn = Callable[[Unit, Kind, Duration], None]
Phase = Callable[[str], AbstractContextManager[None]]


_NOTHING = nullcontext()


def no_phase(_name: str) -> AbstractContextManager[None]:
    """Measures nothing."""
    return _NOTHING


class State:
    """Work, machines and money, with indexes; everything numbered densely from zero."""

    accepts_unknown = False
    """Whether work that no known machine type can do waits for a machine to join instead of being refused."""
    is_closed = False
    """Whether nothing more will be submitted."""
    silence: Duration | None = None
    """By how much a report of a share may be overdue before it is lost; None: it is never given up for that."""
    origin: Time = 0
    """When the first interval begins; a driver may move it while there is nothing to decide on."""
    quantum: Duration | None = None
    """After how long a machine makes way for a tenant with less than its share; None: never."""

    def __init__(
        self,
        types: Sequence[MachineType],
        tenants: Sequence[Tenant],
        interval: Duration,
        seed: int,
        estimator: Estimator,
        phase: Phase = no_phase,
    ) -> None:
        self.dimensions = tuple(sorted({name for type in types for name, _ in type.amounts}))
        self.kinds: list[Kind] = []
        """Those that are declared; more are added when machines of new types join, and none is ever removed."""
        self.declared = len(types)
        self.joining: dict[tuple[MachineType, frozenset[str]], Kind] = {}
        """Kinds whose machines join by themselves, by what they offer and whom they serve."""
        self.joined: dict[str, Machine] = {}
        """Machines that have joined, by name."""
        self.loose: dict[int, dict[int, Machine]] = {}
        """By kind: machines that joined and may be given to another tenant; some may be at work by now."""
        self.units: dict[int, Unit] = {}
        """Of runs that have not ended."""
        self.machines: dict[int, Machine] = {}
        """Those held."""
        self.runs: dict[int, Run] = {}
        """Those not ended."""
        self.expected: dict[int, Unit] = {}
        """Units that runs are expected to grow by; numbered from -1 downwards."""
        self.divided: dict[int, Division] = {}
        """Elastic units at work, by number; those that are over are dropped when met."""
        self.next_unit = self.next_machine = self.next_run = 0
        self.next_expected = -1
        self.all_pools: tuple[Pool, ...] = ()
        self.by_name: dict[str, Pool] = {}
        self.needs: dict[Requirement, Need] = {}
        self._firm_needs: dict[Requirement, Need] = {}
        """The same, for units that may run on firm machines only."""
        self.now: Time = 0
        self.interval = interval
        self.rng = random.Random(seed)
        self.lineup: Lineup | None = None
        """Lines up brief work on machines that are full; None: nothing is."""
        self.claims: dict[int, Claims] = {}
        """By number of their kind: who waits for a turn."""
        self.newly_ready: list[Unit] = []
        self.newly_vacant: list[Machine] = []
        self.newly_thin: list[Unit] = []
        self.newly_changed: list[protocol.Change] = []
        self.turn: tuple[Pool, ...] = ()
        self._unsettled: list[Pool] = []
        self._estimator = estimator
        self.learned = estimator if isinstance(estimator, Learned) else None
        """Told of each unit that finishes and each machine that comes up, if estimates are learned."""
        self.learn: Learn | None = self.learned.learn if self.learned is not None else None
        self.phase = phase
        for type in types:
            self._append_kind(type, frozenset(type.tenants))
        for tenant in tenants:
            self.add_pool(tenant)

    # What policies see

    def pools(self) -> Sequence[Pool]:
        """All tenants, in the order in which they are served this time."""
        return self.turn

    def unit(self, number: int) -> Unit | None:
        """The unit of a number, if its run has not ended; also one that is expected."""
        return self.units.get(number) if number >= 0 else self.expected.get(number)

    def machine(self, number: int) -> Machine | None:
        """The machine of a number, if it is held."""
        return self.machines.get(number)

    def unsettled(self) -> list[Pool]:
        """Pools whose work or machines have changed in a way that may let a unit start."""
        return self._unsettled

    def freed(self) -> Sequence[Unit]:
        """Units that have become ready since the placer was last asked."""
        return self.newly_ready

    def thinned(self) -> Sequence[Unit]:
        """Units that have lost one of several attempts since the placer was last asked, and run on."""
        return self.newly_thin

    def vacated(self) -> Sequence[Machine]:
        """Machines that have gained room since the placer was last asked."""
        return self.newly_vacant

    def changes(self) -> Sequence[protocol.Change]:
        """Changes in size of machines that are not firm, since the placer was last asked."""
        return self.newly_changed

    def divisions(self) -> Sequence[Division]:
        """Elastic units at work, in the order in which they began."""
        for number in [number for number, each in self.divided.items() if each.is_over]:
            del self.divided[number]
        return list(self.divided.values())

    def affordable(self, pool: protocol.Pool) -> Money:
        """What the tenant may still reserve now, after all it holds has been paid for another interval."""
        return max(0, self.all_pools[pool.index].account.available(self.now))

    def worth(self, pool: protocol.Pool, kind: protocol.Kind) -> Money:
        """What holding one machine of a kind takes from the tenant's budget in an interval."""
        return worth(kind.type, pool.tenant.interval)

    def vacancies(self, kind: protocol.Kind) -> int:
        """How many more machines of a kind may be acquired by anybody."""
        return 0 if kind.type.joins else kind.type.limit - self.kinds[kind.index].held

    def estimate(self, unit: protocol.Unit, kind: protocol.Kind) -> Duration:
        """How long the unit is thought to run on a machine of a kind."""
        mine, its = cast("Unit", unit), cast("Kind", kind)
        whole = self._estimator(mine, its)
        if mine.elastic is None and mine.task.elastic is None:
            return left(mine, its, whole)
        return estimated(mine, whole, self.now)

    # What the core does with it

    def recall(self, saved: Mapping[str, Any]) -> None:
        """Go on from what was learned before."""
        if self.learned is not None:
            self.learned.load(saved)
            for kind in self.kinds:
                self._expect_lag(kind)

    def items(self, loop: str) -> int | None:
        """How many items a loop of a program is thought to have; None: nothing is known."""
        return None if self.learned is None else self.learned.items(loop)

    def learn_lag(self, machine: Machine) -> None:
        """A machine has come up."""
        if self.learned is not None:
            self.learned.learn_lag(machine.kind.configured, self.now - machine.acquired)
            self._expect_lag(machine.kind)

    def _expect_lag(self, kind: Kind) -> None:
        lag = self.learned.lag(kind.configured) if self.learned is not None else None
        if lag is not None:
            kind.expect_lag(lag)

    def has_joined(self, name: str, type: MachineType, tenants: Iterable[str]) -> bool:
        """Whether a machine of a name is here, with this offer and for these tenants."""
        machine = self.joined.get(name)
        return machine is not None and machine.kind is self.joining.get((offer_of(type), frozenset(tenants)))

    def add_kind(self, type: MachineType, tenants: Iterable[str] = ()) -> Kind:
        """The kind of machines that join with such an offer, made at first sight."""
        key = offer_of(type), frozenset(tenants)
        kind = self.joining.get(key)
        if kind is None:
            self._widen(type)
            kind = self._append_kind(replace(type, joins=True), key[1])
            for pool in self.all_pools:
                pool.fleets.append(Fleet(kind, pool))
            for needs in (self.needs, self._firm_needs if kind.is_firm else {}):
                for requirement, need in needs.items():
                    if type.offers(requirement):
                        need.add(kind)
        elif (kind.type.limit, kind.configured.boot) != (type.limit, type.boot):  # its owner has changed his mind
            kind.configured = replace(kind.configured, limit=type.limit, boot=type.boot)
            kind.type = replace(kind.type, limit=type.limit)
        return kind

    def _append_kind(self, type: MachineType, tenants: frozenset[str]) -> Kind:
        kind = Kind(len(self.kinds), type, self.dimensions, tenants)
        self.kinds.append(kind)
        if type.joins:
            self.joining.setdefault((offer_of(type), tenants), kind)
        return kind

    def _widen(self, type: MachineType) -> None:
        """Give vectors a place for amounts that were never heard of before."""
        new = tuple(sorted({name for name, _ in type.amounts}.difference(self.dimensions)))
        if not new:
            return
        self.dimensions += new
        nothing = (0,) * len(new)
        for kind in self.kinds:
            kind.measure(self.dimensions)
        for needs in (self.needs, self._firm_needs):
            for need in needs.values():
                wanted = dict(need.requirement.amounts)
                need.demand += tuple(wanted.get(name, 0) for name in new)
        for machine in self.machines.values():
            machine.capacity += nothing
            machine.free += nothing
        for pool in self.all_pools:
            for fleet in pool.fleets:
                fleet.measure()

    def add_pool(self, tenant: Tenant) -> None:
        """There is another tenant."""
        pool = Pool(len(self.all_pools), tenant, self.kinds, self.units)
        self.all_pools = self.turn = (*self.all_pools, pool)
        self.by_name[tenant.name] = pool

    def put_tenant(self, tenant: Tenant) -> None:
        """A tenant is new, or has another budget, interval or weight."""
        pool = self.by_name.get(tenant.name)
        if pool is None:
            self.add_pool(tenant)
            return
        pool.tenant = tenant
        pool.account.change(tenant, [m.kind.type for fleet in pool.fleets for m in fleet.machines.values()])

    def unsettle(self, pool: Pool) -> None:
        """Something in a pool has changed that may let a unit start."""
        if not pool.is_unsettled:
            pool.is_unsettled = True
            self._unsettled.append(pool)

    def note_change(self, machine: Machine, *, grows: bool | None, running: int = 0, ended: int = 0) -> None:
        """A machine has changed in size, has been taken back, or has been given back (None)."""
        change = protocol.Change(machine, self.now, machine.changed, machine.grew, grows, running, ended)
        self.newly_changed.append(change)
        if grows is not None:
            machine.changed, machine.grew = self.now, grows

    def settle(self) -> None:
        """The placer has seen all changes."""
        for pool in self._unsettled:
            pool.is_unsettled = False
        self._unsettled.clear()
        self.newly_ready.clear()
        self.newly_vacant.clear()
        if self.newly_changed:
            self.newly_changed.clear()
        if self.newly_thin:
            self.newly_thin.clear()

    def need(self, requirement: Requirement) -> Need:
        """The number under which a requirement is known, given at first sight."""
        need = self.needs.get(requirement)
        if need is None:
            wanted = dict(requirement.amounts)
            demand = (1, *(wanted.get(name, 0) for name in self.dimensions))
            kinds = tuple(kind for kind in self.kinds if kind.type.offers(requirement))
            need = self.needs[requirement] = Need(len(self.needs) + len(self._firm_needs), requirement, demand, kinds)
        return need

    def can_serve(self, need: Need, pool: Pool) -> bool:
        """Whether machines of any known type meet a need of a tenant."""
        if not self.joining:
            return bool(need.kinds)
        return any(kind.serves(pool.tenant.name) for kind in need.kinds)

    def firm(self, need: Need) -> Need:
        """The same need, met by firm machines only."""
        kinds = tuple(kind for kind in need.kinds if kind.is_firm)
        if len(kinds) == len(need.kinds):
            return need
        found = self._firm_needs.get(need.requirement)
        if found is None:
            index = len(self.needs) + len(self._firm_needs)
            found = self._firm_needs[need.requirement] = Need(index, need.requirement, need.demand, kinds)
        return found

    def note_claims(self) -> None:
        """See who waits for a turn on machines of which there are no more to be had."""
        found = ((kind.index, claims_on(kind, self.all_pools)) for kind in self.kinds)
        self.claims = {index: claims for index, claims in found if claims is not None}

    def shuffle_turn(self) -> None:
        """Draw the order in which tenants are served this interval."""
        if len(self.all_pools) > 1:
            turn = list(self.all_pools)
            self.rng.shuffle(turn)
            self.turn = tuple(turn)
