"""Machine types that name a trace, in a simulation: they come and go as it says."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from worlds import of, task, workflow

from tradewind.core.log import Record
from tradewind.model.command import Ended, Start
from tradewind.model.event import MachineLost
from tradewind.model.machine import MachineType, Market
from tradewind.model.requirement import ANYTHING, Requirement, amounts
from tradewind.model.scenario import Given, Scenario, Servers
from tradewind.model.units import MINUTE, SECOND, UNIT
from tradewind.sim.simulate import simulate
from tradewind.sim.traces.files import TraceError

GPU = Requirement(frozenset({"gpu"}))


def spot(tmp_path: Path, ticks: list[int], speed: float = 1.0) -> MachineType:
    """A type of which some machines can be had each minute."""
    file = tmp_path / "spot.json"
    file.write_text(json.dumps({"metadata": {"gap_seconds": 60}, "data": ticks}))
    return MachineType(
        "spot", UNIT, amounts=amounts(cpus=2), slots=2, market=Market.SPOT, trace=str(file), trace_speed=speed
    )


def simulated(*types: MachineType, seconds: float = 90, needs: Requirement = ANYTHING) -> list[Record]:
    records: list[Record] = []
    scenario = Scenario((Given((workflow(task(seconds=seconds, needs=needs)),)),), types)
    simulate(scenario, sinks=[lambda _: records.append])
    return records


def test_a_machine_is_taken_back_when_the_trace_says_so(tmp_path: Path) -> None:
    records = simulated(spot(tmp_path, [1, 0, 0, 0, 1, 1]))
    assert [lost.at for lost in of(records, MachineLost)] == [MINUTE]
    assert [start.at for start in of(records, Start)] == [0, 4 * MINUTE]
    assert of(records, Ended)[0].at == 4 * MINUTE + 90 * SECOND


def test_a_trace_that_passes_faster(tmp_path: Path) -> None:
    records = simulated(spot(tmp_path, [1, 0, 0, 0, 1, 1], speed=2.0))
    assert [lost.at for lost in of(records, MachineLost)] == [MINUTE // 2]
    assert [start.at for start in of(records, Start)] == [0, 2 * MINUTE]


def test_work_never_ends_where_no_machine_comes_back(tmp_path: Path) -> None:
    assert of(simulated(spot(tmp_path, [1, 0])), Ended) == []


def test_a_spot_trace_in_place_of_servers_is_refused_with_the_remedy(tmp_path: Path) -> None:
    kind = replace(spot(tmp_path, [1]), trace="")
    scenario = Scenario((), (kind,), servers=Servers(file=str(tmp_path / "spot.json")))
    with pytest.raises(TraceError, match=r"spot\.json: servers are a \.csv file .*; a spot trace is the `trace` of a"):
        simulate(scenario)


@pytest.mark.parametrize("market", [Market.ON_DEMAND, Market.SPOT])
def test_other_types_are_always_to_be_had(tmp_path: Path, market: Market) -> None:
    other = MachineType("other", UNIT, market=market, capabilities=GPU.capabilities)
    records = simulated(spot(tmp_path, [0, 0]), other, seconds=300, needs=GPU)
    assert of(records, Ended)[0].at == 5 * MINUTE
