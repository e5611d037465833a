"""Kill worker processes of this process, as the paper's author killed agents."""

import os
import random
import signal
from collections.abc import Sequence
from contextlib import suppress

import psutil

from tradewind.core.log import Record, Sink
from tradewind.core.state import State
from tradewind.experiments.steep.live.settings import KILLED_BETWEEN
from tradewind.model.event import Finished

_WORKER = "tradewind.live.worker"


class Killer:
    """A killer that sends SIGKILL to a random worker each time a given number of chains has finished."""

    def __init__(self, ends: Sequence[int], seed: int) -> None:
        self._ends = sorted(ends, reverse=True)
        self._done = 0
        self._rng = random.Random(f"steep {seed} live victims")
        self.killed: list[int] = []

    def sink_for(self, _state: State) -> Sink:
        """Return the sink that watches a run."""
        return self.observe

    def observe(self, record: Record) -> None:
        """Process the next record of the log."""
        if not isinstance(record, Finished):
            return
        self._done += 1
        while self._ends and self._done >= self._ends[-1]:
            victims = [pid for pid in workers() if pid not in self.killed]
            if not victims:
                return  # try again after the next record
            self._ends.pop()
            victim = self._rng.choice(victims)
            os.kill(victim, signal.SIGKILL)
            self.killed.append(victim)


def kill_ends(chains: int, kills: int, seed: int) -> list[int]:
    """Draw after how many finished chains each agent is killed."""
    rng = random.Random(f"steep {seed} live kills")
    low, high = (round(share * chains) for share in KILLED_BETWEEN)
    return [rng.randint(low, high) for _ in range(kills)]


def workers() -> list[int]:
    """Return the worker processes started by this process through its keeper, oldest first."""
    found = []
    with suppress(psutil.NoSuchProcess):
        for keeper in psutil.Process().children():
            with suppress(psutil.NoSuchProcess):
                if _is_ours(keeper):
                    found += [(child.create_time(), child.pid) for child in keeper.children() if _is_ours(child)]
    return [pid for _, pid in sorted(found)]


def _is_ours(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE and any(_WORKER in word for word in process.cmdline())
    except psutil.NoSuchProcess:
        return False
