"""Where iterations are: every move between the pool, partitions and what is delivered goes through here.

At every instant delivered + assigned + unassigned = N for each job, and each iteration is in one place: in the pool
(never handed out, or come back), held by one live partition, or delivered.
"""

from collections.abc import Sequence

from tradewind.core.divisible import ranges
from tradewind.core.divisible.errors import Refused
from tradewind.core.divisible.records import Job, Partition, Range
from tradewind.core.divisible.turn import Turn
from tradewind.model.units import Time
from tradewind.policies.divisible.speed import Speed

MANY = 64
"""Ranges that a partition may hold; with more it waits until it has delivered some."""


def hold(turn: Turn, job: Job, partition: Partition, wanted: int) -> None:
    """Let a partition have so many iterations before it, as far as the pool goes; take back what is more."""
    more = wanted - partition.left
    if more < 0:
        back = ranges.cut(partition.held, -more)
        turn.book.put_free(job.number, back)
        partition.count += more
        job.unassigned -= more
        return
    more = min(more, job.unassigned)
    while more > 0 and len(partition.held) < MANY:
        taken = _take(turn, job, more)
        ranges.append(partition.held, taken)
        length = taken[1] - taken[0]
        more -= length
        partition.count += length
        job.unassigned -= length


def deliver(job: Job, partition: Partition, given: Sequence[Range]) -> None:
    """Count iterations of a partition as delivered."""
    left = ranges.without(partition.held, given)
    if left is None:
        raise Refused("conflict", f"partition {partition.number} does not hold {_shown(given)} of job {job.id}")
    count = ranges.size(given)
    partition.held = left
    partition.count -= count
    partition.delivered += count
    job.delivered += count
    advance(job, partition, max(partition.done, partition.delivered))


def advance(job: Job, partition: Partition, done: int) -> None:
    """Note how many iterations a partition has done so far, delivered or not."""
    job.computed += done - partition.done
    partition.done = done


def measure(job: Job, partition: Partition, speed: Speed, now: Time) -> None:
    """Note how fast a partition is, as of now."""
    if partition.speed.value <= 0 < speed.value:
        job.measured += 1
    heard = (now - job.submitted) // 1000
    job.speeds += speed.value - partition.speed.value
    job.paced += speed.value * heard - partition.speed.value * partition.heard
    partition.speed = speed
    partition.heard = heard


def give_back(turn: Turn, job: Job, partition: Partition) -> int:
    """Return all that a partition holds to the pool, and count it no more; how many iterations that are."""
    back = partition.count
    turn.book.put_free(job.number, partition.held)
    job.unassigned += back
    advance(job, partition, partition.delivered)
    job.live -= 1
    if partition.speed.value > 0:
        job.measured -= 1
        job.speeds -= partition.speed.value
        job.paced -= partition.speed.value * partition.heard
        job.silent += partition.speed.value
    partition.held = []
    partition.count = 0
    return back


def _take(turn: Turn, job: Job, most: int) -> Range:
    """A piece out of the pool: what came back goes first."""
    begin, end = turn.book.take_free(job.number) or (job.cursor, job.iterations)
    if begin == job.cursor:
        taken = (begin, min(end, begin + most))
        job.cursor = taken[1]
        return taken
    if end - begin > most:
        turn.book.put_free(job.number, [(begin + most, end)])
        end = begin + most
    return begin, end


def _shown(given: Sequence[Range]) -> str:
    return ", ".join(f"{begin} to {end}" for begin, end in given[:5])
