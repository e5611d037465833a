"""What came back to a job, over transactions: as from a heap in memory; and what a report asks of the store."""

from collections.abc import Iterator
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tradewind.core.divisible.partitions import Given
from tradewind.core.divisible.records import Range, Spec
from tradewind.core.divisible.settings import Settings
from tradewind.live.divisible import free, verbs
from tradewind.live.divisible import statements as sql
from tradewind.live.divisible.desk import Desk
from tradewind.live.divisible.free import Free
from tradewind.live.divisible.open import open_session
from tradewind.live.store.sql import Session
from tradewind.model.units import SECOND


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.setattr(free, "_PAGE", 2)
    made = open_session(str(tmp_path / "store.db"), "relaxed", 5 * SECOND)
    yield made
    made.close()


MOVES = st.lists(st.lists(st.one_of(st.none(), st.integers(0, 30)), max_size=8), max_size=8)
"""Transactions: take the first range, or put back the one that begins at ten times a number, if it is out."""


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(transactions=MOVES)
def test_ranges_come_out_as_from_a_heap(session: Session, transactions: list[list[int | None]]) -> None:
    session.transact(lambda: session.change("DELETE FROM free_ranges"))
    heap: list[Range] = []
    for moves in transactions:

        def work(moves: list[int | None] = moves) -> None:
            pool = Free(session, 0)
            for move in moves:
                if move is None:
                    assert pool.take() == (heappop(heap) if heap else None)
                elif all(begin != 10 * move for begin, _ in heap):
                    heappush(heap, (10 * move, 10 * move + 1 + len(heap) % 9))
                    pool.put([next(each for each in heap if each[0] == 10 * move)])
            pool.write()

        session.transact(work)
        rows = session.fetch(sql.FREE_AFTER, job=0, after=-1, limit=100)
        assert [tuple(row) for row in rows] == sorted(heap)


class Counting:
    """A session that counts what is asked of it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.count = 0

    def __getattr__(self, name: str) -> Any:
        self.count += name in ("fetch", "change", "write")
        return getattr(self._session, name)


def test_a_report_asks_the_same_of_the_store_however_many_partitions_there_are(tmp_path: Path) -> None:
    found = []
    for partitions in (2, 300):
        counting: Any = Counting(open_session(str(tmp_path / f"{partitions}.db"), "relaxed", 5 * SECOND))
        now = 10**15
        desk = Desk(counting, Settings(), lambda: now)  # noqa: B023
        desk.do(lambda turn: verbs.register(turn, "a", 300, 300, ()))
        spec = Spec(10**9, initial=partitions, maximum=partitions, target=1000 * SECOND)
        desk.do(lambda turn, spec=spec: verbs.submit(turn, "j", spec))  # type: ignore[misc]
        leases = [f"s{place}" for place in range(partitions)]
        desk.do(lambda turn, leases=leases: verbs.fetch(turn, "a", "k", leases))  # type: ignore[misc]
        told: Any = {}
        for place, lease in enumerate(leases):
            told = desk.do(lambda turn, place=place, lease=lease: verbs.start(turn, "j", place, lease))  # type: ignore[misc]
        begin = told["ranges"][0][0]
        last, results = partitions - 1, [Given(1, [(begin, begin + 9)], "1")]
        before = counting.count
        desk.do(lambda turn: verbs.report(turn, "j", last, f"s{last}", 9, SECOND, results))  # noqa: B023
        found.append(counting.count - before)
        desk.close()
    assert found[0] == found[1]
    assert found[0] <= 8
