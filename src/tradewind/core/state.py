"""The state of the core, which is also the view that policies get of it."""

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

from tradewind.core.estimates import Learned
from tradewind.core.ledger import worth
from tradewind.core.lineup import Lineup
from tradewind.core.machines import Kind, Machine
from tradewind.core.pool import Pool
from tradewind.core.sharing import Claims, claims_on
from tradewind.core.work import Need, Run, Unit, left
from tradewind.model.machine import MachineType
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
        self.kinds = tuple(Kind(index, type, self.dimensions) for index, type in enumerate(types))
        self.units: dict[int, Unit] = {}
        """Of runs that have not ended."""
        self.machines: dict[int, Machine] = {}
        """Those held."""
        self.runs: dict[int, Run] = {}
        """Those not ended."""
        self.next_unit = 0
        self.next_machine = 0
        self.next_run = 0
        self.all_pools: tuple[Pool, ...] = ()
        self.by_name: dict[str, Pool] = {}
        self.needs: dict[Requirement, Need] = {}
        self.now: Time = 0
        self.interval = interval
        self.origin: Time = 0
        """Some time at which an interval begins; a driver may move it while there is nothing to decide on."""
        self.rng = random.Random(seed)
        self.is_closed = False
        self.quantum: Duration | None = None
        """After how long a machine makes way for a tenant with less than its share; None: never."""
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
        for tenant in tenants:
            self.add_pool(tenant)

    # What policies see

    def pools(self) -> Sequence[Pool]:
        """All tenants, in the order in which they are served this time."""
        return self.turn

    def unit(self, number: int) -> Unit | None:
        """The unit of a number, if its run has not ended."""
        return self.units.get(number)

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

    def affordable(self, pool: protocol.Pool) -> Money:
        """What the tenant may still reserve now, after all it holds has been paid for another interval."""
        return max(0, self.all_pools[pool.index].account.available(self.now))

    def worth(self, pool: protocol.Pool, kind: protocol.Kind) -> Money:
        """What holding one machine of a kind takes from the tenant's budget in an interval."""
        return worth(kind.type, pool.tenant.interval)

    def vacancies(self, kind: protocol.Kind) -> int:
        """How many more machines of a kind may be acquired by anybody."""
        return kind.type.limit - self.kinds[kind.index].held

    def estimate(self, unit: protocol.Unit, kind: protocol.Kind) -> Duration:
        """How long the unit is thought to run on a machine of a kind."""
        mine, its = cast("Unit", unit), cast("Kind", kind)
        return left(mine, its, self._estimator(mine, its))

    # What the core does with it

    def recall(self, saved: Mapping[str, Any]) -> None:
        """Go on from what was learned before."""
        if self.learned is not None:
            self.learned.load(saved)
            for kind in self.kinds:
                self._expect_lag(kind)

    def learn_lag(self, machine: Machine) -> None:
        """A machine has come up."""
        if self.learned is not None:
            self.learned.learn_lag(machine.kind.configured, self.now - machine.acquired)
            self._expect_lag(machine.kind)

    def _expect_lag(self, kind: Kind) -> None:
        lag = self.learned.lag(kind.configured) if self.learned is not None else None
        if lag is not None:
            kind.expect_lag(lag)

    def add_pool(self, tenant: Tenant) -> None:
        """There is another tenant."""
        pool = Pool(len(self.all_pools), tenant, self.kinds, self.units)
        self.all_pools = self.turn = (*self.all_pools, pool)
        self.by_name[tenant.name] = pool

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
            need = self.needs[requirement] = Need(len(self.needs), requirement, demand, kinds)
        return need

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
