"""The fake engine's faults: seeded, and of every sort."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tradewind.live.engines.fake import FakeEngine, Faults, Yard
from tradewind.live.port import Broke, Done, Down, Expected, Order, Report, Up
from tradewind.model.action import Call, Output, Shell
from tradewind.model.machine import MachineType

KIND = MachineType("any")
CALLS = (Call("task", Shell("true"), outputs={"x": Output(value="stdout")}),)
chances = st.floats(0, 0.6)
faults = st.builds(Faults, chances, chances, chances, chances, st.booleans())


def _orders(count: int, machines: int = 3) -> list[Order]:
    return [Order("run", unit, 1, unit % machines, "chain", CALLS, str(unit)) for unit in range(count)]


def _played(faults: Faults, seed: int, count: int = 20) -> list[Report]:
    told: list[Report] = []
    engine = FakeEngine(told.extend, faults=faults, seed=seed)
    for machine in range(3):
        engine.acquire(machine, KIND)
    while engine.deliver():
        pass
    engine.start(_orders(count))
    while engine.deliver():
        pass
    return told


def test_answers_in_order_when_nothing_goes_wrong() -> None:
    done = [Done(unit, 1, unit % 3, {"task": {"x": None}}) for unit in range(20)]
    assert _played(Faults(), 0) == [Up(0), Up(1), Up(2), *done]


@given(faults, st.integers(0, 1000))
def test_equal_seeds_give_equal_reports(faults: Faults, seed: int) -> None:
    assert _played(faults, seed) == _played(faults, seed)


@given(faults, st.integers(0, 1000))
def test_each_order_ends_or_its_machine_does(faults: Faults, seed: int) -> None:
    told = _played(faults, seed)
    ended = {report.unit for report in told if isinstance(report, Done)}
    down = {report.machine for report in told if isinstance(report, Down)}
    assert all(order.unit in ended or order.machine in down for order in _orders(20))


def test_faults_happen() -> None:
    told = _played(Faults(lose=0.1, double=0.2, delay=0.2, shuffle=True), 1, 60)
    ended = [report.unit for report in told if isinstance(report, Done)]
    assert len(ended) > len(set(ended))
    assert ended != sorted(ended)
    assert any(isinstance(report, Down) for report in told)


def test_reports_wait_for_whoever_calls_back() -> None:
    told: list[Report] = []
    later: list[object] = []
    engine = FakeEngine(told.extend, soon=later.append)
    engine.acquire(1, KIND)
    engine.start([Order("run", 5, 1, 1, "chain", CALLS, "5")])
    assert len(later) == 1
    assert told == []
    engine.kill(5, 1, 1)
    engine.deliver()
    assert told == [Up(1)]


def test_work_can_be_made_to_fail_and_machines_lost_by_hand() -> None:
    told: list[Report] = []

    def listen(reports: Sequence[Report]) -> None:
        told.extend(reports)

    engine = FakeEngine(listen, work=lambda order: Broke(order.unit, order.attempt, order.machine, "error", "no"))
    engine.acquire(1, KIND)
    engine.start([Order("run", 5, 1, 1, "chain", CALLS, "5")])
    engine.lose(1, "pulled the plug")
    engine.deliver()
    assert told == [Up(1), Broke(5, 1, 1, "error", "no"), Down(1, "pulled the plug")]
    assert engine.machines == {}


def test_what_nobody_heard_of_is_found_by_asking() -> None:
    told: list[Report] = []
    engine = FakeEngine(told.extend, faults=Faults(drop=1.0))
    engine.acquire(0, KIND)
    engine.start([order for order in _orders(3) if order.machine == 0])
    assert not engine.deliver()
    assert not told
    engine._faults = Faults()
    expected = {0: Expected(KIND, False, [(0, 1), (99, 1)]), 7: Expected(KIND, True), 8: Expected(KIND, False)}
    found = engine.check(expected)
    assert [(type(report), getattr(report, "machine", None)) for report in found] == [
        (Up, 0),
        (Done, 0),
        (Broke, 0),
        (Down, 7),
        (Down, 8),
    ]
    assert engine.check(expected) == found, "until it is confirmed"
    engine.confirm([(0, 1, 0)])
    assert Broke in {type(report) for report in engine.check({0: Expected(KIND, True, [(0, 1)])})}
    assert not told


def test_the_next_engine_finds_what_is_in_the_yard() -> None:
    yard = Yard()
    earlier = FakeEngine(lambda _: None, faults=Faults(slow=1.0), yard=yard)
    for machine in (0, 1, 2):
        earlier.acquire(machine, KIND)
    earlier.start(_orders(6))
    told: list[Report] = []
    engine = FakeEngine(told.extend, yard=yard)
    kept = [order for order in _orders(6) if order.machine == 0]
    attempts = [(order.unit, order.attempt) for order in kept]
    assert engine.check({0: Expected(KIND, True, attempts)}) == []
    assert [*yard.machines] == [0], "what was not expected is ended"
    engine.deliver()
    assert [(report.unit, report.attempt) for report in told if isinstance(report, Done)] == attempts
