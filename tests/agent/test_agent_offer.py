"""What an agent offers: more as soon as it is wanted, less after a calm, and never what is busy."""

import asyncio
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tradewind.agent.control_plane import Backoff
from tradewind.agent.offer import CALM, Hook, Offer, Slots


def slots(now: int, limit: int) -> Slots:
    return Slots(limit, set(range(now)), since=0.0)


def test_more_machines_are_offered_at_once_and_fewer_after_a_calm() -> None:
    offered = slots(2, 8)
    assert offered.follow(5, (), 1.0) == set()
    assert offered.now == {0, 1, 2, 3, 4}
    assert offered.follow(2, (), 2.0) == set()
    assert offered.follow(2, (), CALM) == set()
    assert offered.follow(2, (), CALM + 1.0) == {2, 3, 4}
    assert offered.now == {0, 1}


def test_without_a_hint_everything_stays() -> None:
    offered = slots(3, 8)
    assert offered.follow(None, (), 10 * CALM) == set()
    assert offered.now == {0, 1, 2}


@given(
    hints=st.lists(st.tuples(st.integers(0, 20), st.floats(0, 2 * CALM)), max_size=20),
    busy=st.sets(st.integers(0, 3), max_size=4),
)
def test_busy_machines_are_kept_and_the_limit_holds(hints: list[tuple[int, float]], busy: set[int]) -> None:
    offered = slots(4, 8)
    at = 0.0
    for hint, later in hints:
        at += later
        before = set(offered.now)
        gone = offered.follow(hint, busy, at)
        assert not gone & busy
        assert 1 <= len(offered.now) <= 8
        assert offered.now >= busy
        assert offered.now >= before - gone
        assert len(offered.now) >= min(hint, 8)


def test_the_whole_host_is_one_machine() -> None:
    offer = Offer()
    assert offer.limit == 1
    machine = offer.machine()
    assert machine["slots"] == machine["amounts"]["cpus"] >= 1
    assert machine["amounts"]["memory"] > 0


def test_a_slot_offers_what_it_was_given() -> None:
    offer = Offer(slots=2, most=5, cpus=3, memory=10, provides=("gpu", "a"), price=7, speed=2.0)
    assert offer.limit == 5
    assert offer.machine() == {
        "slots": 1,
        "amounts": {"cpus": 3, "memory": 10},
        "capabilities": ["a", "gpu"],
        "price": 7,
        "period": 60.0,
        "speed": 2.0,
    }


def test_a_hook_is_called_once_at_a_time_with_the_last_number(tmp_path: Path) -> None:
    program = tmp_path / "hook"
    program.write_text(
        f"#!{sys.executable}\nimport os, sys, time\nopen('{tmp_path}/told', 'a').write(sys.argv[1] + os.environ"
        f"['TRADEWIND_SLOTS'] + ' ')\nwhile not os.path.exists('{tmp_path}/go'): time.sleep(0.01)\n"
    )
    program.chmod(0o700)

    async def play() -> None:
        hook = Hook(str(program), print, 1)
        hook.tell(1)
        hook.tell(2)
        while not (tmp_path / "told").exists():
            await asyncio.sleep(0.01)
        hook.tell(3)
        hook.tell(4)
        (tmp_path / "go").touch()
        assert hook._task is not None
        await hook._task

    asyncio.run(play())
    assert (tmp_path / "told").read_text() == "22 44 "


def test_a_hook_that_cannot_be_run_is_told(tmp_path: Path) -> None:
    said: list[str] = []

    async def play() -> None:
        Hook(str(tmp_path / "none"), said.append, 1).tell(2)
        while not said:
            await asyncio.sleep(0.01)

    asyncio.run(play())
    assert "cannot be run" in said[0]


@given(st.integers(2, 50))
def test_pauses_begin_with_none_and_are_bounded(tries: int) -> None:
    backoff = Backoff(longest=15.0)
    pauses = [backoff.pause() for _ in range(tries)]
    assert pauses[0] == 0.0
    assert all(0.25 <= pause <= 15.0 for pause in pauses[1:])
    backoff.reset()
    assert backoff.pause() == 0.0
