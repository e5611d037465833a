"""The same calls over memory, SQLite and PostgreSQL: the same answers, and the same refusals."""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from store_places import DATABASES, ended_server, new_database  # noqa: F401

from tradewind.core.divisible import beat
from tradewind.core.divisible.book import MemoryBook
from tradewind.core.divisible.errors import Refused
from tradewind.core.divisible.partitions import Given
from tradewind.core.divisible.records import Spec
from tradewind.core.divisible.settings import Settings
from tradewind.core.divisible.turn import Turn
from tradewind.live.divisible import verbs
from tradewind.live.divisible.desk import Desk
from tradewind.live.divisible.open import open_session
from tradewind.model.units import SECOND

SETTINGS = Settings()


class Clock:
    def __init__(self) -> None:
        self.now = 10**15

    def __call__(self) -> int:
        return self.now


class MemoryDesk:
    def __init__(self, clock: Clock) -> None:
        self.book = MemoryBook()
        self.clock = clock

    def do(self, work: Callable[[Turn], Any]) -> Any:
        turn = Turn(self.book, SETTINGS, self.clock.now)
        if beat.is_due(turn):
            beat.beat(turn)
        return work(Turn(self.book, SETTINGS, self.clock.now))


@pytest.fixture(params=DATABASES)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "store.db") if request.param == "sqlite" else new_database()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def desk(where: str, clock: Clock) -> Iterator[Desk]:
    made = Desk(open_session(where, "relaxed", 5 * SECOND), SETTINGS, clock)
    yield made
    made.close()


def both(desk: Desk, memory: MemoryDesk, work: Callable[[Turn], Any]) -> Any:
    """What both answer, which must be the same."""
    found: list[Any] = []
    for one in (desk, memory):
        try:
            found.append(one.do(work))
        except Refused as refused:
            found.append((refused.why, str(refused)))
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize("seed", range(3))
def test_the_store_answers_as_memory_does(desk: Desk, clock: Clock, seed: int) -> None:
    random = Random(seed)
    memory = MemoryDesk(clock)
    leases: list[tuple[str, int, str]] = []
    answers: dict[tuple[str, int], Any] = {}
    both(desk, memory, lambda turn: verbs.register(turn, "a", 4, 9, ()))
    for step in range(150):
        clock.now += random.choice((0, 1, 5, 12, 60)) * SECOND
        kind = random.choices(("submit", "fetch", "work", "finish", "cancel", "show"), (3, 12, 40, 1, 0.5, 5))[0]
        if kind == "submit":
            spec = Spec(
                random.choice((5, 400)),
                tenant=random.choice("xy"),
                initial=random.randint(1, 3),
                maximum=8,
                target=random.choice((None, 300 * SECOND)),
                balancer=random.choice(("ruper", "ruper-original", "static")),
                priority=random.randint(0, 1),
                command=("a", "b"),
            )
            both(desk, memory, lambda turn, spec=spec, step=step: verbs.submit(turn, f"j{step}", spec))  # type: ignore[misc]
        elif kind == "fetch":
            new = [f"{step}-{place}" for place in range(random.randint(1, 3))]

            def fetched(turn: Turn, new: list[str] = new) -> Any:
                site, handed = verbs.fetch(turn, "a", new[0], new)
                return site, [(h.job.id, h.partition.number, h.partition.lease) for h in handed]

            leases += both(desk, memory, fetched)[1]
        elif not leases:
            continue
        elif kind == "work":
            job, number, lease = random.choice(leases[-8:])
            before = answers.get((job, number))
            if before is None:
                answer = both(desk, memory, lambda turn: verbs.start(turn, job, number, lease))  # noqa: B023
                answers[job, number] = {"done": 0, "elapsed": 0, **answer}
                continue
            ranges = before.get("ranges") or []
            done = before["done"] + sum(end - begin for begin, end in ranges)
            given = [Given(before["deliveries"] + 1, [(a, b) for a, b in ranges], "1", random.random() < 0.5)]
            elapsed = before["elapsed"] + random.randint(0, 30) * SECOND
            answer = both(
                desk,
                memory,
                lambda turn: verbs.report(turn, job, number, lease, done, elapsed, given if ranges else []),  # noqa: B023
            )
            if isinstance(answer, dict):
                answers[job, number] = {"done": done, "elapsed": elapsed, **answer}
        elif kind == "finish":
            job, number, lease = random.choice(leases)
            both(desk, memory, lambda turn: verbs.finish(turn, job, number, lease, "broken"))  # noqa: B023
        elif kind == "cancel":
            job = random.choice(leases)[0]
            both(desk, memory, lambda turn: verbs.cancel(turn, job, None))  # noqa: B023
        else:
            job, tenant = random.choice(leases)[0], random.choice((None, "x"))
            both(desk, memory, lambda turn: verbs.show(turn, job, tenant))  # noqa: B023
    assert sum(job.delivered for job in memory.book.jobs.values()) > 0


