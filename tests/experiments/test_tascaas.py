"""The TaScaaS paper's experiments, made small."""

from pathlib import Path

import pytest

from tradewind.experiments.request import Request
from tradewind.experiments.tascaas import static
from tradewind.experiments.tascaas.feasible import share_in_time
from tradewind.experiments.tascaas.reproduce import reproduce
from tradewind.experiments.tascaas.settings import SLOTS, Extent, data_folder, series
from tradewind.experiments.tascaas.static import Trial
from tradewind.experiments.tascaas.world import Job, Site
from tradewind.model.units import SECOND

TINY = Extent(seeds=1, draws=8, kills=40, outages=2)


def test_claims_and_figures(tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    request = Request(
        tmp_path, 0, progress=lambda done, total, _: steps.append((done, total)), workers=1, is_live=False
    )
    found = reproduce(request, TINY)
    assert [claim.id for claim in found.report.claims] == ["1", "2", "3", "4", "5", "6"]
    holds = {claim.id: claim.holds for claim in found.report.claims}
    assert holds["1"]
    assert holds["3"]
    assert holds["6"]
    assert steps[-1][0] == steps[-1][1]
    assert len(found.pictures) == 7
    assert all(path.stat().st_size > 5_000 for path in found.pictures)


def test_without_noise_static_and_balanced_are_alike() -> None:
    level = static.run_level(Trial("none", 1, 0))
    assert level is not None
    assert level.gains[0] == pytest.approx(0, abs=0.005)
    assert level.delays[0] == pytest.approx(0, abs=0.005)


def test_balancing_pays_the_more_the_more_speeds_scatter() -> None:
    levels = [static.run_level(Trial(f"each partition +-{cv}%, constant", 10, 0)) for cv in (15, 30, 50)]
    gains = [level.gain for level in levels if level]
    assert gains == sorted(gains)
    assert gains[0] > 0.05


@pytest.mark.skipif(data_folder() is None, reason="the measured series are not beside the checkout")
def test_the_measured_series_vary_as_their_description_says() -> None:
    traces = series("stressng_cache", "D8s_v5")
    assert len(traces) == 3
    assert sum(SLOTS.values()) == 56
    for trace in traces:
        mean = sum(trace) / len(trace)
        spread = (sum((value - mean) ** 2 for value in trace) / len(trace)) ** 0.5 / mean
        assert 0.05 < spread < 0.25


def test_what_could_be_done_in_time_is_bounded_by_slots_and_by_partitions() -> None:
    place = Site("a", 4, 10.0)

    def job(iterations: int, most: int) -> tuple[int, Job]:
        return 0, Job(iterations, 100 * SECOND, maximum=most)

    assert share_in_time([place], [job(4_000, 4)]) == pytest.approx(1)
    assert share_in_time([place], [job(8_000, 4)]) == pytest.approx(0.5)
    assert share_in_time([place], [job(4_000, 1)]) == pytest.approx(0.25)
    later = (100 * SECOND, Job(4_000, 100 * SECOND, maximum=4))
    assert share_in_time([place], [job(4_000, 4), later]) == pytest.approx(1)
    assert share_in_time([place], [job(4_000, 4), job(4_000, 4)]) == pytest.approx(0.5)
