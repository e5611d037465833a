"""What one event costs, counted in operations rather than measured in time, does not grow with the backlog."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from sys import setprofile
from typing import Any

from worlds import Bench, chain, minutely, task, workflow

from tradewind.model.event import Cancelled, Failed, Finished, MachineLost, MachineReady, Timer
from tradewind.model.requirement import Requirement, amounts
from tradewind.model.tenant import Tenant
from tradewind.model.units import SECOND, UNIT
from tradewind.model.workflow import Retry


@contextmanager
def calls() -> Iterator[Callable[[], int]]:
    """Counts calls of functions, those of the interpreter's own included."""
    count = 0

    def profile(_frame: object, event: str, _detail: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    setprofile(profile)
    try:
        yield lambda: count
    finally:
        setprofile(None)


def cost(bench: Bench, kind: type[Any], at: float, *details: Any) -> int:
    """How many calls it takes to handle an event."""
    event = kind(round(at * SECOND), bench.next_seq(), *details)
    with calls() as count:
        bench.core.handle(event)
        return count()


def backlog(size: int, machines: int = 4) -> Bench:
    """A core with so many tasks waiting, some of them in a chain, and a few machines at work."""
    bench = Bench([minutely(slots=1)], "fixed", {"machines": machines})
    bench.submit(0, workflow(*[task(f"t{i}", retry=Retry(9)) for i in range(size)]))
    bench.submit(0, chain(*[task(f"c{i}") for i in range(size)]))
    bench.tell(Timer, 0)
    for machine in range(machines):
        bench.tell(MachineReady, 0, machine)
    return bench


def costs(size: int, machines: int = 4) -> dict[str, int]:
    bench = backlog(size, machines)
    return {
        "finished": cost(bench, Finished, 1, 0, 1, 0),
        "failed": cost(bench, Failed, 2, 1, 1, 1, "oops"),
        "resumed": cost(bench, Timer, 2),
        "lost": cost(bench, MachineLost, 3, 2, "gone"),
        "stale": cost(bench, Finished, 4, 0, 1, 0),
        "unknown": cost(bench, Cancelled, 5, 99),
    }


def test_no_event_looks_through_the_backlog() -> None:
    small, large = costs(20), costs(2_000)
    for name, calls_made in large.items():
        assert calls_made <= small[name] + 10, name
        assert calls_made < 200, name


def test_no_event_looks_through_all_machines() -> None:
    small, large = costs(500, machines=5), costs(500, machines=400)
    for name, calls_made in large.items():
        assert calls_made <= small[name] + 10, name


def test_a_match_is_found_however_many_machines_are_full() -> None:
    bench = backlog(1_000, machines=300)
    assert cost(bench, Finished, 1, 299, 1, 299) < 60


def varied(tasks: int) -> Bench:
    """Machines that have run many different mixtures of work."""
    bench = Bench([minutely(slots=2, amounts=amounts(memory=10**6))], "fixed", {"machines": 2})
    needs = [Requirement(amounts=amounts(memory=400_000 + 37 * i)) for i in range(tasks)]
    bench.submit(0, workflow(*[task(f"t{i}", needs=need) for i, need in enumerate(needs)]))
    bench.tell(Timer, 0)
    for machine in range(2):
        bench.tell(MachineReady, 0, machine)
    for unit in range(tasks - 4):
        start = bench.starts[unit]
        bench.tell(Finished, 1, start.unit, start.attempt, start.machine)
    return bench


def test_mixtures_that_are_over_are_forgotten() -> None:
    (fleet,) = varied(300).state.all_pools[0].fleets
    assert len(fleet.groups) <= 20 + 2 * len(fleet.machines)


def test_releasing_machines_does_not_look_through_those_released_before() -> None:
    def last_release(machines: int) -> int:
        bench = Bench([minutely()], "fixed", {"machines": machines}, tenants=[Tenant("default", 10**6 * UNIT)])
        bench.submit(0, workflow(task(retry=Retry(lost=10**6))))
        for machine in range(machines - 1):
            bench.tell(MachineLost, 1, machine, "gone")
        return cost(bench, MachineLost, 2, machines - 1, "gone")

    assert last_release(1_000) <= last_release(10) + 10


def test_a_long_life_stays_small() -> None:
    bench = Bench([minutely()])
    bench.submit(0, workflow(task()))
    bench.tell(Timer, 0)
    for run in range(2_000):
        bench.submit(1 + run, workflow(task()))
        bench.tell(Cancelled, 1 + run, run + 1)
        bench.tell(Timer, 1 + run)
        bench.tell(MachineLost, 1 + run, bench.acquired[-1].machine, "gone")
    state = bench.state
    assert (len(state.units), len(state.runs)) == (1, 1)
    assert len(state.machines) <= 2
    assert sum(map(len, state.all_pools[0].queues.values())) < 200
    assert len(bench.core.alarms) < 200