def test_a_call_that_breaks_does_not_harm_others(desk: Desk) -> None:
    def broken(turn: Turn) -> None:
        verbs.register(turn, "ghost", 1, 1, ())
        raise KeyError("a defect")

    with pytest.raises(KeyError):
        desk.do(broken)
    desk.do(lambda turn: verbs.register(turn, "a", 1, 1, ()))
    with pytest.raises(Refused):
        desk.do(lambda turn: verbs.fetch(turn, "ghost", "", []))


def test_what_was_done_is_there_for_the_next_process(where: str, clock: Clock) -> None:
    first = Desk(open_session(where, "strict", 5 * SECOND), SETTINGS, clock)
    second = Desk(open_session(where, "strict", 5 * SECOND), SETTINGS, clock)
    first.do(lambda turn: verbs.register(turn, "a", 4, 4, ()))
    second.do(lambda turn: verbs.submit(turn, "j", Spec(1000, initial=2, target=100 * SECOND)))
    _, one = first.do(lambda turn: verbs.fetch(turn, "a", "k", ["s1"]))
    _, again = second.do(lambda turn: verbs.fetch(turn, "a", "k", ["s2"]))
    assert [handed.partition.lease for handed in one] == [handed.partition.lease for handed in again] == ["s1"]
    answer = second.do(lambda turn: verbs.start(turn, "j", 0, "s1"))
    assert answer == first.do(lambda turn: verbs.start(turn, "j", 0, "s1"))
    first.close()
    second.close()


def test_leases_stand_still_while_the_service_is_down(desk: Desk, clock: Clock) -> None:
    desk.do(lambda turn: verbs.register(turn, "a", 4, 4, ()))
    desk.do(lambda turn: verbs.submit(turn, "j", Spec(1000, target=1000 * SECOND)))
    desk.do(lambda turn: verbs.fetch(turn, "a", "k", ["s"]))
    ranges = desk.do(lambda turn: verbs.start(turn, "j", 0, "s"))["ranges"]
    clock.now += 3600 * SECOND  # nobody calls for an hour
    given = [Given(1, [(begin, end) for begin, end in ranges], "0")]
    answer = desk.do(lambda turn: verbs.report(turn, "j", 0, "s", 50, 3600 * SECOND, given))
    assert answer["deliveries"] == 1
    for _ in range(60):
        clock.now += 10 * SECOND
        desk.do(lambda turn: verbs.show(turn, "j", None))  # the service is there, but the partition is not heard of
    with pytest.raises(Refused, match="fell silent"):
        desk.do(lambda turn: verbs.report(turn, "j", 0, "s", 60, 4600 * SECOND, []))


def test_a_partition_of_a_job_that_ended_before_it_started_is_told_to_stop(desk: Desk) -> None:
    desk.do(lambda turn: verbs.register(turn, "a", 4, 4, ()))
    desk.do(lambda turn: verbs.submit(turn, "j", Spec(1000, target=1000 * SECOND)))
    desk.do(lambda turn: verbs.fetch(turn, "a", "k", ["s"]))
    desk.do(lambda turn: verbs.cancel(turn, "j", None))
    assert desk.do(lambda turn: verbs.start(turn, "j", 0, "s"))["next"] == "end"
    with pytest.raises(Refused) as refused:
        desk.do(lambda turn: verbs.report(turn, "j", 0, "s", 0, SECOND, []))
    assert refused.value.why == "stale"
