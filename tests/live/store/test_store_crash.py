"""A process killed at any instant leaves what it had saved, and never half a batch."""

import random
import signal
import sys
from pathlib import Path
from subprocess import PIPE, Popen
from time import sleep

import pytest
from store_places import DATABASES, ended_server, place  # noqa: F401
from store_samples import crash_batch

from tradewind.live.store.memory import MemoryStore
from tradewind.live.store.port import Store

CHILD = Path(__file__).with_name("store_child.py")
KILLS = {"sqlite": 8, "postgres": 2}


@pytest.mark.parametrize("kind", DATABASES)
def test_what_was_saved_survives_a_kill_at_any_instant(kind: str, tmp_path: Path) -> None:
    chance = random.Random(5)
    model = MemoryStore()
    known = -1
    with place(kind, tmp_path) as made:
        for _ in range(KILLS[kind]):
            told = _killed_after(chance.uniform(0, 0.15), made.where)
            store = made.open()
            last = store.load().notes.get("batch", -1)
            assert last in (told, told + 1) if told >= 0 else last in (known, known + 1)
            for number in range(known + 1, last + 1):
                model.save(crash_batch(number))
            known = last
            _assert_same(store, model)
            store.close()
    assert known > 0


def _killed_after(seconds: float, where: str) -> int:
    """The last batch of which a child said that it was saved, or -1, when killed some time after it was ready."""
    with Popen([sys.executable, str(CHILD), where], stdout=PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        sleep(seconds)
        child.send_signal(signal.SIGKILL)
        told = [line for line in child.stdout.read().split("\n")[:-1] if line]
    return int(told[-1]) if told else -1


def _assert_same(store: Store, model: Store) -> None:
    assert store.load() == model.load()
    assert store.runs(limit=1_000_000) == model.runs(limit=1_000_000)
    assert list(store.log()) == list(model.log())
