"""After a restart the division of an elastic unit, and its ledger, are exactly what they were."""

from pathlib import Path
from random import Random
from typing import Any

from crowd import Crowd
from hypothesis import given, settings
from hypothesis import strategies as st
from virtual import MACHINES, Shaky, random_elastic

from tradewind.core.elastic.division import Division, Share
from tradewind.core.elastic.saving import saved_division, saved_share
from tradewind.core.state import State
from tradewind.core.work import declared_time
from tradewind.live.driver import Driver
from tradewind.live.engines.fake import Yard
from tradewind.live.facts import Submit
from tradewind.live.port import Down
from tradewind.live.store.memory import MemoryStore
from tradewind.model.tenant import Tenant
from tradewind.model.units import SECOND
from tradewind.policies.registry import build

_SUMS = ("live", "queued", "measured", "speeds", "paced", "computed", "unassigned", "due", "maximum", "initial")


def seen(driver: Driver) -> dict[int, Any]:
    """All that a core knows of elastic units and their shares."""
    found: dict[int, Any] = {}
    for unit in driver.state.units.values():
        if isinstance(unit.elastic, Division):
            sums = {name: getattr(unit.elastic, name) for name in _SUMS}
            found[unit.id] = unit.state, unit.waits, saved_division(unit.elastic), sums, sorted(unit.elastic.shares)
        elif isinstance(unit.elastic, Share) and not unit.is_ended:
            where = None if unit.machine is None else unit.machine.id
            found[unit.id] = unit.attempt, where, unit.elastic.left, saved_share(unit, unit.elastic)
    return found


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), turns=st.integers(1, 60))
def test_a_restart_gives_back_exactly_the_ledger_and_what_shares_hold(seed: int, turns: int) -> None:
    chance, store, yard, clock = Random(seed), MemoryStore(), Yard(), [0]
    crowd = Crowd(Random(seed + 1), 0.02)

    def begin() -> tuple[Driver, Shaky]:
        state = State(MACHINES, (Tenant("default"),), 5 * SECOND, seed, declared_time)
        state.silence = 20 * SECOND
        engine = Shaky(lambda reports: driver.tell(*reports), yard=yard)
        engine.crowd = crowd
        driver = Driver(state, build("demand"), store, engine, lambda: clock[0], Path("runs"))
        return driver, engine

    driver, engine = begin()
    driver.tell(Submit(random_elastic(chance), {}))
    for _ in range(turns):
        driver.turn()
        for end in crowd.step(driver, engine.yard):
            engine.end(end)
        engine.deliver()
        if yard.machines and chance.random() < 0.05:
            machine = chance.choice(sorted(yard.machines))
            yard.drop(machine)
            driver.tell(Down(machine, "it was lost"))
        clock[0] += chance.randrange(1, 3 * SECOND)
    driver.turn()
    before = seen(driver)
    again, _ = begin()
    delayed = {unit.id for pool in driver.state.all_pools for unit in pool.delayed.values()}
    after = seen(again)
    for number, what in before.items():
        if delayed and isinstance(what[2], dict):  # what waited for a retry is tried at once
            what[3].pop("queued")
            after[number][3].pop("queued")
        assert after[number] == what
    assert after.keys() == before.keys()
