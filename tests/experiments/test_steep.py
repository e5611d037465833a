"""The capability paper's experiments: their set-up, how they are measured, and a whole reproduction in small."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tradewind.experiments.request import Request
from tradewind.experiments.steep.judge import clock, gains
from tradewind.experiments.steep.live.settings import LiveExtent, Reduced
from tradewind.experiments.steep.measure import done, finish_spread, length_of, longest_gap, longest_without
from tradewind.experiments.steep.reproduce import reproduce
from tradewind.experiments.steep.run import Pair, run_faults
from tradewind.experiments.steep.settings import (
    BASELINE,
    DYNAMIC,
    FAULTS,
    NEW,
    OLD,
    QUICK,
    READINGS,
    SETUPS,
    STATIC,
    Extent,
    Reading,
    start_of,
)
from tradewind.experiments.steep.workload import chains
from tradewind.experiments.steep.world import simulate
from tradewind.model.units import MINUTE, SECOND
from tradewind.pictures.lanes import Bar, Lane

START = start_of(BASELINE)
TINY_LIVE = LiveExtent(
    Reduced(replace(STATIC, chains=24), 2_000),
    Reduced(replace(DYNAMIC, chains=40), 500),
    Reduced(replace(FAULTS, chains=40, kills=1), 500),
)
TINY = Extent((2, 1), replace(QUICK.scale, chains=960, agents=(("R1", 2),), per_vm=2), READINGS[:2])


def required(reading: Reading, count: int = 100) -> Counter[str]:
    return Counter(task.name for task in chains(replace(STATIC, chains=count), reading, 0).tasks)


def test_shares_are_equal_unless_a_reading_says_otherwise() -> None:
    by_name = {reading.name: reading for reading in READINGS}
    assert required(BASELINE) == {"R1": 25, "R2": 25, "R3": 25, "R4": 25}
    assert required(by_name["a fifth for each VM setup"]) == {"R1": 20, "R2": 20, "R3": 30, "R4": 30}
    assert sum(required(by_name["shares drawn at random"]).values()) == 100


@pytest.mark.parametrize("reading", READINGS, ids=lambda reading: reading.name)
def test_run_times_have_the_mean_that_a_reading_says(reading: Reading) -> None:
    tasks = chains(replace(STATIC, chains=20_000), reading, 0).tasks
    mean = sum(task.runtime or 0 for task in tasks) / len(tasks)
    assert mean == pytest.approx(STATIC.mean * reading.scale, rel=0.03)


def test_experiment_1_begins_with_all_agents_up_and_creates_none() -> None:
    lanes = simulate(STATIC, BASELINE, NEW, 0)
    assert Counter(lane.kind for lane in lanes) == SETUPS
    assert all((lane.up or 0) <= START for lane in lanes)
    assert [lane.bars[1 if lane.machine == 0 else 0].begin for lane in lanes] == [START] * 8, "after the warm-up"
    assert done(lanes, START) == 100


def test_experiment_2_creates_agents_in_the_order_of_the_paper() -> None:
    """Four at about minute 3, one between 3 and 4, and the other two around 6."""
    lanes = simulate(DYNAMIC, BASELINE, NEW, 0)
    ups = sorted(((lane.up or 0) - START) / MINUTE for lane in lanes if lane.acquired >= START)
    assert ups[:4] == pytest.approx([2.92] * 4, abs=0.01)
    assert 3 < ups[4] < 4
    assert all(5.5 < up < 7 for up in ups[5:])
    assert Counter(lane.kind for lane in lanes) == SETUPS


def test_the_old_heuristic_leaves_the_agent_for_r3_idle_early() -> None:
    """Section 7.1: agents that offer both take R3 first."""
    new, old = (simulate(STATIC, BASELINE, policy, 0) for policy in (NEW, OLD))
    (only_r3,) = (lane for lane in old if lane.kind == "R3")
    assert only_r3.bars[-1].end - START < 0.75 * length_of(old, START).whole
    for lane in (lane for lane in old if lane.kind == "R3+R4"):
        kinds = [bar.what for bar in lane.bars]
        assert kinds == sorted(kinds)
    assert length_of(new, START).shared < length_of(old, START).shared


def test_every_kill_is_made_good() -> None:
    faults, lanes = run_faults(0)
    assert (faults.done, faults.kills) == (1_000, 8)
    assert faults.again == sum(not bar.is_done for lane in lanes for bar in lane.bars)
    assert faults.length > faults.undisturbed
    assert run_faults(0)[0] == faults, "the same seed, the same kills"


def lane(kind: str, *bars: Bar, up: int = 0, gone: int | None = None) -> Lane:
    return Lane(0, kind, 0, up, gone, bars=list(bars))


def test_measures_by_hand() -> None:
    lanes = [
        lane("R1", Bar(0, 10, "R1"), Bar(10, 30, "R1")),
        lane("R3+R4", Bar(5, 15, "R4"), Bar(17, 25, "R3")),
    ]
    assert (length_of(lanes, 0).whole, length_of(lanes, 0).shared) == (30, 25)
    assert length_of(lanes, 0).is_right
    assert not length_of([lane("R1", Bar(0, 1, "R3"), Bar(1, 2, "R1"))], 0).is_right
    assert longest_gap(lanes, 0) == 2
    assert finish_spread(lanes, 0) == pytest.approx(5 / 30)


def test_the_longest_time_without_a_set_ends_when_an_agent_comes_up() -> None:
    lanes = [
        lane("R3", Bar(0, 10, "R3"), gone=10),
        lane("R3+R4", Bar(40, 50, "R3"), up=35, gone=60),
        lane("R3", Bar(100, 110, "R3"), up=70),
    ]
    assert longest_without(lanes, "R3", 0) == (10, 25)


def test_gains_are_relative_to_the_old_heuristic() -> None:
    short, long = (length_of([lane("R3", Bar(0, end, "R3"))], 0) for end in (90, 100))
    assert gains([Pair(short, long)], "whole") == pytest.approx([0.1])
    assert clock(708) == "11:48"
    assert start_of(BASELINE) == 181 * SECOND


def test_a_reproduction_in_small(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    steps: list[tuple[int, int]] = []
    request = Request(
        tmp_path, progress=lambda done, total, _label: steps.append((done, total)), workers=1, is_live=False
    )
    found = reproduce(request, TINY, TINY_LIVE)
    assert [claim.id for claim in found.report.claims] == ["1", "2", "3", "4"]
    assert len(found.pictures) == 4
    assert steps[-1][0] == steps[-1][1]
    assert all(path.stat().st_size > 10_000 for path in found.pictures)
    assert found.report.claims[3].holds


def test_what_is_run_for_real_can_be_run_alone(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = reproduce(Request(tmp_path, is_simulated=False), live=TINY_LIVE)
    assert [claim.id for claim in found.report.claims] == ["1 live", "2 live", "4 live"]
    assert found.report.claims[0].holds
    assert any("For real" in note for note in found.report.notes)
    assert all(path.stat().st_size > 10_000 for path in found.pictures)
