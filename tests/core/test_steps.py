"""Step functions and curves, worked out by hand."""

import pytest
from worlds import Bench, minutely, task, workflow

from tradewind.core.series import Series
from tradewind.core.steps import Gap, Level
from tradewind.core.summary import percentile
from tradewind.model.event import Closed, Finished, MachineReady


def test_a_level_adds_up_its_area() -> None:
    level = Level()
    level.change(10, 2)
    level.change(15, 1)
    level.change(20, -3)
    assert level.until(30) == 2 * 5 + 3 * 5
    level.change(30, 1)
    assert level.until(32) == 27
    assert level.now == 1


def test_a_gap_tells_what_lacks_from_what_is_spare() -> None:
    gap = Gap(ceiling=10)
    gap.change(0, 4, 0)  # 4 lack from 0 to 10
    gap.change(10, 0, 6)  # 2 spare from 10 to 30
    gap.change(30, 2, 0)  # even from 30 to 40
    gap.close(40)
    assert (gap.lacking, gap.lacking_time) == (40, 10)
    assert (gap.spare, gap.spare_time) == (40, 20)
    assert gap.time == 40
    assert gap.peak == 6
    assert gap.elasticity(size=10) == {"a_u": 40 / 400, "a_o": 40 / 400, "t_u": 0.25, "t_o": 0.5}


def test_time_in_which_demand_exceeds_all_there_is_does_not_count() -> None:
    gap = Gap(ceiling=3)
    gap.change(0, 5, 1)
    gap.change(10, -2, 0)  # 3 wanted, 1 there
    gap.close(20)
    assert (gap.time, gap.lacking, gap.lacking_time) == (10, 20, 10)


def test_no_time_at_all_gives_no_elasticity_and_no_error() -> None:
    assert set(Gap(1).elasticity(0).values()) == {0.0}


def test_closing_again_or_at_an_earlier_time_changes_nothing() -> None:
    gap = Gap(10)
    gap.change(0, 1, 0)
    gap.close(10)
    gap.close(10)
    gap.close(4)
    gap.close(12)
    assert (gap.lacking, gap.time) == (12, 12)


def test_percentiles_lie_between_neighbours() -> None:
    assert percentile([], 0.5) == 0
    assert percentile([7], 0.95) == 7
    assert percentile([1, 2, 3, 10], 0.5) == 2.5
    assert percentile([1, 2, 3, 10], 0.95) == pytest.approx(3 + 7 * 0.85)
    assert percentile([1, 2, 3, 10], 1) == 10
    assert percentile([1, 2, 3, 10], 0) == 1


def test_curves_have_one_point_for_each_instant_with_a_change() -> None:
    bench = Bench([minutely("a"), minutely("b")], "fixed", {"machines": 2})
    series = Series(bench.state)
    bench.submit(1, workflow(task(), task()))
    bench.tell(MachineReady, 5, 0)
    bench.tell(Closed, 6)
    bench.tell(MachineReady, 8, 1)
    bench.tell(Finished, 9, 0, 1, 0)
    bench.tell(Finished, 12, 1, 1, 1)
    for record in bench.records:
        series.observe(record)
    (curves,) = series.curves
    second = 1_000_000
    assert [at / second for at in curves.at] == [1, 5, 8, 9, 12]
    assert curves.demand == [2, 2, 2, 1, 0]
    assert curves.supply == [(1, 1), (1, 1), (1, 1), (1, 1), (0, 0)]
    assert curves.busy == [(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)]
    assert series.meter.finished == 2
