"""The policy `tascaas`: who gets slots, which of them change hands, and how many there are."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tradewind.core.handle import Core
from tradewind.core.log import Record
from tradewind.core.state import State
from tradewind.core.work import declared_time
from tradewind.experiments.tascaas.world import Job, Ran, Site, World, play
from tradewind.model.command import Acquire, Admitted, Assign, Ended, Grown, Release, Start, Wanted, Yielded
from tradewind.model.elastic import Elastic
from tradewind.model.event import Cancelled, MachineJoined, Submitted, Timer
from tradewind.model.machine import Billing, BootLag, MachineType
from tradewind.model.requirement import Requirement
from tradewind.model.scenario import Scenario, Submission
from tradewind.model.tenant import Tenant
from tradewind.model.units import HOUR, MINUTE, SECOND
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.divisible import urgency
from tradewind.policies.divisible.protocol import MEAN, SPEED, DivisionView
from tradewind.policies.divisible.ruper import Ruper
from tradewind.policies.divisible.speed import Speed
from tradewind.policies.divisible.tascaas import HandingOver
from tradewind.policies.divisible.urgency import Board, Plan, Row
from tradewind.policies.registry import build
from tradewind.sim.driver import Simulation

SLOTS = 8
POLICIES = ("tascaas", "tascaas-original")


def ended(*jobs: tuple[int, Job], policy: str = "tascaas") -> list[Ran]:
    return play(World([Site("a", SLOTS, 10.0)], jobs, policy)).jobs


def test_a_job_with_time_in_hand_makes_way_and_both_are_in_time() -> None:
    long, short = Job(72_000, 60 * MINUTE, SLOTS, SLOTS), Job(15_000, 10 * MINUTE, 1, SLOTS)
    calm, urgent = ended((0, long), (5 * MINUTE, short))
    assert urgent.lateness <= 0
    assert calm.lateness <= 0
    assert urgent.made > 1  # on slots that the other one had


def test_a_job_that_may_have_few_shares_does_not_wait_until_all_that_are_due_earlier_have_ended() -> None:
    wide = Job(60_000, 20 * MINUTE, SLOTS, SLOTS)  # 12.5 min on all slots, in time on six
    narrow = Job(14_000, 21 * MINUTE, 1, 2)  # almost 12 min on two
    assert max(ran.lateness for ran in ended((0, wide), (10 * SECOND, narrow))) <= 0


def test_the_originals_rules_keep_slots_until_the_job_ends() -> None:
    long, short = Job(72_000, 60 * MINUTE, SLOTS, SLOTS), Job(15_000, 10 * MINUTE, 1, SLOTS)
    _, urgent = ended((0, long), (5 * MINUTE, short), policy="tascaas-original")
    assert urgent.lateness > 0


# The plan


@dataclass(eq=False)
class ADivision:
    """A unit whose shares each do 10 iterations a second, on mean slots."""

    iterations: int
    target: int | None
    live: int
    queued: int = 0
    maximum: int = 20
    number: int = 0
    priority: int = 0
    computed: int = 0
    submitted: int = 0
    since: int = 0
    paced: int = 0
    silent: int = 0
    initial: int = 1
    weights: tuple[int, ...] = ()
    balancer: Any = field(default_factory=HandingOver)
    kinds: tuple[object, ...] = ()

    def __post_init__(self) -> None:
        self.measured = self.made = self.live
        self.speeds = self.live * 10 * SPEED
        self.rated = self.live * MEAN
        self.unassigned = self.iterations
        self.shares: dict[int, Any] = {}
        pool = SimpleNamespace(index=0)
        run = SimpleNamespace(pool=pool, priority=self.priority)
        self.unit = SimpleNamespace(id=self.number, run=run, kinds=self.kinds)

    @property
    def due(self) -> int | None:
        return None if self.target is None else self.since + self.target


def view(division: ADivision) -> DivisionView:
    found: DivisionView = cast("Any", division)
    return found


def planned(*divisions: ADivision, slots: int, idle: int = 0) -> tuple[list[int], list[tuple[int, int, int, int]]]:
    """Shares that are asked for, and number, need, goal and slots of each unit."""
    plan = Plan([view(each) for each in divisions], slots, idle, 0)
    asked = dict.fromkeys(range(len(divisions)), 0)
    for request in plan.requests():
        place = next(place for place, each in enumerate(divisions) if each is request.division)
        asked[place] += request.shares
        divisions[place].queued += request.shares
    return list(asked.values()), [(row.division.unit.id, row.need, row.goal, row.has) for row in plan.rows()]


def test_a_plan_by_hand() -> None:
    """Four slots and a thousand seconds, 960 of which count; a unit that has three of them, and one that just came.

    The first needs 960 s of one slot, the second 1,920 s: one and two slots from now on, if both are due then.
    """
    first = ADivision(9_600, 1_000 * SECOND, 3, maximum=4)
    second = ADivision(19_200, 1_000 * SECOND, 1, queued=1, maximum=4, number=1)
    assert planned(first, second, slots=4) == ([0, 0], [(1, 2, 2, 1), (0, 1, 2, 3)])


@pytest.mark.parametrize(
    ("iterations", "count", "asked"),
    [(9_600, 2, [3, 3]), (490, 2, [0, 6]), (9_600, 1, [0])],
    ids=["up to its most", "not at its end", "not if it is alone"],
)
def test_idle_slots_are_asked_for_by_those_due_first(iterations: int, count: int, asked: list[int]) -> None:
    first = ADivision(iterations, 1_000 * SECOND, 1, maximum=4, queued=int(count == 1))
    second = ADivision(9_600, 2_000 * SECOND, 1, queued=1, number=1)
    found = [first, second][:count]
    assert planned(*found, slots=9, idle=6)[0] == asked
    assert planned(*found, slots=9, idle=6 - sum(asked))[0] == [0] * count  # once


def test_units_without_a_deadline_or_of_another_balancer_keep_what_they_have() -> None:
    plain = ADivision(9_600, 1_000 * SECOND, 3, balancer=Ruper(), number=2)
    timeless = ADivision(9_600, None, 2, number=3)
    waiting = ADivision(9_600, 1_000 * SECOND, 0, queued=1, number=4)
    rows = planned(plain, timeless, waiting, slots=6)[1]
    assert sorted(rows) == [(2, 3, 3, 3), (3, 2, 2, 2), (4, 1, 1, 0)]


class Posted:
    """A board with a unit that has two slots and needs one, and another that needs one."""

    def __init__(self, **other: Any) -> None:
        self.board = Board()
        self.giver = ADivision(100_000, 600 * MINUTE, 2, balancer=HandingOver(board=self.board))
        self.taker = ADivision(1_000, 10 * MINUTE, 0, queued=1, number=1, **other)
        self.rows = [Row(view(self.taker), 1, 1, 0), Row(view(self.giver), 1, 1, 2)]
        self.board.post(0, self.rows)

    def reports(self, now: int = 0, **share: Any) -> str:
        fields = {"speed": Speed(10 * SPEED), "interval": 10 * SECOND, "kind": None, **share}
        reported: Any = SimpleNamespace(**fields)
        found: str = self.giver.balancer.gives_way(self.giver, reported, now)
        return found


def test_one_share_ends_for_one_that_is_wanted() -> None:
    posted = Posted()
    assert "unit 1" in posted.reports()
    assert not posted.reports()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda posted: posted.board.post(0, ()),
        lambda posted: posted.board.post(0, [posted.rows[0], posted.rows[1]._replace(need=2)]),
        lambda posted: posted.board.post(0, [posted.rows[0]._replace(has=1), posted.rows[1]]),
        lambda posted: setattr(posted.giver, "computed", 99_990),
    ],
    ids=["nothing waits", "it needs its slots", "the other one has enough", "it ends soon anyway"],
)
def test_no_share_ends_if(spoil: Callable[[Posted], None]) -> None:
    posted = Posted()
    posted.giver.unassigned = 0
    spoil(posted)
    assert not posted.reports()


def test_no_share_makes_way_for_a_lower_priority_or_for_work_that_its_machine_cannot_run() -> None:
    assert not Posted(priority=-1).reports()
    assert not Posted(kinds=("gpu",)).reports(kind="cpu")
    assert Posted(kinds=("gpu",)).reports(kind="gpu")
    assert not Posted().reports(speed=Speed())  # it has not been measured yet


def test_slots_that_no_unit_needs_go_to_those_below_their_goal() -> None:
    posted = Posted()
    taker, giver = posted.rows
    posted.board.post(0, [taker._replace(need=0), giver._replace(need=0, goal=2)])
    assert not posted.reports()
    posted.board.post(0, [taker._replace(need=0), giver._replace(need=0, goal=1)])
    assert posted.reports()


def test_one_that_is_due_after_all_that_are_planned_for_makes_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urgency, "PLANNED", 1)
    posted = Posted()
    assert planned(posted.giver, posted.taker, slots=2)[1] == [(1, 1, 1, 0)]
    posted.board.post(0, posted.rows[:1])
    assert posted.reports()


def test_shares_report_soon_only_while_others_wait() -> None:
    posted = Posted()
    assert posted.giver.balancer.interval(posted.giver, None, 0.0) == 30 * SECOND
    posted.board.post(0, ())
    assert posted.giver.balancer.interval(posted.giver, None, 0.0) == 15 * MINUTE


# In the core


def elastic(iterations: int, within: int | None, **more: Any) -> Workflow:
    priority = more.pop("priority", 0)
    task = Task("sim", "sim", runtime=iterations * SECOND // 10, elastic=Elastic(iterations, **more))
    return Workflow("job", (task,), ((),), priority, deadline=within)


def records_of(policy: str, *works: tuple[int, str, Workflow], **options: Any) -> list[Record]:
    kind = MachineType("m", 0, Billing(HOUR), BootLag(10 * SECOND), limit=SLOTS)
    scenario = Scenario((), (kind,), (Tenant("default"),), policy, interval=7 * SECOND)
    records: list[Record] = []
    submissions = [Submission(at, work, tenant) for at, tenant, work in works]
    Simulation(replace(scenario, **options), submissions, build(policy)).run(records.append)
    return records


@pytest.mark.parametrize("policy", POLICIES)
def test_the_log_tells_why_a_share_gave_way(policy: str) -> None:
    long = elastic(72_000, 60 * MINUTE, initial=SLOTS, maximum=SLOTS)
    short = elastic(15_000, 10 * MINUTE, maximum=SLOTS)
    records = records_of(policy, (0, "default", long), (5 * MINUTE, "default", short))
    yielded = [record for record in records if isinstance(record, Yielded)]
    assert bool(yielded) == (policy == "tascaas")
    assert all(record.run == 0 and "to end in time" in record.because for record in yielded[:1])
    for record in yielded:  # the answer to the same report tells it to end
        (answer,) = [each for each in records if isinstance(each, Assign) and each.cause == record.cause]
        assert (answer.unit, answer.next) == (record.unit, "end")


def starts(records: list[Record]) -> list[int]:
    """Runs in the order in which they first started."""
    owners: dict[int, int] = {}
    for record in records:
        if isinstance(record, Admitted | Grown):
            owners |= dict.fromkeys(range(record.first, record.first + record.tasks), record.run)
    return list(dict.fromkeys(owners[record.unit] for record in records if isinstance(record, Start)))


def test_priority_then_due_time_then_age_decide_who_goes_first() -> None:
    """All of them wait for the one slot that another one has."""
    one = (MachineType("m", 0, Billing(HOUR), BootLag(SECOND), limit=1),)
    works = [
        elastic(1_000, 900 * SECOND, maximum=1),
        elastic(1_000, 600 * SECOND, maximum=1),
        elastic(10, None, priority=1),
        elastic(1_000, 900 * SECOND, maximum=1),
    ]
    given = [(0, "default", elastic(600, None, maximum=1, priority=2))]
    given += [(5 * SECOND, "default", work) for work in works]
    assert starts(records_of("tascaas", *given, machines=one)) == [0, 3, 2, 1, 4]
    assert starts(records_of("tascaas-original", *given, machines=one)) == [0, 4, 3, 2, 1]


def test_tenants_share_slots_by_weight() -> None:
    """The first one has all slots when the second one comes; a while later it has a quarter of them."""
    tenants = (Tenant("ada"), Tenant("bob", weight=3))
    ada, bob = (elastic(50_000, 60 * MINUTE, initial=9, maximum=9) for _ in tenants)
    records = records_of("tascaas", (0, "ada", ada), (5 * MINUTE, "bob", bob), tenants=tenants)
    assert [record.status for record in records if isinstance(record, Ended)] == ["done"] * 2
    end = next(record.at for record in records if isinstance(record, Ended))
    held: dict[int, int] = {}
    for record in records:
        if record.at > min(end, 20 * MINUTE):
            break
        if isinstance(record, Acquire):
            held[record.machine] = record.tenant
        elif isinstance(record, Release):
            del held[record.machine]
    assert sorted(held.values()) == [0] * 2 + [1] * 6


def test_machines_are_returned_when_the_load_is_over() -> None:
    busy = elastic(20_000, 10 * MINUTE, initial=SLOTS, maximum=SLOTS)
    slow = elastic(20_000, 120 * MINUTE, maximum=1)
    records = records_of("tascaas", (0, "default", busy), (0, "default", slow))
    released = [record for record in records if isinstance(record, Release)]
    assert len([record for record in records if isinstance(record, Acquire)]) >= SLOTS
    assert len([record for record in released if "slots are wanted" in record.because]) >= SLOTS - 3


@pytest.mark.parametrize("policy", POLICIES)
def test_work_that_is_not_divided_runs_too_also_where_only_some_types_can_run_it(policy: str) -> None:
    gpu = MachineType("gpu", 0, Billing(HOUR), limit=2, capabilities=frozenset({"gpu"}))
    cpu = MachineType("cpu", 0, Billing(HOUR), limit=4, slots=2)
    needs = Requirement(frozenset({"gpu"}))
    tasks = [Task(f"t{n}", "t", runtime=MINUTE, requirement=needs if n % 3 == 0 else Requirement()) for n in range(12)]
    work = Workflow("mixed", tuple(tasks), tuple((n - 6,) if n >= 6 else () for n in range(12)))
    records = records_of(policy, (0, "default", work), (0, "default", elastic(5_000, None)), machines=(cpu, gpu))
    assert [record.status for record in records if isinstance(record, Ended)] == ["done"] * 2


def test_what_the_hint_has_measured_is_saved_and_loaded() -> None:
    policy, other = build("tascaas", {"slots": 7}), build("tascaas")
    assert policy.memory is not None
    assert other.memory is not None
    saved = policy.memory.save()
    assert saved["slots"] == 7
    other.memory.load(saved)
    assert other.memory.save() == saved


def test_slots_of_faster_types_are_rated_higher() -> None:
    kinds = tuple(MachineType(name, 0, Billing(HOUR), limit=4) for name in ("slow", "fast"))
    task = Task("sim", "sim", runtimes={"slow": HOUR, "fast": HOUR // 2}, elastic=Elastic(36_000, 8, 8))
    work = Workflow("job", (task,), ((),), deadline=15 * MINUTE)
    scenario = Scenario((), kinds, (Tenant("default"),), "tascaas", interval=7 * SECOND)
    simulation = Simulation(scenario, [Submission(at * HOUR, work) for at in range(6)], build("tascaas"))
    simulation.run(lambda _: None)
    slow, fast = (kind.rating for kind in simulation.state.kinds)
    assert 0 < slow < MEAN < fast


def test_the_owner_of_machines_that_join_hears_how_many_are_wanted() -> None:
    """A site that can reach eight slots and has two: the hint rises with the load, and falls when it is over."""
    site = MachineType("site", 0, Billing(HOUR), limit=SLOTS, joins=True)
    state = State((site,), (Tenant("default"),), 7 * SECOND, 0, declared_time)
    core = Core(state, build("tascaas"))
    seq = count(1)
    for name in ("site/1", "site/2"):
        core.handle(MachineJoined(0, next(seq), name, site))
    work = elastic(72_000, 60 * MINUTE, initial=5, maximum=5)
    found = list(core.handle(Submitted(SECOND, next(seq), "default", work)))
    hints = [command.count for command in found if isinstance(command, Wanted)]
    assert hints[-1:] == [5]
    assert len([command for command in found if isinstance(command, Start)]) == 2
    assert not [command for command in found if isinstance(command, Acquire)]
    over = list(core.handle(Cancelled(2 * SECOND, next(seq), 0)))
    over += core.handle(Timer(7 * SECOND, next(seq)))
    assert [command.count for command in over if isinstance(command, Wanted)] == [0]
