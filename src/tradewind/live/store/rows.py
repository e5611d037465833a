"""Rows: the nouns of the store, as plain tuples in the order of their columns.

Runs, units, machines and charges are numbered by the driver and a number is never used again, not even after pruning.
Times are microseconds, money is micro-units (see `tradewind.model.units`); states are those of
`tradewind.core.transitions`. What never changes is saved once with the whole row; later changes carry the rest.
"""

from typing import NamedTuple

from tradewind.model.action import Json
from tradewind.model.units import Duration, Money, Time

_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's: in the order of their values, without those that look alike."""


class RunRow(NamedTuple):
    """A workflow that was handed in."""

    number: int
    id: str
    """What people call it by; see `run_id`."""
    name: str
    tenant: str
    priority: int
    deadline: Time | None
    submitted: Time
    ended: Time | None
    """None: active; only active runs are loaded again."""
    status: str
    """`active`, `done`, `failed` or `cancelled`."""
    parameters: Json
    generator: Json | None
    """Saved state of the chain generator; None: there is none, or it is rebuilt from the units' results."""
    document: bytes
    """The workflow, in whatever form the driver reads it back."""


class RunChange(NamedTuple):
    """How a run stands now."""

    number: int
    priority: int
    deadline: Time | None
    ended: Time | None
    status: str
    generator: Json | None = None
    """None: as it was."""


class UnitRow(NamedTuple):
    """A unit of placement: a chain, and how it stands."""

    run: int
    number: int
    chain: str
    tasks: bytes | None
    """What is needed to make it anew where it came from a generator; None: its place in the document suffices."""
    state: int
    attempt: int = 0
    failures: int = 0
    lost: int = 0
    """How many machines were lost under it."""
    machine: int | None = None
    started: Time | None = None
    ended: Time | None = None
    results: Json | None = None
    message: str = ""
    """Why it stands so, in a line, for people."""
    preempted: int = 0
    """How often it had to give way to a machine that shrank or was taken back."""
    progress: Json | None = None
    """What is seldom true. `kept`: work that checkpoints have saved. `running`: number, machine and start of all its
    attempts, if not just the last one runs. `failures`: how often it has failed by cause, if not just by `error`.
    `memory`: what it asks for, if that has grown. `division`: how an elastic unit is divided. `share`: what a share of
    an elastic unit holds."""


class UnitChange(NamedTuple):
    """How a unit stands now."""

    run: int
    number: int
    state: int
    attempt: int = 0
    failures: int = 0
    lost: int = 0
    machine: int | None = None
    started: Time | None = None
    ended: Time | None = None
    results: Json | None = None
    message: str = ""
    preempted: int = 0
    progress: Json | None = None


class MachineRow(NamedTuple):
    """A machine that was rented or has joined; always saved whole."""

    number: int
    kind: str
    tenant: str
    """Empty: it joined, and no tenant uses it."""
    state: int
    acquired: Time
    expected: Time
    paid_until: Time
    released: Time | None = None
    """When it was given back or lost; None: held, and loaded again."""
    because: str = ""
    size: Json | None = None
    """Of one that has shrunk: its amounts, cores missing times for how long, up to when, and what was paid back."""
    joined: Json | None = None
    """Of one that joined: its name, its type and the tenants that it serves; None: it was rented."""


class ChargeRow(NamedTuple):
    """Money reserved for a machine, or paid back; saved once."""

    number: int
    machine: int
    tenant: str
    at: Time
    amount: Money
    """Never negative."""
    refund: bool = False


class AttemptRow(NamedTuple):
    """An attempt that has ended; saved once."""

    run: int
    unit: int
    attempt: int
    machine: int
    started: Time
    ended: Time
    outcome: str
    """`done`, a cause of failure (see `tradewind.live.port.Broke`), `lost`, `preempted`, `cancelled`, or `beaten` by
    another attempt."""
    reason: str = ""
    folder: str = ""
    cpu: float = 0.0
    """Seconds of processor time."""
    memory: int = 0
    """Most bytes resident at once."""


class DeliveryRow(NamedTuple):
    """Results that a share of an elastic unit has delivered; saved once."""

    run: int
    unit: int
    """The elastic unit."""
    share: int
    attempt: int
    number: int
    """Counted from 1 within the attempt."""
    at: Time
    ranges: Json
    checkpoint: bool
    """Whether it stands for all that the attempt has delivered so far."""
    result: str
    """JSON: `{"inline": value}` or `{"object": key}`; empty: a checkpoint has taken its place."""

    @property
    def key(self) -> tuple[int, int, int, int, int]:
        """What tells it from others."""
        return self[:5]


class LogRow(NamedTuple):
    """The records of a batch of events and of what the core did about them; saved once."""

    first: int
    """`seq` of the first event, unique."""
    last: int
    at: Time
    """When the last event became true; never falls from one batch to the next."""
    payload: bytes
    """See `tradewind.live.store.coding.pack`."""


class KeyRow(NamedTuple):
    """A key under which a tenant handed in work, so that handing it in again finds the same run; saved once."""

    tenant: str
    key: str
    digest: str
    """Of what was handed in."""
    run: int
    at: Time


class CacheRow(NamedTuple):
    """What a call gave, to be found again by a key over all that it depended on; always saved whole."""

    tenant: str
    key: str
    step: str
    """Its program and step, without the position in loops."""
    parts: Json
    """A digest and a few words for each part of the key, by the part's name."""
    run: str
    """The id of the run that made it."""
    call: str
    results: Json
    """With the paths of files in the run that used it last."""
    files: Json
    """Path, size and time of change of each file among the results."""
    took: Duration
    """How long it ran when it was made; for a call of a chain, its chain."""
    made: Time
    used: Time
    uses: int = 0


class DigestRow(NamedTuple):
    """The digest of a large file, valid for as long as its size and time of change stay; always saved whole."""

    path: str
    size: int
    modified: int
    digest: str


class RunHead(NamedTuple):
    """A run in a list: all but what is large."""

    number: int
    id: str
    name: str
    tenant: str
    priority: int
    deadline: Time | None
    submitted: Time
    ended: Time | None
    status: str
    units: dict[int, int]
    """How many units stand in each state."""


def run_id(at: Time, number: int) -> str:
    """A short name for a run that sorts by time: the second of its submission, then its number."""
    seconds, text = at // 1_000_000, ""
    while seconds:
        seconds, digit = divmod(seconds, 32)
        text = _LETTERS[digit] + text
    return f"{text:0>7}-{number}"


def run_number(id: str) -> int:
    """The number of a run by its name."""
    return int(id.rpartition("-")[2])
