"""Large jobs: the number of looks at a whole job does not grow with it."""

from collections import Counter
from typing import Any

import pytest

from tradewind.core.log import Record
from tradewind.model.command import Ended, Predicted
from tradewind.model.machine import MachineType
from tradewind.model.scenario import Scenario, Submission
from tradewind.model.units import MINUTE, UNIT
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.deadline import plus, whatif
from tradewind.policies.deadline.assign import upgrade
from tradewind.policies.deadline.network import Network
from tradewind.policies.deadline.shape import Shape
from tradewind.policies.protocol import Run
from tradewind.policies.registry import build
from tradewind.sim.driver import Simulation

PRICES = (1.0, 4.0)


def comb(ways: int) -> tuple[Network, Shape, list[int]]:
    """A job of so many ways of two tasks, each a little shorter than the one before, on its cheaper type."""
    times = tuple((10 * MINUTE - way, 5 * MINUTE - way) for way in range(ways) for _ in range(2))
    parents = tuple(() if task % 2 == 0 else (task - 1,) for task in range(2 * ways))
    return Network([row[0] for row in times], parents), Shape(times, parents), [0] * (2 * ways)


@pytest.mark.parametrize(("ways", "deadline"), [(50, 15), (3_000, 15), (3_000, 1)])
def test_ways_that_are_almost_as_long_as_the_longest_are_upgraded_together(
    monkeypatch: pytest.MonkeyPatch, ways: int, deadline: int
) -> None:
    looks: Counter[str] = Counter()
    change = Network.change

    def counted(network: Network, times: Any) -> None:
        looks["changes"] += 1
        change(network, times)

    monkeypatch.setattr(Network, "change", counted)
    network, shape, choice = comb(ways)
    is_feasible = upgrade(network, shape, choice, PRICES, deadline * MINUTE)
    assert is_feasible == (deadline == 15)
    assert network.makespan <= max(deadline * MINUTE, shape.tightest)
    assert looks["changes"] <= 120


@pytest.mark.parametrize("levels", [20, 80])
def test_a_run_that_is_late_anyway_is_planned_again_only_as_it_gets_smaller(
    monkeypatch: pytest.MonkeyPatch, levels: int
) -> None:
    planned: list[int] = []
    tried = whatif.WhatIf

    def counted(view: Any, pool: Any, board: Any, run: Run, *more: Any) -> whatif.WhatIf:
        planned.append(run.left)
        return tried(view, pool, board, run, *more)

    monkeypatch.setattr(plus, "WhatIf", counted)
    tasks = tuple(Task(f"t{number}", "t", runtime=3 * MINUTE) for number in range(2 * levels))
    parents = tuple(() if number < 2 else (number - 2,) for number in range(2 * levels))
    work = Submission(0, Workflow("late", tasks, parents, deadline=MINUTE))
    Simulation(Scenario((), (MachineType("m", UNIT, limit=2),)), [work], build("scs+")).run(lambda _: None)
    assert planned[0] == 2 * levels
    assert sum(planned) <= 5 * 2 * levels, "all plans together take a few times as long as the first"


@pytest.mark.parametrize("deadline", [None, MINUTE])
def test_a_job_without_time_for_it_keeps_all_machines_at_work(deadline: int | None) -> None:
    """A cheaper place used to be preferred to one where a task ends sooner, even hours sooner."""
    lanes, length = 40, 4
    tasks = tuple(Task(f"t{i}", "t", runtime=(1 + 7 * i % 30) * MINUTE) for i in range(lanes * length))
    parents = tuple((i - 1,) if i % length else () for i in range(lanes * length))
    work = Workflow("lanes", tasks, parents, deadline=deadline)
    types = (MachineType("small", UNIT, limit=4), MachineType("large", 5 * UNIT, limit=4, speed=3.0))
    records: list[Record] = []
    Simulation(Scenario((), types), [Submission(0, work)], build("scs+", {})).run(records.append)
    (end,) = (record.at for record in records if isinstance(record, Ended))
    speeds = sum(kind.limit * kind.speed for kind in types)
    assert end <= 1.1 * sum(task.runtime or 0 for task in tasks) / speeds
    foreseen = [record.finish for record in records if isinstance(record, Predicted)]
    assert foreseen == ([end] if deadline else []), "it is foreseen at once"
