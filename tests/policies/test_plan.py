"""The plan, the placer that follows it, and the planner."""

import json

from hypothesis import given
from stage import LAG, SMALL, Setting, Stage, Step, flat, flow, settings

from tradewind.core.work import Unit
from tradewind.model.event import MachineLost, Timer
from tradewind.model.machine import MachineType
from tradewind.model.requirement import Requirement, amounts
from tradewind.model.units import MINUTE, SECOND
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.parts.consolidation import Planned, by_priority, consolidate, horizon
from tradewind.policies.parts.plan import ByPlan, Plan
from tradewind.policies.protocol import Kind, Policy, Scaling, View


class Planner:
    """Puts a given plan into force each time it is asked."""

    on_arrival = False

    def __init__(self) -> None:
        self.memory = Plan()
        self.next: list[tuple[int, int]] = []

    def scale(self, view: View) -> list[Scaling]:
        self.memory.load(self.next)
        return []


def planned_stage(*types: MachineType) -> tuple[Stage, Planner]:
    planner = Planner()
    return Stage(*types, policy=Policy("p", planner, ByPlan(planner.memory))), planner  # type: ignore[arg-type]


def running(*units: Unit) -> list[bool]:
    return [unit.machine is not None for unit in units]


# The placer


def test_a_unit_starts_on_its_planned_machine_only() -> None:
    stage, planner = planned_stage()
    a = stage.submit(flow(a=Step(10)))["a"]
    stage.rent(0)
    other = stage.rent(0)[0]
    planner.next = [(a.id, other.id)]
    stage.core.handle(Timer(0, 0))
    assert a.machine is other


def test_what_is_not_in_the_plan_waits() -> None:
    stage, _ = planned_stage()
    a = stage.submit(flow(a=Step(10)))["a"]
    stage.rent(0)
    stage.core.handle(Timer(0, 0))
    assert a.machine is None


def test_a_new_plan_starts_what_was_ready_long_before() -> None:
    stage, planner = planned_stage()
    a = stage.submit(flow(a=Step(10)))["a"]
    machine = stage.rent(0)[0]
    stage.core.handle(Timer(0, 0))
    planner.next = [(a.id, machine.id)]
    stage.core.handle(Timer(MINUTE, 0))
    assert a.machine is machine
    assert a.started == MINUTE


def test_units_of_one_machine_start_in_the_order_of_the_plan() -> None:
    stage, planner = planned_stage()
    units = stage.submit(flat(3))
    machine = stage.rent(0, up=False)[0]
    order = [units["t2"], units["t0"], units["t1"]]
    planner.next = [(unit.id, machine.id) for unit in order]
    stage.core.handle(Timer(0, 0))
    assert running(*order) == [False, False, False]
    stage.boot(machine)
    assert running(*order) == [True, False, False]
    stage.finish(order[0])
    assert running(*order) == [False, True, False]


def test_a_late_unit_does_not_keep_its_machine_from_the_next() -> None:
    stage, planner = planned_stage()
    units = stage.submit(flow(a=Step(10), b=Step(10, "a"), c=Step(10)))
    first, second = stage.rent(0, 2)
    planner.next = [(units["a"].id, first.id), (units["b"].id, second.id), (units["c"].id, second.id)]
    stage.core.handle(Timer(0, 0))
    assert units["c"].machine is second
    stage.finish(units["a"])
    assert units["b"].machine is None  # its machine is taken
    stage.finish(units["c"])
    assert units["b"].machine is second


def test_an_earlier_unit_freed_in_the_same_instant_goes_first() -> None:
    stage, planner = planned_stage()
    units = stage.submit(flow(a=Step(10), b=Step(10, "a"), c=Step(10)))
    machine = stage.rent(0)[0]
    planner.next = [(units[name].id, machine.id) for name in "abc"]
    stage.core.handle(Timer(0, 0))
    stage.finish(units["a"])  # frees b and the machine at once, while c has been ready all along
    assert units["b"].machine is machine


