"""A divisible step under fire, with real processes: `KILLS=1000 RESTARTS=20 pytest …` for what the benchmark does."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.divisible_kills import killed

KILLS, RESTARTS = int(os.environ.get("KILLS", "12")), int(os.environ.get("RESTARTS", "2"))


def test_each_iteration_is_delivered_once_whatever_is_killed() -> None:
    found = killed(KILLS, RESTARTS, seed=3)
    assert found["status"] == "done"
    assert (found["missing"], found["twice"], found["result"]) == (0, 0, "right")
    assert found["killed_program"] + found["killed_machine"] >= KILLS
    assert found["killed_server"] == RESTARTS
