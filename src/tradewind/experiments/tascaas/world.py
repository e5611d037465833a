"""Sites, jobs and chance for one simulation, and what came of it.

A site is a machine type that costs nothing, whose limit is the number of slots it can reach; a job is a run with one
elastic task, and its target is the deadline of the run. All figures come from the event log, but for how many slots
are wanted, which the scaler of the policy knows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from tradewind.core.log import Record
from tradewind.core.metrics import Meter
from tradewind.model.command import Acquire, Admitted, Dropped, Grown, Predicted, Start
from tradewind.model.elastic import Elastic, Range
from tradewind.model.event import Event, Progressed
from tradewind.model.machine import Billing, BootLag, MachineType
from tradewind.model.scenario import Scenario, Submission
from tradewind.model.units import HOUR, SECOND, Duration, Time
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.divisible.hint import Hint, running, waiting
from tradewind.policies.protocol import Reactive, Scaler, Scaling, View
from tradewind.policies.registry import build
from tradewind.sim.driver import Simulation
from tradewind.sim.elastic import Casualties, Slots
from tradewind.sim.noise import CALM, Noise
from tradewind.sim.troubles import NO_TROUBLES, Troubles

BEAT = 15 * SECOND // 2
"""How often the scaler is asked and the whole system is looked at."""


@dataclass(frozen=True, slots=True)
class Site:
    """A site: its slots are equal but for their noise."""

    name: str
    slots: int
    """That it can have."""
    speed: float
    """Iterations per second of a slot."""
    noise: tuple[Noise, ...] = (CALM,)
    """Of each slot, in turn."""
    boot: Duration | None = None
    """Until a slot that is asked for is there; None: all slots are there as long as there is any work."""


@dataclass(frozen=True, slots=True)
class Job:
    """A divisible job."""

    iterations: int
    target: Duration
    initial: int = 1
    maximum: int = 1_000
    balancer: str = ""
    weights: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class World:
    """All that a simulation starts from."""

    sites: Sequence[Site]
    jobs: Sequence[tuple[Time, Job]]
    policy: str = "tascaas"
    troubles: Troubles = NO_TROUBLES
    seed: int = 0
    slots: int = 1
    """That are wanted at first."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A report, as it was received."""

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
    """Shares on slots."""
    queued: int
    needed: int
    """Slots that the policy asks for."""
    slots: int
    """Slots that there are."""


@dataclass(slots=True)
class Ran:
    """What became of a job."""

    number: int
    job: Job
    submitted: Time = 0
    ended: Time | None = None
    status: str = "running"
    made: int = 0
    """Shares that were started."""
    rounds: int = 0
    """Times that it asked for more."""
    is_warned: bool = False
    """Whether it was predicted to be late."""
    deliveries: list[Range] = field(default_factory=list)

    @property
    def lateness(self) -> Duration:
        """By how much it missed its target; negative: it ended before."""
        return 0 if self.ended is None else self.ended - self.submitted - self.job.target

    @property
    def relative(self) -> float:
        """The same as a part of the target; a job that did not end counts as late by all of it."""
        return self.lateness / self.job.target if self.status == "done" else 1.0


@dataclass(slots=True)
class Outcome:
    """What came of a simulation."""

    jobs: list[Ran]
    measures: list[Measure] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    events: int = 0
    """That the core handled."""
    casualties: Casualties = field(default_factory=Casualties)
    end: Time = 0


def play(world: World) -> Outcome:
    """Play a world to its end; the same world gives the same outcome."""
    types = tuple(_type(site) for site in world.sites)
    scenario = Scenario((), types, policy=world.policy, interval=BEAT, seed=world.seed)
    submissions = [Submission(at, _workflow(job, world.sites)) for at, job in world.jobs]
    watch = _Watch(world)
    policy = build(world.policy, {"slots": world.slots})
    policy = replace(policy, scaler=_Sampled(policy.scaler, watch.outcome.samples))
    pace = Slots({site.name: site.noise for site in world.sites})
    simulation = Simulation(scenario, submissions, policy, pace=pace, troubles=world.troubles)
    meter = Meter(simulation.state.all_pools, simulation.state.kinds)

    def sink(record: Record) -> None:
        meter.observe(record)
        watch.observe(record)

    simulation.run(sink)
    watch.outcome.casualties = simulation.shares.casualties
    return watch.finish(meter)


def _type(site: Site) -> MachineType:
    is_kept = site.boot is None
    return MachineType(
        site.name,
        billing=Billing(HOUR),
        boot=BootLag(site.boot or 0),
        limit=site.slots,
        keep=site.slots if is_kept else 0,
    )


def _workflow(job: Job, sites: Sequence[Site]) -> Workflow:
    times = {site.name: round(job.iterations / site.speed * SECOND) for site in sites}
    elastic = Elastic(
        job.iterations, initial=job.initial, maximum=job.maximum, balancer=job.balancer, weights=job.weights
    )
    return Workflow("job", (Task("job", "job", runtimes=times, elastic=elastic),), ((),), deadline=job.target)


