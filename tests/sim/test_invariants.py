"""What must hold in every simulation, whatever the work, the machines, the policy and the faults."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from audit import Audit
from hypothesis import event, given, settings
from hypothesis import strategies as st
from worlds import World, chain, digest_of, minutely, run, simulated, task, world_of, worlds

from tradewind.core.metrics import Meter
from tradewind.core.state import State
from tradewind.core.summary import summarise
from tradewind.core.work import declared_time
from tradewind.model.requirement import Requirement
from tradewind.model.tenant import Tenant
from tradewind.model.units import UNIT, in_units

CORE = Path(__file__).parent.parent / "core"


def check(world: World) -> Audit:
    scenario = world.scenario
    audit = Audit(scenario.machines, scenario.tenants, is_dynamic=world.is_dynamic, is_replicated=world.is_replicated)
    return audit.check(world.run(), is_complete=world.must_end)


@settings(max_examples=60)
@given(worlds())
def test_every_log_passes_the_audit(world: World) -> None:
    event(f"{world.scenario.policy}, {'to the end' if world.must_end else 'in part'}")
    check(world)


@pytest.mark.parametrize("batch", range(8))
def test_many_more_logs_pass_the_audit(batch: int) -> None:
    for seed in range(batch * 150, batch * 150 + 150):
        try:
            check(world_of(seed))
        except Exception as error:
            error.add_note(f"in world {seed}")
            raise


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_the_meter_agrees_with_the_audit(seed: int) -> None:
    world = world_of(seed)
    scenario = world.scenario
    records = world.run()
    state = State(scenario.machines, scenario.tenants, scenario.interval, 0, declared_time)
    meter = Meter(state.all_pools, state.kinds)
    for record in records:
        meter.observe(record)
    audit = Audit(scenario.machines, scenario.tenants, is_replicated=world.is_replicated).check(
        records, is_complete=world.must_end
    )
    figures = summarise(meter)
    assert sum(tenant.charged - tenant.refunded for tenant in meter.tenants) == audit.cost
    assert figures["cost_total"] == in_units(audit.cost)
    assert figures["intervals_over_budget"] == 0
    assert figures["attempts"] == sum(unit.attempt for unit in audit.units)
    assert figures["lost_attempts"] == audit.lost_attempts
    if world.must_end:
        assert all(tenant.gap.demand == tenant.gap.supply == 0 for tenant in meter.tenants)
        assert all(0 <= figures["elasticity"][key] <= 1 for key in ("t_u", "t_o"))
        assert 0 <= figures["busy_share"] <= figures["allocated_share"] <= 1


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_the_same_seed_gives_the_same_records(seed: int) -> None:
    assert repr(world_of(seed).run()) == repr(world_of(seed).run())


def test_another_seed_gives_other_records() -> None:
    differing = 0
    for seed in range(60):
        world = world_of(seed)
        other = replace(world.scenario, seed=world.scenario.seed + 1)
        differing += repr(world.run()) != repr(run(other, world.submissions, 500, 50))
    assert differing > 15


DIGEST = """
import sys
sys.path.insert(0, sys.argv[1])
from worlds import digest_of
print(digest_of(range(40)))
"""


def digest(hash_seed: str) -> str:
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-c", DIGEST, str(CORE)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def test_the_order_of_sets_reaches_no_record() -> None:
    assert digest("1") == digest("2") == digest_of(range(40))


@pytest.mark.parametrize("policy", ["demand", "pfa", "plf", "scf", "capability"])
def test_a_budget_for_one_machine_at_a_time_is_enough_for_a_chain_over_two_types(policy: str) -> None:
    gpu, disk = (Requirement(frozenset({name})) for name in ("gpu", "disk"))
    types = [
        minutely("disk", 1, capabilities=disk.capabilities, limit=4),
        minutely("gpu", 5, capabilities=gpu.capabilities, limit=4),
    ]
    tenants = [Tenant("default", 5 * UNIT)]
    work = chain(task("a", needs=gpu), task("b", needs=disk), task("c", needs=gpu), task("d", needs=disk))
    records = simulated([work], types, policy, tenants=tenants, most=5_000)
    Audit(types, tenants).check(records)
