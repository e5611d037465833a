"""What must hold in every simulation, whatever the work, the machines, the policy and the faults."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from audit import Audit
from hypothesis import event, given, settings
from hypothesis import strategies as st
from worlds import World, busy_worlds, run, worlds

from tradewind.core.metrics import Meter
from tradewind.sim.driver import Simulation
from tradewind.policies.registry import build


@settings(max_examples=3000)
@given(worlds())
def test_every_log_passes_the_audit(world: World) -> None:
    records = world.run()
    is_complete = world.must_end
    event(f"{world.scenario.policy}, {'to the end' if is_complete else 'in part'}")
    Audit(world.scenario.machines, world.scenario.tenants, is_dynamic=world.is_dynamic).check(
        records, is_complete=is_complete
    )
