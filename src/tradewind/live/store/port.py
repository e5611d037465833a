"""The port of the store: its verbs, and what goes in and comes out.

A driver collects what a batch of events has changed and saves it in one transaction, before it carries out the
commands. Every verb blocks, and may be called from any thread. Saving a batch twice is the same as saving it once, so
that a save whose outcome is unknown is simply repeated.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol, TypeAlias

from tradewind.live.store.coding import Record
from tradewind.live.store.rows import (
    AttemptRow,
    CacheRow,
    ChargeRow,
    DeliveryRow,
    DigestRow,
    KeyRow,
    LogRow,
    MachineRow,
    RunChange,
    RunHead,
    RunRow,
    UnitChange,
    UnitRow,
)
from tradewind.model.action import Json
from tradewind.model.units import DAY, Duration, Money, Time

Durability: TypeAlias = Literal["strict", "relaxed"]
"""What survives once `save` has returned.

| | strict | relaxed |
|---|---|---|
| the process is killed | everything | everything |
| the host fails, on SQLite | everything | all but what came after the last checkpoint (at most some 16 MB of log) |
| the database server crashes | everything | all but about the last second |

Neither ever leaves half a batch or a damaged store. After a loss, attempts that had been recorded may be started again
under the same number: choose `relaxed` only where machines die together with the store, or running twice is harmless.
A synced commit takes some milliseconds; batches of a hundred changes or more hide it.
"""


class Numbers(NamedTuple):
    """The smallest numbers never used."""

    run: int = 0
    unit: int = 0
    machine: int = 0
    charge: int = 0
    seq: int = 0


@dataclass(slots=True)
class Changes:
    """What one batch has changed; each run, unit and machine appears once, as it stands in the end."""

    new_runs: list[RunRow] = field(default_factory=list)
    runs: list[RunChange] = field(default_factory=list)
    """Of runs that were saved before."""
    new_units: list[UnitRow] = field(default_factory=list)
    units: list[UnitChange] = field(default_factory=list)
    """Of units that were saved before."""
    machines: list[MachineRow] = field(default_factory=list)
    """New or changed."""
    charges: list[ChargeRow] = field(default_factory=list)
    attempts: list[AttemptRow] = field(default_factory=list)
    deliveries: list[DeliveryRow] = field(default_factory=list)
    voided: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    """Keys of deliveries whose results a checkpoint has taken the place of."""
    log: list[LogRow] = field(default_factory=list)
    cache: list[CacheRow] = field(default_factory=list)
    """New or changed."""
    digests: list[DigestRow] = field(default_factory=list)
    memories: dict[str, Json] = field(default_factory=dict)
    """What policies remember, by their name."""
    notes: dict[str, Json] = field(default_factory=dict)
    """Whatever else is to be found again, by name."""
    keys: list[KeyRow] = field(default_factory=list)
    """Under which keys new runs were handed in."""

    def __bool__(self) -> bool:
        return bool(self.log) or any(getattr(self, name) for name in self.__slots__)  # mostly there is a log

    def used(self) -> Numbers:
        """The numbers next to the largest in this batch; zero where it has none."""
        return Numbers(
            max(row.number for row in self.new_runs) + 1 if self.new_runs else 0,
            max(row.number for row in self.new_units) + 1 if self.new_units else 0,
            max(row.number for row in self.machines) + 1 if self.machines else 0,
            max(row.number for row in self.charges) + 1 if self.charges else 0,
            max(row.last for row in self.log) + 1 if self.log else 0,
        )


class Spent(NamedTuple):
    """All that a tenant was ever charged and paid back, pruned or not."""

    charged: Money = 0
    refunded: Money = 0


@dataclass(slots=True)
class Saved:
    """All that is needed to rebuild the core."""

    runs: list[RunRow]
    """Active ones, by number."""
    units: list[UnitRow]
    """All units of the active runs, by run and number."""
    machines: list[MachineRow]
    """Those held, by number."""
    charges: list[ChargeRow]
    """Since the time asked for, by number."""
    spent: dict[str, Spent]
    memories: dict[str, Json]
    notes: dict[str, Json]
    next: Numbers


class RunDetail(NamedTuple):
    """A run with all that is known of it."""

    run: RunRow
    units: list[UnitRow]
    attempts: list[AttemptRow]
    notes: dict[str, Json]
    """What is noted of it, by name."""


class Lease(NamedTuple):
    """The right to write as the leader of a name; void as soon as anybody has taken a newer one."""

    name: str
    token: int


class Pruned(NamedTuple):
    """How much was removed."""

    runs: int = 0
    units: int = 0
    machines: int = 0
    charges: int = 0
    batches: int = 0
    """Of the log."""


class Store(Protocol):
    """Keeps what must survive."""

    def save(self, changes: Changes, lease: Lease | None = None) -> None:
        """Write a batch in one transaction, all of it or nothing.

        Raises `LostLeaseError` if the lease is no longer the newest of its name (without a lease nothing is checked),
        and `StoreUnavailableError` if the batch cannot be written now and should be saved again later.
        """

    def load(self, *, charges_since: Time = 0) -> Saved:
        """All that is active, as of one instant."""

    def runs(self, *, tenant: str | None = None, status: str | None = None, limit: int = 100) -> list[RunHead]:
        """The latest runs, newest first."""

    def run(self, id: str) -> RunDetail | None:
        """A run by its id, active or ended; None: there is none."""

    def log(self, run: int | None = None) -> Iterator[Record]:
        """The log of a run up to its end, or of everything, read batch by batch."""

    def prune(self, *, before: Time, keep: int = 0, interval: Duration = DAY) -> Pruned:
        """Forget runs that ended before a time, but never the newest `keep` of those that ended.

        With them go machines, charges and log batches older than all that is left; charges stay for another `interval`,
        which should be as long as the longest budget interval, for they still count against it.
        """

    def deliveries(
        self, run: int, unit: int, *, after: tuple[int, int, int] = (-1, 0, 0), limit: int = 1_000
    ) -> list[DeliveryRow]:
        """What counts of the deliveries of an elastic unit, by share, attempt and number, after some of these."""

    def recall(self, tenant: str, keys: Sequence[str]) -> dict[str, CacheRow]:
        """What calls gave a tenant before, by key."""

    def cached(self, *, tenant: str | None = None, step: str | None = None, limit: int = 100) -> list[CacheRow]:
        """What is in the cache, the latest first; of steps whose name begins so."""

    def prune_cache(
        self, *, tenant: str | None = None, step: str | None = None, unused_since: Time | None = None
    ) -> int:
        """Forget what nobody has used since a time; None: all. How much was removed."""

    def note(self, name: str) -> Json | None:
        """What is noted under a name; None: nothing."""

    def digest(self, path: str) -> DigestRow | None:
        """What is known of a file."""

    def take_lease(self, name: str, holder: str, until: Time, now: Time) -> Lease | None:
        """Become the leader if nobody else is at this time; None: somebody is.

        Clocks decide only how soon another may lead; `save` sees to it that no two leaders write, whatever the clocks.
        """

    def renew_lease(self, lease: Lease, until: Time) -> bool:
        """Stay the leader for longer; False: somebody else leads by now."""

    def drop_lease(self, lease: Lease) -> None:
        """Let somebody else lead at once."""

    def close(self) -> None:
        """Let go of files and connections."""
