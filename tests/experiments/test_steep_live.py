"""The capability paper's experiments with real processes, in small."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tradewind.experiments.steep.live.judge import faults, is_sound, judge_live
from tradewind.experiments.steep.live.killer import Killer, kill_ends, workers
from tradewind.experiments.steep.live.settings import FULL_LIVE, QUICK_LIVE, LiveExtent, Reduced
from tradewind.experiments.steep.live.study import LiveStudy
from tradewind.experiments.steep.live.world import Seen, from_start, run_live, sleeping
from tradewind.experiments.steep.settings import DYNAMIC, FAULTS, NEW, OLD, SETUPS, STATIC
from tradewind.model.event import Finished
from tradewind.model.units import SECOND
from tradewind.pictures.lanes import Bar, Lane

SMALL = Reduced(replace(STATIC, chains=32), 1_000)
COMMAND = [sys.executable, "-m", "tradewind", "reproduce", "steep", "--quick"]


def test_chains_sleep_as_long_as_they_would_run_divided_by_the_pace() -> None:
    (task, *_), slow = sleeping(SMALL, 0).tasks, sleeping(Reduced(SMALL.trial, 1), 0).tasks[0]
    assert task.runtime == (slow.runtime or 0) // 1_000
    assert task.command == f"echo $PPID; exec sleep {(task.runtime or 0) / SECOND:.3f}"


@pytest.mark.parametrize("extent", [FULL_LIVE, QUICK_LIVE], ids=["full", "quick"])
def test_the_sizes_are_those_of_the_issue(extent: LiveExtent) -> None:
    assert [each.trial.chains for each in (extent.static, extent.dynamic, extent.faults)] == [100, 1_000, 1_000]
    assert extent.faults.trial.kills == 8
    assert extent.static.boot == 0
    assert extent.dynamic.boot > extent.dynamic.interval


@pytest.mark.parametrize("policy", [NEW, OLD])
def test_all_chains_run_once_on_processes_that_are_the_right_agents(policy: str) -> None:
    seen = run_live(SMALL, policy, 0)
    assert is_sound(seen)
    assert sorted(lane.kind for lane in seen.lanes) == sorted(
        name for name, number in SETUPS.items() for _ in range(number)
    )
    assert 4 < seen.processes <= 8
    assert min(bar.begin for lane in seen.lanes for bar in lane.bars) == 0


def test_agents_are_created_on_demand_and_again_when_they_are_killed() -> None:
    seen = run_live(Reduced(replace(FAULTS, chains=60, agents=DYNAMIC.agents, kills=2), 250), NEW, 1)
    assert is_sound(seen)
    assert seen.killed == sum(lane.is_lost for lane in seen.lanes) == 2
    assert {lane.kind for lane in seen.lanes if not lane.is_lost} >= {"R1", "R2", "R3", "R4"}
    assert not workers(), "nothing is left"


def test_agents_are_killed_as_chains_end() -> None:
    ends = kill_ends(1_000, 8, 0)
    assert len(ends) == 8
    assert all(150 <= end <= 650 for end in ends)
    killer = Killer([2], 0)
    killer.observe(Finished(0, 0, 1, 1, 1))
    killer.observe(Finished(0, 0, 2, 1, 1))
    assert killer.killed == [], "without workers there is nobody to kill"


def lane(kind: str, *bars: Bar, is_lost: bool = False) -> Lane:
    return Lane(0, kind, 5, 6, None, is_lost, list(bars))


def test_times_count_from_the_first_chain() -> None:
    (moved,) = from_start([lane("R1", Bar(10, 30, "R1"))])
    assert (moved.acquired, moved.up, moved.gone, moved.bars) == (-5, -4, None, [Bar(0, 20, "R1")])


def seen(*lanes: Lane, recorded: int = 1, are_apart: bool = True, killed: int = 0) -> Seen:
    return Seen(1, lanes, recorded, 1, are_apart, killed)


def test_a_run_is_sound_if_each_chain_is_done_once_on_the_right_agent() -> None:
    right = lane("R3+R4", Bar(0, SECOND, "R3"))
    assert is_sound(seen(right))
    assert not is_sound(seen(right, recorded=0))
    assert not is_sound(seen(right, are_apart=False))
    assert not is_sound(seen(lane("R1", Bar(0, SECOND, "R3"))))
    assert not is_sound(seen(right, right)), "done twice"


def test_claims_need_all_agents_and_all_kills() -> None:
    right = lane("R3+R4", Bar(0, SECOND, "R3"))
    idle = [lane("R1") for _ in range(7)]
    pair = (seen(right, *idle), seen(right, *idle))
    assert [claim.holds for claim in judge_live(LiveStudy(pair, (seen(right), seen(right)), seen(right)))] == [
        True,
        False,
        False,
    ]
    every = [Bar(0, SECOND, name) for name in ("R1", "R2", "R3", "R4")]
    lanes = [lane(bar.what, bar) for bar in every] + [lane("R1", is_lost=True) for _ in range(8)]
    whole = Seen(4, lanes, 4, 4, are_apart=True, killed=8)
    assert faults(whole).holds
    assert not faults(replace(whole, killed=7)).holds


def test_ctrl_c_leaves_neither_processes_nor_files(tmp_path: Path) -> None:
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    child = subprocess.Popen(
        [*COMMAND, "--live-only", "--out", str(tmp_path / "out")], env=environment, stderr=subprocess.DEVNULL
    )
    ours = psutil.Process(child.pid)
    deadline = time.monotonic() + 30
    while len(ours.children(recursive=True)) < 6:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    started = ours.children(recursive=True)
    child.send_signal(signal.SIGINT)
    assert child.wait(20) == 130
    assert not [process for process in started if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]
    assert not list(tmp_path.glob("tradewind-steep-*"))
