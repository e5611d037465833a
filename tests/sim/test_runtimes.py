"""How long tasks run, and what policies are told."""

from collections.abc import Sequence
from statistics import fmean, pstdev

import pytest
from worlds import Bench, minutely, task, workflow

from tradewind.core.machines import Kind
from tradewind.core.work import Unit
from tradewind.model.scenario import Estimates, Noise
from tradewind.model.units import SECOND
from tradewind.sim.runtimes import estimated_times, real_times


def stage(number: int = 1) -> tuple[list[Unit], Sequence[Kind]]:
    bench = Bench([minutely("plain"), minutely("fast", speed=4.0)])
    bench.submit(0, workflow(*[task(f"t{i}", 100, on={"plain": 40} if i == 1 else {}) for i in range(number)]))
    return list(bench.state.units.values()), bench.state.kinds


def test_declared_times_count_unless_a_type_has_its_own() -> None:
    (first, second), (plain, fast) = stage(2)
    real = real_times(Noise(), 0)
    assert [real(first, plain), real(first, fast)] == [100 * SECOND, 25 * SECOND]
    assert [real(second, plain), real(second, fast)] == [40 * SECOND, 25 * SECOND]


def test_noise_has_the_mean_and_the_spread_asked_for() -> None:
    units, (plain, _) = stage(4_000)
    times = [real_times(Noise(0.5), 1)(unit, plain) / SECOND for unit in units if unit.task.id != "t1"]
    assert fmean(times) == pytest.approx(100, rel=0.04)
    assert pstdev(times) == pytest.approx(50, rel=0.1)
    assert min(times) > 0


def test_noise_depends_on_seed_unit_and_type_alone() -> None:
    (first, second), (plain, fast) = stage(2)
    real = real_times(Noise(0.5), 1)
    assert real(first, plain) == real(first, plain) == real_times(Noise(0.5), 1)(first, plain)
    other = real_times(Noise(0.5), 2)
    assert len({real(first, plain), other(first, plain), 4 * real(first, fast), real(second, fast)}) == 4


def test_estimates_are_exact_declared_or_noisy() -> None:
    units, (plain, _) = stage(40)
    real = real_times(Noise(0.5), 1)

    def told(kind: str) -> list[int]:
        estimate = estimated_times(Estimates(kind, 0.3), real, 1)
        return [estimate(unit, plain) for unit in units]

    exact = [real(unit, plain) for unit in units]
    declared = [40 * SECOND if unit.task.id == "t1" else 100 * SECOND for unit in units]
    assert told("exact") == exact
    assert told("declared") == declared
    assert told("noisy") != exact
    assert told("noisy") != declared
