"""Plays sites and workers in virtual time against the service of divisible jobs.

A worker does its iterations in order at the speed of its slot, reports when it is told to or has nothing left to do,
and delivers with each report what it has done since the last one. Calls take no time.
"""

from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import count
from random import Random
from typing import Literal, TypeAlias

from tradewind.core.divisible import beat, jobs, partitions, sites
from tradewind.core.divisible.book import MemoryBook
from tradewind.core.divisible.errors import Refused
from tradewind.core.divisible.partitions import Answer, Given
from tradewind.core.divisible.records import Job, Partition, Range
from tradewind.core.divisible.turn import Turn
from tradewind.model.units import SECOND, Duration, Time
from tradewind.sim.divisible.noise import Noise
from tradewind.sim.divisible.world import Measure, Outcome, Sample, SitePlan, World

Kind: TypeAlias = Literal["submit", "update", "poll", "wake", "kill", "revive", "boot", "beat"]

_CALLS = ("submit", "update", "poll", "wake", "beat")


@dataclass(slots=True, eq=False)
class Worker:
    """A slot at work."""

    site: "Place"
    slot: int
    job: Job
    partition: Partition
    speed: float
    noise: Noise
    started: Time
    at: Time
    """Up to when its progress is counted."""
    progress: float = 0.0
    limit: int = 0
    """Iterations that it may do by what it was told."""
    reported: int = 0
    due: Time = 0
    deliveries: int = 0
    version: int = 0


@dataclass(slots=True, eq=False)
class Place:
    """A site as it stands."""

    plan: SitePlan
    slots: int
    free: list[int] = field(default_factory=list)
    """Slots that could take a partition, as a heap."""
    busy: dict[int, Worker] = field(default_factory=dict)
    down: set[int] = field(default_factory=set)
    """Slots whose worker has died."""
    booting: int = 0
    fetches: int = 0