def test_units_of_a_lost_machine_wait_for_the_next_plan() -> None:
    stage, planner = planned_stage()
    units = stage.submit(flat(2))
    lost, kept = stage.rent(0, 2)
    planner.next = [(units["t0"].id, lost.id), (units["t1"].id, lost.id)]
    stage.core.handle(Timer(0, 0))
    stage.core.handle(MachineLost(SECOND, 0, lost.id, "gone"))
    assert running(*units.values()) == [False, False]
    planner.next = [(units["t1"].id, kept.id)]
    stage.core.handle(Timer(MINUTE, 0))
    assert units["t1"].machine is kept


def test_a_machine_with_slots_takes_as_many_as_fit() -> None:
    big = MachineType("big", slots=3, amounts=amounts(cpus=4))
    stage, planner = planned_stage(big)
    task = Task("t", "t", Requirement(amounts=amounts(cpus=2)))
    stage.submit(Workflow("w", (task,) * 4, ((),) * 4))
    machine = stage.rent(0)[0]
    planner.next = [(number, machine.id) for number in range(4)]
    stage.core.handle(Timer(0, 0))
    assert list(machine.running) == [0, 1]  # a third slot is free, but not two more cpus


def test_a_plan_survives_being_written_to_a_file() -> None:
    plan = Plan([(3, 1), (1, 2), (2, 1)])
    assert Plan(json.loads(json.dumps(plan.save()))).save() == plan.save()


# The planner


def plan_of(stage: Stage, types: dict[int, Kind] | None = None) -> list[Planned]:
    return consolidate(stage.state, stage.pool, by_priority(stage.pool), types or {})


