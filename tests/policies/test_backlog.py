"""Large backlogs: a decision looks at what it can use, however much waits behind that."""

from collections.abc import Sequence
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import settings as configured
from stage import SMALL, Setting, Stage, flat, run_to_the_end, settings

from tradewind.core.log import Record
from tradewind.core.work import Unit
from tradewind.model.command import Acquire, Release, Start
from tradewind.model.machine import MachineType
from tradewind.model.requirement import Requirement
from tradewind.policies.parts.tokens import ALL
from tradewind.policies.protocol import Rent
from tradewind.policies.registry import build

FEW, MANY = 2_000, 20_000


def looks(policy: str, tasks: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often the second decision on many equal tasks looks at one of them."""
    stage = Stage(SMALL, budget=20)
    stage.submit(flat(tasks))
    built = build(policy)
    first = stage.scale(built)
    assert [action.number for action in first if isinstance(action, Rent)] == [20]
    for machine in stage.state.machines.values():
        stage.boot(machine)
    asked = 0

    def counting(name: str) -> property:
        slot = vars(Unit)[name]

        def look(unit: Unit) -> object:
            nonlocal asked
            asked += 1
            return slot.__get__(unit)

        return property(look, slot.__set__)

    with monkeypatch.context() as patch:
        for name in ("children", "run", "machine", "task"):
            patch.setattr(Unit, name, counting(name))
        stage.scale(built)
    return asked


@pytest.mark.parametrize("policy", ["pfa", "plf", "scf"])
def test_a_decision_looks_at_no_more_of_a_large_backlog(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert looks(policy, MANY, monkeypatch) <= looks(policy, FEW, monkeypatch)


def decided(records: Sequence[Record]) -> Sequence[Record]:
    """What was rented, given back and started, whatever the reason."""
    return [each._replace(because="") for each in records if isinstance(each, Acquire | Release)] + [
        each for each in records if isinstance(each, Start)
    ]


@given(settings)
@configured(max_examples=60, deadline=None)
def test_pfa_decides_as_if_it_had_walked_through_all_that_lies_ahead(setting: Setting) -> None:
    found = decided(run_to_the_end(setting, build("pfa")))
    with patch("tradewind.policies.budget.pfa._enough", lambda *_: ALL):
        assert found == decided(run_to_the_end(setting, build("pfa")))


def test_ready_work_of_a_need_that_is_not_wanted_is_passed_over() -> None:
    stage = Stage()
    units = list(stage.submit(flat(6)).values())
    other = stage.state.need(Requirement())
    stage.rent(0)
    stage.start(units[1], stage.rent(0)[0])
    run = stage.pool.runs[0]
    assert [unit.id for unit in stage.pool.eligible_of(run, lambda _: True)] == [0, 2, 3, 4, 5]
    wanted = [True, True, False]
    assert [unit.id for unit in stage.pool.eligible_of(run, lambda need: need is other and wanted.pop(0))] == [0, 2]


def test_entries_that_no_longer_hold_are_cleared_from_the_front_of_a_queue_alone() -> None:
    stage = Stage(MachineType("m", slots=900))
    units = list(stage.submit(flat(1_000)).values())
    (machine,) = stage.rent(0)
    for unit in units[1:800]:
        stage.start(unit, machine)
    (need,) = stage.pool.waiting()
    assert [unit.id for unit in stage.pool.ranked(need, 3)] == [0, 800, 801]
    assert len(stage.pool.queues[need.index]) == 201, "799 of 1,000 are gone"
    assert stage.pool.remaining(need) == 201
