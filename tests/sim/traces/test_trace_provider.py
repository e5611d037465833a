"""Who gets which server, and what is taken back."""

import pytest

from tradewind.model.machine import MachineType, Market
from tradewind.model.requirement import amounts
from tradewind.model.units import HOUR, MINUTE
from tradewind.sim.traces.power import WHOLE, powered, wind
from tradewind.sim.traces.provider import Provider
from tradewind.sim.traces.steps import Steps, steps_from

HARVEST = MachineType("h", slots=64, amounts=amounts(cpus=64, memory=7), market=Market.HARVEST, minimum=amounts(cpus=2))
SPOT = MachineType("s", slots=8, amounts=amounts(cpus=8), market=Market.SPOT)


def test_a_harvest_machine_gets_all_that_is_free_and_keeps_its_memory() -> None:
    provider = Provider([steps_from([(0, 10), (100, 30), (200, 1), (300, 9)])])
    assert provider.lease(1, HARVEST, 0) == amounts(cpus=10, memory=7)
    assert provider.next_change(1, 0) == (100, amounts(cpus=30, memory=7))
    assert provider.next_change(1, 100) == (200, None)
    assert provider.lease(2, HARVEST, 50) is None  # the server is taken
    assert provider.least_ahead(1, 0, 100) == 10
    assert provider.least_ahead(1, 0, 201) == 0
    provider.leave(1)
    assert provider.lease(3, HARVEST, 200) is None  # there is not enough
    assert provider.lease(3, HARVEST, 300) == amounts(cpus=9, memory=7)


def test_spot_machines_share_a_server_and_the_newest_go_first() -> None:
    provider = Provider([steps_from([(0, 20), (100, 17), (200, 9), (300, 3)])])
    assert [provider.lease(number, SPOT, 0) for number in (1, 2, 3)] == [SPOT.amounts, SPOT.amounts, None]
    assert provider.next_change(2, 0) == (200, None)
    assert provider.next_change(1, 0) == (300, None)
    held = {1, 2}
    provider.is_held = held.__contains__
    assert provider.confirm(2, 200)
    held.discard(1)  # it was given back in the meantime
    assert not provider.confirm(2, 200)
    assert provider.next_change(2, 200) == (300, None)


def test_placements() -> None:
    servers = [Steps([0], [cores]) for cores in range(3, 43)]
    assert Provider(servers, "packing").lease(0, HARVEST, 0) == amounts(cpus=3, memory=7)
    assert Provider(servers, "balancing").lease(0, HARVEST, 0) == amounts(cpus=40, memory=7)  # two are a buffer
    found = {Provider(servers, "random", seed).lease(0, HARVEST, 0) for seed in range(20)}
    assert len(found) > 5
    with pytest.raises(ValueError, match="no placement"):
        Provider(servers, "best")


def test_power_takes_free_cores_down_to_the_minimum() -> None:
    servers = [Steps([0, 10 * HOUR], [20, 21])] * 6
    power = steps_from([(0, WHOLE), (HOUR, WHOLE - 100), (2 * HOUR, 0), (3 * HOUR, WHOLE)])
    dim = powered(servers, power, 64, 0)
    assert [steps.at(0) for steps in dim] == [20] * 6
    taken = 6 * 20 - sum(steps.at(HOUR) for steps in dim)
    assert taken == 100 * 64 * 6 // 1000
    assert [steps.at(2 * HOUR) for steps in dim] == [2, 4, 8, 2, 4, 8]
    assert [steps.at(3 * HOUR) for steps in dim] == [20] * 6


def test_made_up_wind_stays_within_bounds() -> None:
    power = wind(48 * HOUR, 1)
    assert all(0 < value <= WHOLE for value in power.values)
    assert all(time % (15 * MINUTE) == 0 for time in power.times)
    assert 700 < power.mean(0, 48 * HOUR) < 900
