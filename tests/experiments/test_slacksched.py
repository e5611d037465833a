"""The experiments on harvested capacity, at a size that tests can bear."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tradewind.cli import application
from tradewind.cli.markets import PRICES
from tradewind.core.log import Record
from tradewind.experiments.request import Request
from tradewind.experiments.slacksched.figures import FIGURES
from tradewind.experiments.slacksched.measure import Figures, Meter, mean_reduction, reduction_in
from tradewind.experiments.slacksched.reproduce import reproduce
from tradewind.experiments.slacksched.run import QUICK, plan, seeds_of
from tradewind.experiments.slacksched.settings import (
    HARVEST_SHARE,
    REGULAR_PRICE,
    SHORT,
    SPOT_SHARE,
    Jobs,
    Trial,
    harvest_types,
)
from tradewind.experiments.slacksched.workload import jobs, run_time
from tradewind.experiments.slacksched.world import run_trial
from tradewind.model.command import Charged, Refunded
from tradewind.model.event import MachineResized
from tradewind.model.machine import Billing, BootLag, Market
from tradewind.model.scenario import Scenario, Submission
from tradewind.model.units import DAY, HOUR, MINUTE, UNIT
from tradewind.policies.registry import build
from tradewind.sim.driver import Simulation
from tradewind.sim.traces.clusters import CLUSTERS
from tradewind.sim.traces.provider import Provider
from tradewind.sim.traces.servers import make_servers

FEW = replace(SHORT, count=3)


def figures(*completion: float) -> Figures:
    return Figures(completion, 0, 1, 0, 1.0, 0.0, 1.0, 0.5, 1.0)


def test_reductions_are_the_paper_s() -> None:
    ours, theirs = [figures(1, 4)], [figures(2, 4)]
    assert mean_reduction(ours, theirs) == pytest.approx(1 - 0.5**0.5)
    assert reduction_in(None, ours, theirs) == pytest.approx(1 - 5 / 6)
    assert reduction_in(1.0, ours, theirs) == 0


@pytest.mark.parametrize("policy", ["capacity", "slacksched", "oracle"])
def test_a_trial_ends_all_jobs_and_can_be_repeated(policy: str) -> None:
    trial = Trial("x", policy, "C1", FEW)
    found = run_trial(trial)
    assert len(found.completion) == 3
    assert found.unfinished == 0
    assert found.machines == pytest.approx(64, abs=3)
    assert run_trial(trial) == found
    assert (found.wasted == 0) == (found.preemptions == 0)


def test_replicas_end_each_task_once() -> None:
    found = run_trial(Trial("x", "replicate", "C1", FEW))
    once = run_trial(Trial("x", "capacity", "C1", FEW))
    assert len(found.completion) == 3
    assert found.starts > 2 * once.starts
    assert found.useful == pytest.approx(once.useful)


@pytest.mark.parametrize(
    "trial",
    [
        Trial("x", "capacity", jobs=FEW, market=Market.SPOT),
        Trial("x", "capacity", jobs=FEW, market=Market.ON_DEMAND),
        Trial("x", "slacksched", jobs=FEW, power=True),
        Trial("x", "slacksched", jobs=FEW, interruptible=1.0),
        Trial("x", "slacksched", jobs=FEW, error=-0.5),
        Trial("x", "capacity", jobs=FEW, halves=True, parameters={"acquire": True}),
    ],
    ids=["spot", "regular", "power", "interruptible", "error", "halves"],
)
def test_every_kind_of_trial_ends(trial: Trial) -> None:
    found = run_trial(trial)
    assert len(found.completion) == 3
    assert found.cost > 0
    if trial.market is Market.ON_DEMAND:
        assert found.preemptions == 0
    if trial.halves:
        assert 0.3 < found.stable <= 1


def test_the_meter_s_prices_are_the_ledger_s() -> None:
    """Where machines are paid by the minute and come up at once, what is charged and paid back adds up to the same."""
    types = tuple(replace(type, billing=Billing(MINUTE), boot=BootLag(0)) for type in harvest_types())
    scenario = Scenario((), types, policy="capacity", parameters={"machines": 6}, interval=MINUTE)
    servers = make_servers(CLUSTERS["C1"], 20, DAY, 1)
    policy = build("capacity", {"machines": 6})
    world = Simulation(scenario, [Submission(0, jobs(FEW, 1)[1].workflow)], policy, provider=Provider(servers))
    meter = Meter(world.state, 0)
    records: list[Record] = []

    def observe(record: Record) -> None:
        meter.observe(record)
        records.append(record)

    world.run(observe)
    assert any(isinstance(each, MachineResized) for each in records)
    charged = sum(each.amount for each in records if isinstance(each, Charged))
    paid_back = sum(each.amount for each in records if isinstance(each, Refunded))
    assert paid_back > charged / 3
    assert meter.figures().cost == pytest.approx((charged - paid_back) / UNIT, rel=0.03)


@pytest.mark.parametrize("distribution", ["uniform", "gaussian", "pareto"])
def test_run_times_lie_between_a_minute_and_the_longest(distribution: str) -> None:
    import random  # noqa: PLC0415

    rng = random.Random(1)
    work = Jobs(distribution)
    times = [run_time(work, rng) for _ in range(2_000)]
    assert min(times) >= MINUTE
    assert max(times) <= work.longest
    assert 10 * MINUTE < sorted(times)[1_000] < HOUR


def test_the_same_seed_gives_the_same_jobs() -> None:
    assert jobs(SHORT, 1) == jobs(SHORT, 1)
    assert jobs(SHORT, 1) != jobs(SHORT, 2)


def test_a_plan_holds_every_experiment() -> None:
    found = plan(QUICK)
    assert {"long", "power", "cost", "halves", "mixed", "random", "pareto"} <= {key[0] for key in found}
    assert all(seeds_of(QUICK, key) == 1 for key in found)


def test_all_claims_are_judged_and_all_figures_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On figures made up from the name of each trial: simulating them all takes longer than a test should."""

    def made_up(trial: Trial) -> Figures:
        slow = {"capacity": 2.0, "oracle": 1.0}.get(trial.policy, 1.4)
        wasted = 0.0 if trial.policy == "oracle" else slow
        ends = (slow, slow + trial.seed % 3)
        return Figures(ends, 0, 10, 2, 10.0, wasted, 5 * slow, 0.5, 64.0, 0.5, (0.0, 0.4, 0.5), (True, False))

    monkeypatch.setattr("tradewind.experiments.slacksched.run.run_trial", made_up)
    steps: list[tuple[int, int]] = []
    request = Request(tmp_path, progress=lambda done, total, _: steps.append((done, total)), workers=1)
    found = reproduce(request, QUICK)
    claims = {claim.id: claim for claim in found.report.claims}
    assert list(claims) == [str(number) for number in range(1, 12)]
    assert all(claim.ours and claim.paper for claim in claims.values())
    assert claims["1"].holds
    assert claims["4"].holds
    assert not claims["11"].holds  # nothing converges here
    assert len(found.report.notes) == 5
    assert len(found.pictures) == FIGURES
    assert steps[-1][0] == steps[-1][1]