def table(plan: list[Planned]) -> list[tuple[str, int, int, int]]:
    return [(p.unit.task.id, p.machine.id, p.start // SECOND, p.end // SECOND) for p in plan]


def test_children_follow_on_the_machine_that_stood_idle_the_shortest() -> None:
    stage = Stage()
    stage.submit(flow(a=Step(10), b=Step(20, "a"), c=Step(5, "b")))
    stage.rent(0, 2)
    assert table(plan_of(stage)) == [("a", 0, 0, 10), ("b", 0, 10, 30), ("c", 0, 30, 35)]


def test_a_join_waits_for_its_slowest_parent() -> None:
    stage = Stage()
    stage.submit(flow(a=Step(10), b=Step(25), c=Step(5, "a b")))
    stage.rent(0, 2)
    assert table(plan_of(stage)) == [("a", 0, 0, 10), ("b", 1, 0, 25), ("c", 1, 25, 30)]


def test_running_units_and_booting_machines_take_their_time() -> None:
    stage = Stage()
    units = stage.submit(flow(a=Step(30), b=Step(5, "a"), c=Step(7), d=Step(7)))
    busy = stage.rent(0)[0]
    stage.rent(0, up=False)
    stage.start(units["a"], busy)
    assert table(plan_of(stage)) == [("c", 1, 10, 17), ("d", 1, 17, 24), ("b", 0, 30, 35)]


def test_what_is_late_is_taken_to_be_done_now() -> None:
    stage = Stage()
    units = stage.submit(flow(a=Step(30), b=Step(5)))
    stage.start(units["a"], stage.rent(0)[0])
    stage.rent(0, up=False)
    stage.wait(50 * SECOND)
    assert table(plan_of(stage)) == [("b", 0, 50, 55)]


def test_an_idle_machine_is_surer_than_one_that_is_late() -> None:
    stage = Stage()
    units = stage.submit(flow(a=Step(30), b=Step(5)))
    stage.start(units["a"], stage.rent(0)[0])
    stage.rent(0)
    stage.wait(50 * SECOND)
    assert table(plan_of(stage)) == [("b", 1, 50, 55)]


def test_nothing_is_planned_to_start_after_the_interval() -> None:
    stage = Stage()
    stage.submit(flow(a=Step(50), b=Step(20, "a"), c=Step(1, "b")))
    stage.rent(0)
    assert table(plan_of(stage)) == [("a", 0, 0, 50), ("b", 0, 50, 70)]


def test_the_interval_ends_at_the_next_regular_call() -> None:
    stage = Stage()
    assert horizon(stage.state) == MINUTE
    stage.wait(90 * SECOND)
    assert horizon(stage.state) == 2 * MINUTE


def test_typed_units_come_first_and_keep_to_their_type() -> None:
    stage = Stage()
    units = stage.submit(flat(3, 20, priority=9), flow(x=Step(20), y=Step(20)))
    stage.rent(0)
    stage.rent(1)
    large = stage.state.kinds[1]
    plan = plan_of(stage, {units["x"].id: large, units["y"].id: large})
    assert table(plan)[:2] == [("x", 1, 0, 20), ("y", 1, 20, 40)]
    assert table(plan)[2:] == [("t0", 0, 0, 20), ("t1", 0, 20, 40), ("t2", 0, 40, 60)]


def test_a_typed_unit_whose_type_is_taken_all_interval_goes_elsewhere() -> None:
    stage = Stage()
    units = stage.submit(flow(a=Step(90), b=Step(5)))
    stage.start(units["a"], stage.rent(1)[0])
    stage.rent(0)
    assert table(plan_of(stage, {units["b"].id: stage.state.kinds[1]})) == [("b", 1, 0, 5)]


def test_units_go_only_where_they_can_run() -> None:
    gpu = MachineType("gpu", capabilities=frozenset({"cuda"}))
    stage = Stage(SMALL, gpu)
    task = Task("g", "g", Requirement(frozenset({"cuda"})), runtime=10 * SECOND)
    stage.submit(Workflow("w", (task, task), ((), ())))
    stage.rent(0, 3)
    stage.rent(1)
    assert table(plan_of(stage)) == [("g", 3, 0, 10), ("g", 3, 10, 20)]


def test_slots_of_one_machine_are_filled_side_by_side() -> None:
    stage = Stage(MachineType("quad", slots=4))
    stage.submit(flat(5))
    stage.rent(0)
    assert table(plan_of(stage))[3:] == [("t3", 0, 0, 10), ("t4", 0, 10, 20)]


def test_a_booting_machine_beyond_the_interval_is_not_planned_on() -> None:
    stage = Stage()
    stage.submit(flat(1))
    stage.rent(0, up=False)
    stage.wait(0)
    assert table(plan_of(stage)) == [("t0", 0, LAG // SECOND, LAG // SECOND + 10)]
    stage.state.machines[0].expected = MINUTE
    assert plan_of(stage) == []


@given(setting=settings)
def test_plans_respect_precedence_and_never_overlap(setting: Setting) -> None:
    stage = setting.stage()
    now = stage.state.now
    running_now = [(unit, machine) for machine in stage.state.machines.values() for unit in machine.running.values()]
    ends = {unit.id: max(now, unit.started + stage.state.estimate(unit, machine.kind)) for unit, machine in running_now}
    free = {machine.id: ends[unit.id] for unit, machine in running_now}
    plan = plan_of(stage)
    for unit, machine, start, end in plan:
        assert now <= start < horizon(stage.state)
        assert end == start + stage.state.estimate(unit, machine.kind)
        assert start >= free.get(machine.id, machine.expected if machine.is_booting else now)
        assert unit.id not in ends
        free[machine.id] = ends[unit.id] = end
    for run in stage.pool.runs.values():
        for parent in run.units:
            for child in parent.children:
                if child.id in ends:
                    start = next(p.start for p in plan if p.unit.id == child.id)
                    assert parent.id in ends
                    assert ends[parent.id] <= start


@given(setting=settings)
def test_no_machine_stands_idle_all_interval_while_a_unit_waits(setting: Setting) -> None:
    stage = setting.stage()
    plan = plan_of(stage)
    planned = {p.unit.id for p in plan}
    used = {p.machine.id for p in plan}
    if any(unit.id not in planned for unit in stage.pool.eligible()):
        idle = [machine for machine in stage.state.machines.values() if machine.is_idle]
        assert all(machine.id in used for machine in idle)


@given(setting=settings)
def test_equal_views_give_equal_plans(setting: Setting) -> None:
    assert table(plan_of(setting.stage())) == table(plan_of(setting.stage()))
