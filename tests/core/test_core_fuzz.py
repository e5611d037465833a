"""The core against a world that repeats itself, comes late, contradicts itself and talks about what is long gone."""

import pytest
from audit import Audit
from hypothesis import given, settings
from hypothesis import strategies as st
from mischief import Mischief

from tradewind.core.metrics import Meter
from tradewind.core.summary import summarise

SEEDS = st.integers(0, 10**6)


@pytest.mark.parametrize("is_orderly", [True, False], ids=["orderly", "disorderly"])
@settings(max_examples=150)
@given(seed=SEEDS)
def test_no_event_breaks_the_core_or_its_promises(seed: int, is_orderly: bool) -> None:
    world = Mischief(seed, is_orderly=is_orderly)
    world.play(100)
    has_ended = world.come_to_an_end(1_000)
    assert has_ended or not world.is_uniform, "work that any machine can run must come to an end"
    audit = Audit(
        *(world.types, world.tenants),
        is_dynamic=world.is_dynamic,
        is_punctual=is_orderly,
        is_replicated=world.is_replicated,
    )
    audit.check(world.bench.records, is_complete=has_ended)


@settings(max_examples=60)
@given(seed=SEEDS)
def test_the_meter_counts_as_the_audit_does(seed: int) -> None:
    world = Mischief(seed, is_orderly=True)
    meter = Meter(world.bench.state.all_pools, world.bench.state.kinds)
    world.play(100)
    has_ended = world.come_to_an_end(1_000)
    for record in world.bench.records:
        meter.observe(record)
    audit = Audit(world.types, world.tenants, is_replicated=world.is_replicated)
    audit.check(world.bench.records, is_complete=has_ended)
    assert sum(tenant.charged - tenant.refunded for tenant in meter.tenants) == audit.cost
    assert meter.lost == audit.lost_attempts
    assert meter.preempted == audit.preempted_attempts
    assert meter.finished == sum(unit.is_done for unit in audit.units)
    assert meter.attempts == sum(unit.attempt for unit in audit.units)
    assert meter.failures == sum(sum(unit.failures.values()) for unit in audit.units)
    assert meter.cuts == len(audit.cuts)
    assert [run.status for run in meter.runs] == [run.status or "running" for run in audit.runs]
    assert [meter_.gap.demand for meter_ in meter.tenants] == [
        sum(run.demand for run in audit.runs if run.tenant == tenant) for tenant in range(len(world.tenants))
    ]
    if has_ended:
        assert not any(level.now for tenant in meter.tenants for level in (*tenant.allocated, *tenant.busy))
        assert all(tenant.gap.supply == 0 for tenant in meter.tenants)
        assert summarise(meter)["workflows"] == len(audit.runs)


@settings(max_examples=20)
@given(seed=SEEDS)
def test_the_same_events_give_the_same_commands(seed: int) -> None:
    first, second = (Mischief(seed, is_orderly=False) for _ in range(2))
    first.play(80)
    second.play(80)
    assert repr(first.bench.records) == repr(second.bench.records)
