"""Partitions: start, report, deliver, finish. Late and repeated calls change nothing."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from tradewind.core.divisible import jobs, ledger, sites, urgency
from tradewind.core.divisible.errors import Refused, Why
from tradewind.core.divisible.records import Delivery, Job, Partition, Range
from tradewind.core.divisible.turn import Turn
from tradewind.model.units import Duration
from tradewind.policies.divisible.protocol import MEAN, eta, typical_speed
from tradewind.policies.divisible.speed import moved

Next: TypeAlias = Literal["go", "wait", "end"]

REDUCTIONS = 3
"""Times that results are reduced before a job fails of it."""
_WAITS = 4
"""A partition without work asks again after this part of its report interval."""


class Answer(NamedTuple):
    """What a partition is to do."""

    next: Next
    """`go` on with its ranges, `wait` and report again, or `end`: deliver what is left, and finish."""
    ranges: tuple[Range, ...]
    """All that it holds and has not delivered, in the order in which it is to be done."""
    interval: Duration
    """When to report again; at once when the ranges are done."""
    deliveries: int
    """How many of its deliveries have arrived."""


class Given(NamedTuple):
    """A delivery as it comes in."""

    number: int
    ranges: Sequence[Range]
    result: str = ""
    is_checkpoint: bool = False


def opened(turn: Turn, number: int, partition: int, lease: str, site: str | None = None) -> tuple[Job, Partition]:
    """The records behind a call; refused without the secret of the lease."""
    job = turn.job(number)
    found = turn.book.partition(number, partition)
    if found is None or found.lease != lease or (site is not None and found.site != site):
        raise Refused("unknown", f"job {job.id} has no such partition, or the lease is not this one")
    return job, found


def start(turn: Turn, job: Job, partition: Partition) -> Answer:
    """Begin; again: the same answer."""
    if partition.state == "leased" and job.state == "reducing":
        partition.state = "running"
        partition.started = turn.now
        _renew(turn, partition)
        _put(turn, job, partition)
    elif partition.state == "leased" and not job.is_over:
        partition.state = "running"
        partition.started = turn.now
        if job.started is None:
            job.started = turn.now
            if job.spec.is_from_start and job.spec.target is not None:
                job.due = turn.now + job.spec.target
        job.state = "running"
        balancer = turn.balancer(job)
        partition.interval = urgency.hurried(turn, balancer.interval(job, None, 0.0))
        ledger.hold(turn, job, partition, balancer.share(job, partition, turn.now))
        _renew(turn, partition)
        _put(turn, job, partition)
    return _answer(turn, job, partition)


def report(
    turn: Turn, job: Job, partition: Partition, done: int, elapsed: Duration, given: Sequence[Given] = ()
) -> Answer:
    """Take how far a partition has come, `done` and `elapsed` since its start, and what it delivers with that.

    A report that is not later than one before, by the worker's own clock, says nothing new.
    """
    _check_live(partition, job)
    is_leaving = False
    for one in given:
        deliver(turn, job, partition, one)
    if elapsed > partition.elapsed and not job.is_over and job.state != "reducing":
        if done > partition.delivered + partition.count:
            raise Refused("conflict", f"partition {partition.number} holds fewer than the {done} iterations it did")
        balancer = turn.balancer(job)
        before = partition.speed
        done = max(done, partition.done)
        speed = before
        if done > partition.told or partition.left > 0:  # one that waited has no speed
            speed = balancer.measure(before, done - partition.told, elapsed - partition.elapsed)
            partition.reports += 1
            partition.interval = urgency.hurried(turn, balancer.interval(job, partition, moved(before, speed)))
        if before.value <= 0 < speed.value:
            job.rated += partition.rating
        ledger.measure(job, partition, speed, turn.now)
        ledger.advance(job, partition, done)
        partition.told = done
        partition.elapsed = elapsed
        jobs.rebalance(turn, job, balancer, partition)
        is_leaving = urgency.hands_over(turn, job, partition)
        ledger.hold(turn, job, partition, 0 if is_leaving else balancer.share(job, partition, turn.now))
    _renew(turn, partition)
    _put(turn, job, partition)
    answer = _answer(turn, job, partition)
    return answer._replace(next="end") if is_leaving else answer


def deliver(turn: Turn, job: Job, partition: Partition, given: Given) -> None:
    """Take results of iterations that a partition holds; one that has arrived before changes nothing."""
    _check_live(partition, job)
    if given.number <= partition.deliveries:
        return
    if given.number != partition.deliveries + 1:
        raise Refused("conflict", f"delivery {partition.deliveries + 1} must come before delivery {given.number}")
    if job.is_over:
        raise Refused("stale", f"job {job.id} is over ({job.state}); nothing more is taken")
    ledger.deliver(job, partition, given.ranges)
    partition.deliveries = given.number
    job.failures = 0
    turn.book.put_delivery(
        Delivery(
            job.number,
            partition.number,
            given.number,
            turn.now,
            tuple(given.ranges),
            given.is_checkpoint,
            given.result,
        )
    )
    if given.is_checkpoint:
        turn.book.void_delivery(job.number, partition.number, given.number - 1)
    if job.delivered == job.iterations:
        jobs.complete(turn, job)
    _put(turn, job, partition)


def finish(turn: Turn, job: Job, partition: Partition, failure: str = "") -> None:
    """End a partition of its own will; what it holds goes back. With a failure, that is counted against the job."""
    if not partition.is_live:
        return
    if failure and not job.is_over:
        job.failures += 1
        turn.tell(job, "failure", f"partition {partition.number}: {failure}")
        if job.state == "reducing" and job.failures >= min(REDUCTIONS, turn.settings.failures):
            jobs.end(turn, job, "failed", f"the reducer failed {job.failures} times; the last time: {failure}")
        elif job.failures >= turn.settings.failures:
            jobs.end(turn, job, "failed", f"{job.failures} partitions failed in a row; the last one: {failure}")
    leave(turn, job, partition, "finished")


def check_reducing(job: Job, partition: Partition) -> None:
    """Refuse whoever is not, or no longer, to reduce the results of a job."""
    _check_live(partition, job)
    if job.state != "reducing" or partition.number != job.reducing:
        raise Refused("stale", f"partition {partition.number} is not to reduce the results of job {job.id}")


def reduced(turn: Turn, job: Job, partition: Partition) -> None:
    """The results have been reduced: the job is done; told again, nothing changes."""
    if job.state == "done" and partition.number == job.reducing:
        return
    check_reducing(job, partition)
    jobs.end(turn, job, "done", "")
    leave(turn, job, partition, "finished")


def lose(turn: Turn, partition: Partition) -> None:
    """Take back what a silent partition holds."""
    job = turn.job(partition.job)
    job.lost += 1
    turn.tell(job, "lost", f"partition {partition.number} of {partition.site} fell silent")
    leave(turn, job, partition, "lost")


def leave(turn: Turn, job: Job, partition: Partition, state: Literal["finished", "lost"]) -> None:
    """Let a partition go, and have another one take its place if it left work behind."""
    site = turn.book.site(partition.site)
    if site is not None:
        site.running = max(0, site.running - 1)
        if partition.speed.value > 0 and job.measured > 1:
            sites.rate(site, partition.speed.value * MEAN // max(1, typical_speed(job)))
        turn.book.put_site(site)
    tenant = turn.book.tenant(job.spec.tenant)
    tenant.running = max(0, tenant.running - 1)
    turn.book.put_tenant(tenant)
    back = ledger.give_back(turn, job, partition)
    partition.state = state
    if job.state == "reducing":
        if partition.number == job.reducing:
            job.reducing = -1
            jobs.ask_for(turn, job, 1)
    elif not job.is_over and (back or (job.unassigned and job.live == 0)) and job.live + job.queued < job.maximum:
        jobs.ask_for(turn, job, 1)
    _put(turn, job, partition)


def _check_live(partition: Partition, job: Job) -> None:
    if partition.state in ("finished", "lost"):
        reason = "fell silent for too long" if partition.state == "lost" else "has finished"
        raise Refused("stale", f"partition {partition.number} of job {job.id} {reason}; what it held went back")
    if partition.state == "leased":
        why: Why = "stale" if job.is_over else "conflict"
        raise Refused(why, f"partition {partition.number} of job {job.id} has not started")


def _renew(turn: Turn, partition: Partition) -> None:
    partition.until = turn.service_time + partition.interval + max(turn.settings.silence, partition.interval // 4)


def _put(turn: Turn, job: Job, partition: Partition) -> None:
    turn.book.put_partition(partition)
    turn.book.put_job(job)


def _answer(turn: Turn, job: Job, partition: Partition) -> Answer:
    interval = partition.interval
    if job.is_over or not partition.is_live:
        return Answer("end", (), interval, partition.deliveries)
    if job.state == "reducing":
        return Answer("wait" if partition.number == job.reducing else "end", (), interval, partition.deliveries)
    held = tuple(partition.held)
    if partition.left > 0:
        return Answer("go", held, interval, partition.deliveries)
    time = eta(job, turn.now)
    if job.spec.target is None or job.spec.balancer == "static" or (time is not None and time < interval):
        return Answer("end", held, interval, partition.deliveries)
    return Answer("wait", held, max(turn.settings.floor // 10, interval // _WAITS), partition.deliveries)
