"""The state of the core, which is also the view that policies get of it."""

import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import cast

from tradewind.core.ledger import worth
from tradewind.core.machines import Kind, Machine
from tradewind.core.pool import Pool
from tradewind.core.work import Need, Run, Unit
from tradewind.model.machine import MachineType
from tradewind.model.requirement import Requirement
from tradewind.model.tenant import Tenant
from tradewind.model.units import Duration, Money, Time
from tradewind.policies import protocol

Estimator = Callable[[Unit, Kind], Duration]
Phase = Callable[[str], AbstractContextManager[None]]


def no_phase(_name: str) -> AbstractContextManager[None]:
    """Measures nothing."""
    return nullcontext()


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
        self.all_pools = tuple(Pool(index, tenant, self.kinds, self.units) for index, tenant in enumerate(tenants))
        self.by_name = {pool.tenant.name: pool for pool in self.all_pools}
        self.needs: dict[Requirement, Need] = {}
        self.now: Time = 0
        self.interval = interval
        self.rng = random.Random(seed)
        self.is_closed = False
        self.newly_ready: list[Unit] = []
        self.newly_vacant: list[Machine] = []
        self.turn: tuple[Pool, ...] = self.all_pools
        self._unsettled: list[Pool] = []
        self._estimator = estimator
        self.phase = phase

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

    def vacated(self) -> Sequence[Machine]:
        """Machines that have gained room since the placer was last asked."""
        return self.newly_vacant

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
        return self._estimator(cast("Unit", unit), cast("Kind", kind))

    # What the core does with it

    def unsettle(self, pool: Pool) -> None:
        """Something in a pool has changed that may let a unit start."""
        if not pool.is_unsettled:
            pool.is_unsettled = True
            self._unsettled.append(pool)

    def settle(self) -> None:
        """The placer has seen all changes."""
        for pool in self._unsettled:
            pool.is_unsettled = False
        self._unsettled.clear()
        self.newly_ready.clear()
        self.newly_vacant.clear()

    def need(self, requirement: Requirement) -> Need:
        """The number under which a requirement is known, given at first sight."""
        need = self.needs.get(requirement)
        if need is None:
            wanted = dict(requirement.amounts)
            demand = (1, *(wanted.get(name, 0) for name in self.dimensions))
            kinds = tuple(kind for kind in self.kinds if kind.type.offers(requirement))
            need = self.needs[requirement] = Need(len(self.needs), requirement, demand, kinds)
        return need

    def shuffle_turn(self) -> None:
        """Draw the order in which tenants are served this interval."""
        if len(self.all_pools) > 1:
            turn = list(self.all_pools)
            self.rng.shuffle(turn)
            self.turn = tuple(turn)
