"""Jobs: submit, cancel, end, and what to expect of them."""

from typing import NamedTuple

from tradewind.core.divisible.errors import Refused
from tradewind.core.divisible.records import Job, Spec
from tradewind.core.divisible.turn import Turn
from tradewind.model.units import DAY, SECOND, Duration, Time, show_duration
from tradewind.policies.divisible.protocol import SPEED, Balancer, PartitionView, mean_speed, remaining
from tradewind.policies.divisible.registry import BALANCERS

FAR = 10**6 * DAY
"""When a job without a target is due."""
MOST = 10**15
"""Iterations that a job may have."""


def submit(turn: Turn, id: str, spec: Spec) -> Job:
    """Take a job; the same id and spec again gives the same job."""
    known = turn.book.job_of(id)
    if known is not None:
        if known.spec != spec:
            raise Refused("conflict", f"another job has the id {id!r}; choose another one")
        return known
    _check(spec)
    due = turn.now + spec.target if spec.target is not None else FAR
    job = Job(id, turn.book.next_number(), spec, turn.now, due)
    job.unassigned = spec.iterations
    ask_for(turn, job, min(spec.initial, spec.iterations))
    turn.book.put_job(job)
    return job


def _check(spec: Spec) -> None:
    if not 0 < spec.iterations <= MOST:
        raise Refused("invalid", f"iterations: must be 1 to {MOST:,}, not {spec.iterations}")
    if not 0 < spec.initial <= spec.maximum:
        raise Refused("invalid", f"initial: must be 1 to the maximum of {spec.maximum}, not {spec.initial}")
    if spec.target is not None and spec.target <= 0:
        raise Refused("invalid", "target: must be longer than nothing; leave it out for a job without a target")
    if spec.balancer not in BALANCERS:
        raise Refused("invalid", f"balancer: no {spec.balancer!r}; use one of {', '.join(BALANCERS)}")
    if bool(spec.reduce) != (spec.reducer in ("run", "python")):
        raise Refused("invalid", "reduce: a reducer that is run needs a command or a function, and no other has one")
    if spec.weights and (len(spec.weights) != spec.initial or min(spec.weights) <= 0):
        raise Refused("invalid", f"weights: must be {spec.initial} numbers above 0, one for each initial partition")


def ask_for(turn: Turn, job: Job, more: int) -> None:
    """Let so many more partitions wait for slots."""
    job.queued += more
    turn.pulse.created += more
    turn.book.put_pulse(turn.pulse)


def cancel(turn: Turn, job: Job, because: str = "cancelled") -> None:
    """End a job that goes on; what its partitions still deliver is refused."""
    if not job.is_over:
        end(turn, job, "cancelled", because)
        turn.book.put_job(job)


def resume(turn: Turn, job: Job) -> None:
    """Let a job that failed or was cancelled go on with what is left; what was delivered stays."""
    if job.state in ("failed", "cancelled"):
        job.state = "queued"
        job.ended = None
        job.failures = 0
        job.message = ""
        if job.delivered == job.iterations:
            complete(turn, job)
            turn.book.put_job(job)
            return
        ask_for(turn, job, max(1, min(job.initial, job.unassigned) - job.live))
        turn.book.put_job(job)


def complete(turn: Turn, job: Job) -> None:
    """All is delivered: the job is done, unless a site has to reduce the results first."""
    if job.spec.reduce:
        job.state = "reducing"
        job.queued = 0
        job.failures = 0
        ask_for(turn, job, 1)
    else:
        end(turn, job, "done", "")


def end(turn: Turn, job: Job, state: str, because: str) -> None:
    """Note that a job has ended; its partitions learn of it with their next call."""
    job.state = "done" if state == "done" else "failed" if state == "failed" else "cancelled"
    job.ended = turn.now
    job.queued = 0
    job.message = because
    turn.tell(job, state, because)


def rebalance(turn: Turn, job: Job, balancer: Balancer, partition: PartitionView | None) -> None:
    """Ask for more partitions if the job would end late, and say so when that is not enough."""
    is_waiting = job.queued > 0
    more = balancer.wanted(job, partition, turn.now)
    if more > 0:
        ask_for(turn, job, more)
        turn.tell(job, "partitions", f"{more} more, {job.live} live: {outlook(job, turn.now).words}")
    if lateness(job, turn.now) <= 0:
        job.warned = None
    elif is_waiting or job.live + job.queued >= job.maximum:
        warn(turn, job)


def warn(turn: Turn, job: Job) -> None:
    """Say that a job will miss its target, or has missed it; once, until that looks better again."""
    if job.warned is None and lateness(job, turn.now) > 0:
        job.warned = turn.now
        turn.tell(job, "late", outlook(job, turn.now).words)
        turn.book.put_job(job)


class Outlook(NamedTuple):
    """What is to be expected of a job."""

    eta: Duration | None
    """Until its end, with the partitions that live; None: nothing has been measured."""
    late: Duration
    """By how much it will miss its target; 0: it will not, or has none."""
    words: str


def lateness(job: Job, now: Time) -> Duration:
    """By how much a job will miss its target, as things are; the words for it cost more than the figure."""
    if job.is_over or job.target is None:
        return 0
    return max(0, now + _time_left(job, now) - (job.since + job.target))


def _time_left(job: Job, now: Time) -> Duration:
    """What the measured partitions need, if those that are not measured yet are like them; 0: nothing is known."""
    if job.speeds <= 0:
        return 0
    waiting = job.live - job.measured
    return remaining(job, now) * SPEED * SECOND // (job.speeds + waiting * mean_speed(job))


def outlook(job: Job, now: Time) -> Outlook:
    """When a job will end, as things are."""
    if job.is_over:
        return Outlook(None, 0, "over")
    if job.speeds <= 0:
        late = lateness(job, now)
        return Outlook(None, late, f"no speed is known{f', {show_duration(late)} after its target' if late else ''}")
    time = _time_left(job, now)
    if job.target is None:
        return Outlook(time, 0, f"ends in {show_duration(time)}")
    late = now + time - (job.since + job.target)
    if late <= 0:
        return Outlook(time, 0, f"ends in {show_duration(time)}, {show_duration(-late)} before its target")
    reason = "waits for slots" if job.queued else "has as many partitions as it may" * (job.live >= job.maximum)
    text = f"ends in {show_duration(time)}, {show_duration(late)} after its target"
    return Outlook(time, late, f"{text}: {reason}" if reason else text)