class Simulation:
    """One world on its way."""

    def __init__(self, world: World) -> None:
        self.book = MemoryBook()
        self.outcome = Outcome()
        self._world = world
        self._random = Random(world.seed)
        self._now: Time = 0
        self._heap: list[tuple[Time, int, Kind, object]] = []
        self._order = count()
        self._places = [self._place(plan) for plan in world.sites]
        self._open = len(world.jobs)
        self._needed: int = sum(place.slots for place in self._places)
        for at, spec in world.jobs:
            self._push(at, "submit", spec)
        for at in world.kills:
            self._push(at, "kill", None)
        for place in self._places:
            sites.register(self._turn(), place.plan.name, place.slots, place.plan.slots, place.plan.tenants)
            self._push(0, "update", place)
            self._push(1, "poll", place)
        self._push(0, "beat", None)

    def run(self) -> Outcome:
        """Until every job is over."""
        while self._heap and self._open:
            self._now, _, kind, what = heappop(self._heap)
            if self._now > self._world.until:
                break
            if kind in _CALLS and (back := self._down_until()):
                self._push(back + self._random.randrange(SECOND), kind, what)
            else:
                getattr(self, f"_{kind}")(what)
        self.outcome.jobs = list(self.book.jobs.values())
        self.outcome.end = self._now
        return self.outcome

    def _down_until(self) -> Time:
        """When the service answers again; 0: it does."""
        return next((end for begin, end in self._world.outages if begin <= self._now < end), 0)

    def _place(self, plan: SitePlan) -> Place:
        slots = plan.slots if plan.initial is None else plan.initial
        return Place(plan, slots, list(range(slots)))

    def _push(self, at: Time, kind: Kind, what: object) -> None:
        heappush(self._heap, (at, next(self._order), kind, what))

    def _turn(self) -> Turn:
        self.outcome.calls += 1
        return Turn(self.book, self._world.settings, self._now, self.outcome.notices)

    def _submit(self, spec: object) -> None:
        number = len(self.book.jobs)
        jobs.submit(self._turn(), f"job{number}", spec)  # type: ignore[arg-type]

    def _beat(self, _: object) -> None:
        beat.beat(self._turn())
        pulse = self.book.pulse()
        self._needed = pulse.need.slots if pulse else 0
        active = sum(len(place.busy) for place in self._places)
        queued = self.book.totals()[1]
        slots = sum(place.slots for place in self._places)
        self.outcome.samples.append(Sample(self._now, active, queued, self._needed, slots))
        self._push(self._now + max(SECOND // 10, min(10 * SECOND, self._world.settings.outage // 2)), "beat", None)

    def _update(self, place: Place) -> None:
        plan = place.plan
        turn = self._turn()
        site = sites.update(turn, sites.known(turn, plan.name), place.slots, plan.slots)
        if self._world.obeys:
            more = site.hint - place.slots - place.booting
            for _ in range(more):
                place.booting += 1
                self._push(self._now + plan.boot, "boot", place)
            while place.slots > site.hint and place.free:
                place.free.remove(max(place.free))
                heapify(place.free)
                place.slots -= 1
        self._push(self._now + self._world.update, "update", place)

    def _boot(self, place: Place) -> None:
        place.booting -= 1
        if place.slots < place.plan.slots:
            used = {*place.free, *place.busy, *place.down}
            place.slots += 1
            heappush(place.free, next(slot for slot in range(place.plan.slots) if slot not in used))

    def _poll(self, place: Place) -> None:
        self._fetch(place)
        self._push(self._now + self._world.poll, "poll", place)

    def _fetch(self, place: Place) -> None:
        if not place.free:
            return
        turn = self._turn()
        place.fetches += 1
        leases = [f"{place.plan.name}-{place.fetches}-{slot}" for slot in place.free]
        for job, partition in sites.fetch(turn, sites.known(turn, place.plan.name), leases[0], leases):
            slot = heappop(place.free)
            noise = place.plan.noise[slot % len(place.plan.noise)]
            worker = Worker(place, slot, job, partition, place.plan.speed, noise, self._now, self._now)
            place.busy[slot] = worker
            self._obey(worker, partitions.start(self._turn(), job, partition))
            self._note(worker, 0.0)

    def _wake(self, what: tuple[Worker, int]) -> None:
        worker, version = what
        if worker.version != version:
            return
        since = worker.at
        self._advance(worker)
        done = int(worker.progress)
        given = _first(worker.partition.held, done - worker.partition.delivered)
        one = [Given(worker.deliveries + 1, given)] if given else []
        speed = (done - worker.reported) * SECOND / (self._now - since) if self._now > since else 0.0
        try:
            elapsed = self._now - worker.started
            answer = partitions.report(self._turn(), worker.job, worker.partition, done, elapsed, one)
        except Refused:
            answer = None
        worker.deliveries += len(one)
        worker.reported = done
        self._note(worker, speed)
        if answer is None or answer.next == "end":
            partitions.finish(self._turn(), worker.job, worker.partition)
            del worker.site.busy[worker.slot]
            worker.version += 1
            heappush(worker.site.free, worker.slot)
            self._open = len(self._world.jobs) - sum(job.is_over for job in self.book.jobs.values())
            self._fetch(worker.site)
        else:
            self._obey(worker, answer)

    def _note(self, worker: Worker, speed: float) -> None:
        number, site = worker.partition.number, worker.site.plan.name
        self.outcome.measures.append(Measure(self._now, worker.job.number, number, site, worker.reported, speed))

    def _advance(self, worker: Worker) -> None:
        done = worker.noise.done(worker.speed, worker.at, self._now)
        worker.progress = min(worker.progress + done, worker.limit)
        worker.at = self._now

    def _obey(self, worker: Worker, answer: Answer) -> None:
        """Plan the next report: when told to, or as soon as nothing is left to do."""
        worker.limit = worker.partition.delivered + sum(end - begin for begin, end in answer.ranges)
        worker.version += 1
        due = self._now + answer.interval
        if answer.next == "go":
            work = worker.limit - worker.progress
            due = max(self._now + 1, worker.noise.reached(worker.speed, self._now, work, due))
            if due < self._now + answer.interval:
                due += 1
        self._push(due, "wake", (worker, worker.version))

    def _kill(self, _: object) -> None:
        workers = [worker for place in self._places for worker in place.busy.values()]
        if not workers:
            self._push(self._now + self._world.poll, "kill", None)
            return
        worker = self._random.choice(workers)
        self._advance(worker)
        self.outcome.killed += 1
        self.outcome.wasted += int(worker.progress) - worker.partition.delivered
        worker.version += 1
        del worker.site.busy[worker.slot]
        worker.site.down.add(worker.slot)
        self._push(self._now + self._world.revival, "revive", worker)

    def _revive(self, worker: Worker) -> None:
        worker.site.down.remove(worker.slot)
        if self._random.random() < self._world.noticed and not self._down_until():
            partitions.finish(self._turn(), worker.job, worker.partition)
        heappush(worker.site.free, worker.slot)


def _first(held: list[Range], many: int) -> list[Range]:
    """The first iterations of those held."""
    found: list[Range] = []
    for begin, end in held:
        if many <= 0:
            break
        found.append((begin, min(end, begin + many)))
        many -= end - begin
    return found


def simulate(world: World) -> Outcome:
    """Play a world to its end; the same world gives the same outcome."""
    return Simulation(world).run()


def lateness(job: Job) -> Duration:
    """By how much a job missed its target; negative: it ended before."""
    return 0 if job.ended is None or job.spec.target is None else job.ended - job.since - job.spec.target
