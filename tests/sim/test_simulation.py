"""Simulating a scenario from end to end."""

import pytest
from worlds import minutely, of, task, workflow

from tradewind.core.log import Record, Sink
from tradewind.core.series import Series
from tradewind.core.state import State
from tradewind.model.command import Admitted, Start
from tradewind.model.scenario import Arrivals, Generated, Given, Scenario, Submission
from tradewind.model.tenant import Tenant
from tradewind.model.units import SECOND, UNIT
from tradewind.policies.registry import PolicyError
from tradewind.sim.simulate import simulate
from tradewind.sim.stopwatch import Stopwatch

SCENARIO = Scenario((Given((workflow(task("a", 60), task("b", 30)),)),), (minutely(limit=4),), policy="demand", seed=7)


def test_figures_of_a_small_scenario() -> None:
    figures = simulate(SCENARIO).figures()
    assert (figures["policy"], figures["parameters"], figures["seed"]) == ("demand", {}, 7)
    assert figures["makespan_s"] == 60
    assert figures["cost_total"] == 2
    assert figures["slowdown"]["mean"] == 1
    assert figures["busy_share"] == 90 / 240
    assert figures["decision_ms"]["max"] >= figures["decision_ms"]["mean"] > 0
    assert figures["tasks_per_s"] > 0
    assert list(figures)[-3:] == ["decision_ms", "wall_s", "tasks_per_s"]


def test_the_same_scenario_gives_the_same_figures_but_for_real_time() -> None:
    generated = Generated("montage", 2, 40, Arrivals(), ("ann", "bob"), priorities=3)
    tenants = (Tenant("ann", 20 * UNIT), Tenant("bob", 9 * UNIT))
    scenario = Scenario((generated,), (minutely(), minutely("large", 5)), tenants, "pfa", {"m": 3}, seed=3)
    first, second = (simulate(scenario).figures() for _ in range(2))
    for name in ("decision_ms", "wall_s", "tasks_per_s"):
        del first[name], second[name]
    assert first == second
    assert first["workflows"] == 2
    assert set(first["tenants"]) == {"ann", "bob"}


def test_every_sink_gets_every_record() -> None:
    kept: list[list[Record]] = [[], []]

    def keep(place: int) -> Sink:
        return kept[place].append

    outcome = simulate(SCENARIO, sinks=[lambda _state: keep(0), lambda _state: keep(1)])
    assert kept[0] == kept[1]
    assert len(kept[0]) == outcome.meter.records
    assert len(of(kept[0], Start)) == 2


def test_work_may_be_given_instead_of_made() -> None:
    outcome = simulate(SCENARIO, [Submission(9 * SECOND, workflow(task()))])
    assert [run.submitted for run in outcome.meter.runs] == [9 * SECOND]


def test_curves_can_be_drawn_on_the_way() -> None:
    kept: list[Series] = []

    def series(state: State) -> Sink:
        kept.append(Series(state))
        return kept[0].observe

    simulate(SCENARIO, sinks=[series])
    (curves,) = kept[0].curves
    assert curves.demand == [2, 1, 0]
    assert [at // SECOND for at in curves.at] == [0, 30, 60]
    assert curves.busy == [(2,), (1,), (0,)]


def test_generated_work_has_priorities_and_tenants_in_turn() -> None:
    records: list[Record] = []
    generated = Generated("chain", 8, 3, tenants=("ann", "bob"), priorities=4)
    tenants = (Tenant("ann"), Tenant("bob"))
    simulate(Scenario((generated,), (minutely(),), tenants), sinks=[lambda _: records.append])
    admitted = of(records, Admitted)
    assert [each.tenant for each in admitted] == [0, 1] * 4
    assert {each.priority for each in admitted} <= {0, 1, 2, 3}
    assert len({each.priority for each in admitted}) > 1


def test_an_unknown_policy_is_refused_before_anything_happens() -> None:
    with pytest.raises(PolicyError, match="no policy named 'demnad'; did you mean 'demand'"):
        simulate(Scenario((), (minutely(),), policy="demnad"), [])


def test_a_stopwatch_sums_up_its_laps() -> None:
    watch = Stopwatch()
    assert watch.milliseconds("never") == {"mean": 0.0, "p95": 0.0, "max": 0.0}
    watch.laps["x"] = [0.001, 0.003]
    assert watch.milliseconds("x") == {"mean": pytest.approx(2), "p95": pytest.approx(2.9), "max": pytest.approx(3)}
    with pytest.raises(KeyError), watch.phase("y"):
        raise KeyError
    assert len(watch.laps["y"]) == 1