class _Sampled:
    """Looks at the whole system at each beat, after the scaler has decided."""

    on_arrival = True

    def __init__(self, scaler: Scaler, samples: list[Sample]) -> None:
        self._scaler = scaler
        self._samples = samples
        self.pace = scaler.pace if isinstance(scaler, Reactive) else BEAT

    def scale(self, view: View) -> Iterator[Scaling]:
        """Decide as the scaler does."""
        yield from self._scaler.scale(view)
        if view.now % BEAT == 0:
            hint: Hint = self._scaler.hint  # type: ignore[attr-defined]  # only policies with a hint are studied here
            held = [machine for pool in view.pools() for fleet in pool.fleets for machine in fleet.machines.values()]
            active, queued = sum(map(running, view.pools())), sum(map(waiting, view.pools()))
            slots = sum(machine.is_up for machine in held)
            self._samples.append(Sample(view.now, active, queued, hint.need.slots, slots))


class _Watch:
    """Follows the event log."""

    def __init__(self, world: World) -> None:
        self._sites = [site.name for site in world.sites]
        self.outcome = Outcome([Ran(number, job) for number, (_, job) in enumerate(world.jobs)])
        self._owners: dict[int, int] = {}
        """Run of each unit."""
        self._kinds: dict[int, int] = {}
        self._shares: dict[tuple[int, int], tuple[int, Measure]] = {}
        """By unit and attempt: number of the share, and its last report."""
        self._deliveries: dict[tuple[int, int], int] = {}
        self._given: tuple[int, int, tuple[Range, ...]] | None = None
        """The last delivery, until it is known not to be dropped: event, run and ranges."""

    def observe(self, record: Record) -> None:
        """Take the next record."""
        if isinstance(record, Event):
            self._settle()
            self.outcome.events += 1
        if isinstance(record, Progressed):
            self._progressed(record)
        elif isinstance(record, Start):
            self._started(record)
        elif isinstance(record, Admitted | Grown):
            self._owners |= dict.fromkeys(range(record.first, record.first + record.tasks), record.run)
            self.outcome.jobs[record.run].rounds += isinstance(record, Grown)
        elif isinstance(record, Acquire):
            self._kinds[record.machine] = record.kind
        elif isinstance(record, Predicted):
            self.outcome.jobs[record.run].is_warned |= record.slack is not None and record.slack < 0
        elif isinstance(record, Dropped) and self._given is not None and self._given[0] == record.cause:
            self._given = None

    def _started(self, record: Start) -> None:
        run, site = self._owners[record.unit], self._sites[self._kinds[record.machine]]
        ran = self.outcome.jobs[run]
        first = Measure(record.at, run, ran.made, site, 0, 0.0)
        self._shares[record.unit, record.attempt] = ran.made, first
        self.outcome.measures.append(first)
        ran.made += 1

    def _progressed(self, record: Progressed) -> None:
        key = record.unit, record.attempt
        number, last = self._shares[key]
        time = record.at - last.at
        speed = (record.done - last.done) * SECOND / time if time > 0 else 0.0
        measure = Measure(record.at, last.job, number, last.site, record.done, speed)
        self._shares[key] = number, measure
        self.outcome.measures.append(measure)
        known = self._deliveries.get(key, 0)
        new = tuple(piece for number, ranges in record.deliveries if number > known for piece in ranges)
        if new:
            self._deliveries[key] = record.deliveries[-1].number
            self._given = record.seq, last.job, new

    def _settle(self) -> None:
        if self._given is not None:
            self.outcome.jobs[self._given[1]].deliveries += self._given[2]
            self._given = None

    def finish(self, meter: Meter) -> Outcome:
        """Take what became of each run from the metrics."""
        self._settle()
        for ran, run in zip(self.outcome.jobs, meter.runs, strict=True):
            ran.submitted, ran.ended, ran.status = run.submitted, run.ended, run.status
            ran.rounds -= 1  # the first shares are not asked for
        self.outcome.end = meter.end
        return self.outcome


def counted(ran: Ran) -> tuple[int, int, int]:
    """How many iterations were delivered, how many twice, and how many are missing, by the log alone."""
    delivered = twice = missing = reached = 0
    for begin, end in sorted(ran.deliveries):
        delivered += end - begin
        twice += max(0, min(end, reached) - begin)
        missing += max(0, begin - reached)
        reached = max(reached, end)
    return delivered, twice, missing + ran.job.iterations - reached


def measures_of(outcome: Outcome, ran: Ran) -> dict[int, list[Measure]]:
    """The reports of a job, by share."""
    found: dict[int, list[Measure]] = {}
    for measure in outcome.measures:
        if measure.job == ran.number:
            found.setdefault(measure.partition, []).append(measure)
    return found