def test_savings_on_somebody_s_own_work(tmp_path: Path) -> None:
    file = tmp_path / "work.yaml"
    tasks = "\n".join(f"  t{i}: {{runtime: {20 + i}m, cpus: 4}}" for i in range(20))
    file.write_text(f"name: work\ntasks:\n{tasks}\n")
    runner = CliRunner()
    app = application("simulate")
    shown = runner.invoke(app, ["simulate", str(file), "--market", "harvest", "--json", "-"])
    assert shown.exit_code == 0, shown.output
    assert '"harvest, slacksched"' in shown.output
    told = runner.invoke(app, ["simulate", str(file), "--market", "harvest:c7"])
    assert re.search(r"would cost [\d.]+ instead of [\d.]+ on regular machines, \d+% less", told.output), told.output
    shares = (1, SPOT_SHARE, SPOT_SHARE * HARVEST_SHARE)
    assert pytest.approx([REGULAR_PRICE / UNIT * share for share in shares]) == PRICES
    assert runner.invoke(app, ["simulate", str(file), "--market", "harvest:C9"]).exit_code == 2
    assert runner.invoke(app, ["simulate", str(file), "--market", "bazaar"]).exit_code == 2


def test_options_that_change_nothing_are_refused_where_markets_are_compared(tmp_path: Path) -> None:
    (tmp_path / "work.yaml").write_text("name: work\ntasks:\n  a: {runtime: 20m}\n")
    (tmp_path / "machines.yaml").write_text("machines:\n  a: {price: 1}\n")
    options = [("--machines", str(tmp_path / "machines.yaml")), ("--policy", "pfa"), ("--budget", "3"), ("-P", "a=b")]
    for option in (*options, ("--interval", "1m"), ("--plot", "a.svg"), ("--events", "a.jsonl")):
        done = CliRunner().invoke(
            application("simulate"), ["simulate", str(tmp_path / "work.yaml"), "--market", "harvest", *option]
        )
        assert done.exit_code == 2, option
        assert f"leave out {option[0]}" in " ".join(done.output.replace("│", " ").split()), done.output


def test_programs_are_compared_to_their_end_and_without_run_times_by_a_guess(tmp_path: Path) -> None:
    file = tmp_path / "work.yaml"
    file.write_text('name: work\nsteps:\n  a: {run: "true"}\n  b: {run: "true", needs: [a], cpus: 2, runtime: 2h}\n')
    done = CliRunner().invoke(application("simulate"), ["simulate", str(file), "--market", "harvest", "--json", "-"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["warnings"][0].startswith("nothing is known of how long 'a' takes")
    assert found["markets"][0]["response_h"] == pytest.approx(2 + 1 / 60, rel=0.1)
