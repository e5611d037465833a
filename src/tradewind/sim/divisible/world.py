"""What a simulation of divisible jobs starts from, and what comes out of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tradewind.core.divisible.records import Job, Spec
from tradewind.core.divisible.settings import Settings
from tradewind.core.divisible.turn import Notice
from tradewind.model.units import MINUTE, SECOND, Duration, Time
from tradewind.sim.divisible.noise import CALM, Noise


@dataclass(frozen=True, slots=True)
class SitePlan:
    """A site: its slots are equal but for their noise."""

    name: str
    slots: int
    """That it can have."""
    speed: float
    """Iterations per second of a slot."""
    noise: tuple[Noise, ...] = (CALM,)
    """Of each slot, in turn."""
    initial: int | None = None
    """Slots at the start; None: all."""
    boot: Duration = 30 * SECOND
    """Until a slot that is asked for is there."""
    tenants: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class World:
    """Sites, jobs and chance."""

    sites: Sequence[SitePlan]
    jobs: Sequence[tuple[Time, Spec]]
    settings: Settings = Settings()  # noqa: RUF009  # frozen
    kills: Sequence[Time] = ()
    """When some running worker dies without a word."""
    outages: Sequence[tuple[Time, Time]] = ()
    """When the service does not answer; callers try again afterwards."""
    poll: Duration = 5 * SECOND
    """How often sites with free slots ask for partitions."""
    update: Duration = 30 * SECOND
    """How often sites tell how many slots they have."""
    obeys: bool = True
    """Whether sites have as many slots as the hint says, instead of all they can."""
    noticed: float = 0.5
    """Part of the dead workers that their site notices when the slot is back, and hands back what they held."""
    revival: Duration = 20 * SECOND
    """How long a slot is out of use after its worker has died."""
    until: Time = 24 * 60 * MINUTE
    """When to give up."""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Measure:
    """A report, as it was taken."""

    at: Time
    job: int
    partition: int
    site: str
    done: int
    speed: float
    """Since the last one, in iterations per second; 0 at a start."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The whole system at an instant."""

    at: Time
    active: int
    """Partitions on slots."""
    queued: int
    needed: int
    """Slots that the service asks for."""
    slots: int
    """Slots that sites have."""


@dataclass(slots=True)
class Outcome:
    """What came of a simulation."""

    jobs: list[Job] = field(default_factory=list)
    measures: list[Measure] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    killed: int = 0
    wasted: int = 0
    """Iterations done by workers that died before they had delivered them."""
    calls: int = 0
    """Of all kinds."""
    end: Time = 0
