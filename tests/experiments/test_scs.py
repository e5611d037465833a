"""The reproduction of the deadline paper, at a very small size."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from tradewind.experiments.request import Request
from tradewind.experiments.scs.causes import Causes
from tradewind.experiments.scs.experiment import Experiment, Result, run_experiment
from tradewind.experiments.scs.extent import FULL, Extent, Sweep
from tradewind.experiments.scs.judge import judge
from tradewind.experiments.scs.others import Other, jobs_of
from tradewind.experiments.scs.progress import Progress
from tradewind.experiments.scs.reproduce import reproduce
from tradewind.experiments.scs.run import Study, experiments, steps
from tradewind.experiments.scs.settings import (
    GAIN,
    GREEDY,
    LAG,
    LAGGING,
    NOISY,
    PLUS,
    SAME,
    SCS,
    TYPES,
    VARIANTS,
    Cell,
    cells,
)
from tradewind.experiments.scs.timing import Timing, job_classes, machine_types, time_decision
from tradewind.experiments.scs.workload import GRAPHS, submissions
from tradewind.model.units import HOUR, MINUTE

CELL = Cell("pipeline", "stable", HOUR)
NO_NOISE = Sweep((*NOISY, *LAGGING, *SAME), 1, 2)


@pytest.mark.parametrize("application", GRAPHS)
def test_every_job_can_be_in_time_within_half_an_hour(application: str) -> None:
    cell = Cell(application, "growing", HOUR // 2, 10.0)  # type: ignore[arg-type]
    for submission in submissions(cell, 0, 0, 5):
        ends: list[int] = []
        flow = submission.workflow
        for task, parents in zip(flow.tasks, flow.parents, strict=True):
            ends.append(min(task.runtimes.values()) + max((ends[parent] for parent in parents), default=0))
        assert 10 * MINUTE - 10 <= max(ends) <= 18 * MINUTE + 10
        assert LAG + max(ends) < HOUR // 2


def test_a_preferred_type_is_the_cheapest_for_its_unit_and_all_are_preferred_by_some() -> None:
    preferred = set()
    for draw in range(10):
        for submission in submissions(CELL, draw, 0, 5):
            for task in submission.workflow.tasks:
                costs = [task.runtimes[type.name] * type.price for type in TYPES]
                preferred.add(costs.index(min(costs)))
    assert preferred == {0, 1, 2, 3}


def test_the_same_draw_gives_the_same_jobs_under_every_deadline() -> None:
    one, other = submissions(CELL, 3, 0, 10), submissions(replace(CELL, deadline=2 * HOUR), 3, 0, 10)
    assert [job.at for job in one] == [job.at for job in other]
    assert [job.workflow.tasks for job in one] == [job.workflow.tasks for job in other]
    assert submissions(CELL, 4, 0, 10) != one


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.label.replace(" ", "-"))
def test_each_policy_runs_a_cell_in_time(variant: object) -> None:
    result = run_experiment(Experiment(CELL, variant, 0, 5, 0))  # type: ignore[arg-type]
    assert result.jobs > 0
    assert result.cost > 0
    assert 0 < result.utilisation <= 1
    if variant != SCS:
        assert result.late == 0


def test_generated_workflows_get_times_and_deadlines() -> None:
    jobs = jobs_of(Other("generated", "montage", 2), 2, 0)
    assert len(jobs) == 2
    assert all(set(task.runtimes) == {type.name for type in TYPES} for task in jobs[0].workflow.tasks)
    assert jobs[0].workflow.deadline is not None


def test_a_decision_is_timed_over_many_classes_and_types() -> None:
    types = machine_types()
    assert len({type.name for type in types}) == 16
    assert len(job_classes(types)) == 100
    for variant in (SCS, PLUS):
        timing = time_decision(variant, 5)
        assert timing.first > timing.turn > 0


def test_the_grid_holds_every_policy_in_every_cell() -> None:
    extent = Extent((Sweep(cells(1.0), 2, 3),), NO_NOISE, 1, (10,))
    found = [each for each in experiments(extent, 0) if isinstance(each.case, Cell)]
    assert len(found) == (48 * 2 + 12) * len(VARIANTS)
    assert steps(extent) > len(found)
    assert [each.draw for each in found] == sorted(each.draw for each in found), "so that a part of them is of use"


def test_the_full_study_holds_fifty_draws_of_the_papers_table_over_its_hours() -> None:
    table = [sweep for sweep in FULL.sweeps if sweep.cells == cells(1.0)]
    assert [sweep.draws for sweep in table] == [50]
    assert {sweep.hours for sweep in (*FULL.sweeps, FULL.noise) if sweep.cells != cells(100.0)} == {72}
    assert {cell.volume for sweep in FULL.sweeps for cell in sweep.cells} == {0.5, 1.0, 10.0, 100.0}


def test_a_study_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    experiment = Experiment(CELL, PLUS, 0, 1, 0)
    result = Result(1.5, 3, 0, 100, 50)
    Progress(path).add(experiment, result)
    with path.open("a") as file:
        file.write('{"key": "was being wri')
    again = Progress(path)
    assert again.of(experiment) == result
    assert again.of(replace(experiment, draw=1)) is None
    assert again.of(replace(experiment, variant=SCS)) is None


def test_results_of_other_code_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    experiment = Experiment(CELL, PLUS, 0, 1, 0)
    Progress(path).add(experiment, Result(1.5, 3, 0, 100, 50))
    path.write_text(path.read_text().replace('{"code": "', '{"code": "x'))
    assert Progress(path).of(experiment) is None
    assert len(path.read_text().splitlines()) == 1


def test_machines_billed_by_the_minute_cost_as_much_for_an_hour() -> None:
    result = run_experiment(Experiment(CELL, replace(SCS, period=MINUTE, lag=0), 0, 5, 0))
    assert 0 < result.cost < run_experiment(Experiment(CELL, SCS, 0, 5, 0)).cost
    assert result.late == 0


def study(cost: dict[str, float], late: dict[str, int]) -> Study:
    """The same figures in every cell."""
    table = cells(1.0) + cells(10.0)
    results = {
        (cell, v): (Result(cost[v.label.split()[0]], 100, late.get(v.label.split()[0], 0), 100, 50),)
        for cell in (*table, *NO_NOISE.cells)
        for v in VARIANTS
    }
    return Study(
        cells={key: row for key, row in results.items() if key[0] in table},
        noise={key: row for key, row in results.items() if key[0] in NO_NOISE.cells},
        others={},
        timings={SCS: {10: Timing(1, 0.001), 100: Timing(1, 0.01), 1000: Timing(1, 0.1)}},
        causes=Causes({"scs": 2, "scs without lag": 0}, {"by the hour": 1}, 12),
    )


def verdicts(cost: dict[str, float], late: dict[str, int] | None = None) -> dict[str, bool | None]:
    return {claim.id: claim.holds for claim in judge(study(cost, late or {}))}


def test_claims_are_judged_by_cost_and_lateness() -> None:
    good = verdicts({"scs": 8, "scs+": 7, "greedy": 12, "gain": 10})
    assert good["1"]
    assert good["2"]
    assert good["8"]
    assert good["9"]
    bad = verdicts({"scs": 11, "scs+": 10.5, "greedy": 12, "gain": 10}, {"scs": 1, "scs+": 1})
    assert not bad["1"]
    assert not bad["2"]
    assert not bad["9"]


def test_a_single_step_that_grows_faster_is_not_linear() -> None:
    found = study({"scs": 8, "scs+": 7, "greedy": 12, "gain": 10}, {})
    steep = replace(found, timings={SCS: {10: Timing(1, 0.001), 100: Timing(1, 0.01), 1000: Timing(1, 0.2)}})
    assert not {claim.id: claim.holds for claim in judge(steep)}["8"]


def test_reasons_are_told_with_their_figures() -> None:
    claims = {claim.id: claim for claim in judge(study({"scs": 11, "scs+": 9, "greedy": 12, "gain": 10}, {"scs": 1}))}
    assert "scs without lag 0" in claims["2"].note
    assert "by the hour 1" in claims["1"].note


def test_near_the_cheapest_is_good_enough_for_scs_plus_but_only_just() -> None:
    assert verdicts({"scs": 10, "scs+": 10.19, "greedy": 12, "gain": 10})["9"]
    assert not verdicts({"scs": 10, "scs+": 10.21, "greedy": 12, "gain": 10})["9"]


def test_the_whole_way_at_a_very_small_size(tmp_path: Path) -> None:
    extent = Extent((Sweep(cells(1.0, patterns=("stable",)), 1, 2),), NO_NOISE, 0, (10, 20))
    labels: list[str] = []
    request = Request(tmp_path, progress=lambda done, total, label: labels.append(f"{done}/{total} {label}"), workers=1)
    found = reproduce(request, extent)
    assert [claim.id for claim in found.report.claims] == [str(number) for number in range(1, 10)]
    assert len(found.pictures) == 7
    assert all(path.stat().st_size > 1000 for path in found.pictures)
    done, total = labels[-1].split(" ")[0].split("/")
    assert done == total
    with (tmp_path / "cells.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["policy"] for row in rows} == {variant.label for variant in VARIANTS}
    with (tmp_path / "causes.csv").open() as file:
        causes = list(csv.DictReader(file))
    dear = {(row["tried"], row["policy"]): float(row["value"]) for row in causes if row["figure"] == "cost"}
    assert len(dear) == 9
    assert dear["by the minute, without lag", "scs"] < dear["by the hour, with the lag", "scs"]
    assert any(note.startswith("Cost over 12 cells") for note in found.report.notes)
    assert sum(int(row["late"]) for row in rows if row["policy"] == PLUS.label and float(row["noise"]) == 0) == 0
    assert {GREEDY.label, GAIN.label} <= {row["policy"] for row in rows}
