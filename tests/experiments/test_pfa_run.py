"""A grid of few workflows from end to end, and the measurements it rests on."""

import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tradewind.experiments.pfa.figures import FIGURES
from tradewind.experiments.pfa.measure import peak_spending
from tradewind.experiments.pfa.reproduce import reproduce
from tradewind.experiments.pfa.run import (
    Experiment,
    Study,
    run_experiment,
    run_grid,
    run_study,
    set_seed,
    submissions,
)
from tradewind.experiments.pfa.settings import (
    BASELINE,
    EQUAL,
    MAIN,
    PFA_MA,
    PLF,
    SCF,
    SETTINGS,
    USERS,
    VARIANTS,
    Extent,
)
from tradewind.experiments.pfa.timing import timing_of
from tradewind.experiments.request import Request

TINY = Extent(workflows=3, repetitions=1, rounds=1, everywhere=False)
KINDS = (3, 4, 7, 9, 11, 16)
"""One figure of each kind."""


def ignore(_label: str) -> None:
    pass


@pytest.fixture(scope="module")
def study() -> Study:
    return run_study(TINY, 0, ignore, workers=1)


@pytest.fixture(autouse=True)
def _few_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: draw for name, draw in FIGURES.items() if int(name[3:5]) in KINDS}
    monkeypatch.setattr("tradewind.experiments.pfa.figures.FIGURES", few)
    monkeypatch.setattr("tradewind.experiments.pfa.reproduce.FIGURES", few)


def test_a_study_ends_with_a_claim_for_each_number_and_its_figures(tmp_path: Path) -> None:
    seen: list[tuple[int, int, str]] = []
    request = Request(tmp_path, progress=lambda *step: seen.append(step), workers=1)
    found = reproduce(request, TINY)
    assert [claim.id for claim in found.report.claims] == list("12345678")
    assert next(claim for claim in found.report.claims if claim.id == "3").holds
    assert [int(path.name[3:5]) for path in found.pictures] == list(KINDS)
    for path in found.pictures:
        assert ET.parse(path).getroot().tag.endswith("svg")  # noqa: S314  # our own file
    assert [done for done, _, _ in seen] == list(range(1, seen[0][1] + 1))


def test_there_is_a_figure_for_each_of_the_papers() -> None:
    assert [int(name[3:5]) for name in FIGURES] == list(range(3, 17))


def test_without_matplotlib_there_are_claims_but_no_figures(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("tradewind.experiments.pfa.reproduce.run_study", lambda *_: study)
    found = reproduce(Request(tmp_path), TINY)
    assert not found.pictures
    assert "No figures were drawn: pictures need matplotlib: pip install 'tradewind[plot]'." in found.report.notes


def test_the_same_seed_gives_the_same_results_on_any_number_of_processes(study: Study) -> None:
    assert study.results == run_grid(TINY, 0, ignore, workers=2)


def test_another_seed_gives_other_results() -> None:
    assert run_experiment(Experiment(BASELINE, PLF, 3, 1)) != run_experiment(Experiment(BASELINE, PLF, 3, 4))


def test_a_study_has_all_that_figures_and_claims_need(study: Study) -> None:
    assert list(study.results) == TINY.grid()
    assert set(study.timings) == set(MAIN)
    assert set(study.dynamics) == {PFA_MA[0], PLF, SCF}


def test_every_policy_runs_in_every_setting_unless_it_is_quick() -> None:
    assert len(Extent().grid()) == len(SETTINGS) * len(VARIANTS)
    quick = Extent(everywhere=False).grid()
    assert {variant for setting, variant in quick if setting == BASELINE} == set(VARIANTS)
    assert {setting for setting, _ in quick} == set(SETTINGS)


def test_repetitions_of_different_studies_share_no_workflows() -> None:
    assert {set_seed(0, repetition) for repetition in range(3)} == {1, 2, 3}
    assert len({set_seed(seed, repetition) for seed in range(5) for repetition in range(3)}) == 15


def test_users_take_turns_and_work_arrives_at_a_fifth_of_the_system() -> None:
    work = submissions(1, 200, 1)
    assert [submission.tenant for submission in work[:4]] == [*USERS, *USERS]
    total = sum(sum(task.runtimes.values()) / 2 for each in work for task in each.workflow.tasks if task.runtimes)
    assert total / (64 * work[-1].at) == pytest.approx(0.2, rel=0.25)


def test_what_is_measured_of_an_experiment_adds_up() -> None:
    result = run_experiment(Experiment(EQUAL[0], PLF, 12, 1))
    for user in result.users:
        assert len(user.slowdowns) == len(user.waits) == 6
        assert min(user.slowdowns) >= 1
        assert {len(row) for row in (*user.costs, *user.busy, *user.held)} == {-(-int(result.makespan) // 60)}
        assert user.peak <= user.budget == 60
        for busy, held, limit in zip(user.busy, user.held, (32, 32), strict=True):
            assert all(0 <= at_work <= there <= limit for at_work, there in zip(busy, held, strict=True))
        for costs, held, price in zip(user.costs, user.held, (1, 5), strict=True):
            paid = sum(costs) / price  # machine-minutes, all of them held to the end but those of the last interval
            assert sum(held[:-1]) <= paid <= sum(held[:-1]) + costs[-1] / price


def test_the_dearest_stretch_of_time_may_begin_anywhere() -> None:
    assert peak_spending([], 60) == 0
    assert peak_spending([(0, 5), (59, 5), (60, 3)], 60) == 10
    assert peak_spending([(30, 4), (70, 4), (89, 4), (90, 1)], 60) == 12


def test_of_several_rounds_the_least_counts() -> None:
    timing = timing_of([{"decision": [3.0, 2.0], "plan": [1.0]}, {"decision": [2.0, 4.0], "plan": [1.5]}])
    assert timing.decisions == (2.0, 2.0)
    assert timing.share("plan") == timing.share() == 0.25
    assert timing.share("unknown") == 0
