"""Machines that are charged by their size: what their missing cores are worth is paid back, to the micro-unit."""

from dataclasses import replace

import pytest
from audit import Audit
from hypothesis import given
from hypothesis import strategies as st
from worlds import Bench, of, task, workflow

from tradewind.core.ledger import worth
from tradewind.model.command import Charged, Refunded
from tradewind.model.event import Closed, Finished, MachineFailed, MachineLost, MachineReady, MachineResized, Timer
from tradewind.model.machine import Billing, MachineType, Market
from tradewind.model.requirement import Requirement, amounts
from tradewind.model.units import HOUR, MINUTE, SECOND, Money

HARVEST = MachineType(
    "harvest",
    price=70,
    core_price=10,
    billing=Billing(HOUR),
    slots=8,
    amounts=amounts(cpus=8),
    market=Market.HARVEST,
    minimum=amounts(cpus=1),
)
ONE = Requirement(amounts=amounts(cpus=1))


def held(kind: MachineType = HARVEST, *sizes: tuple[float, int], up: float = 0) -> Bench:
    """A machine that has had some sizes, each from a time on, in seconds."""
    bench = Bench([kind], "fixed", {"machines": 1}, interval=HOUR)
    bench.submit(0, workflow(task("t", 10**6, needs=ONE)))
    bench.tell(MachineReady, up, 0)
    for at, cores in sizes:
        bench.tell(MachineResized, at, 0, amounts(cpus=cores))
    return bench


def money(bench: Bench) -> tuple[Money, Money]:
    """What was charged and what was paid back."""
    records = bench.records
    return sum(each.amount for each in of(records, Charged)), sum(each.amount for each in of(records, Refunded))


def test_at_full_size_the_whole_price_is_paid() -> None:
    bench = held()
    bench.tell(Timer, 3600)
    assert money(bench) == (140, 0)


def test_missing_cores_are_paid_back_when_the_period_ends() -> None:
    bench = held(HARVEST, (0, 1))
    assert money(bench) == (70, 0)
    bench.tell(Timer, 3600)
    assert money(bench) == (140, 70)


def test_a_change_in_the_middle_of_a_period_counts_from_then_on() -> None:
    bench = held(HARVEST, (1800, 4))
    bench.tell(Timer, 3600)
    assert money(bench) == (140, 20)
    bench.tell(Timer, 7200)
    assert money(bench) == (210, 60)


def test_growth_within_a_period_costs_no_further_charge() -> None:
    bench = held(HARVEST, (0, 2), (900, 8), (1800, 2), (2700, 8))
    assert len(of(bench.records, Charged)) == 1
    bench.tell(Timer, 3600)
    assert money(bench) == (140, 30)


def test_a_machine_that_comes_up_small_was_so_all_the_time() -> None:
    bench = Bench([HARVEST], "fixed", {"machines": 1}, interval=HOUR)
    bench.submit(0, workflow(task("t", 10**6, needs=ONE)))
    bench.tell(MachineResized, 1800, 0, amounts(cpus=1))
    bench.tell(MachineReady, 1800, 0)
    bench.tell(Timer, 3600)
    assert money(bench) == (140, 70)


def test_one_that_never_comes_up_costs_nothing() -> None:
    bench = Bench([HARVEST], "fixed", {"machines": 1}, interval=HOUR)
    bench.submit(0, workflow(task("t", 10**6, needs=ONE)))
    bench.tell(MachineResized, 10, 0, amounts(cpus=1))
    bench.tell(MachineFailed, 20, 0, "it did not come up")
    charged, refunded = money(bench)
    assert charged == refunded


@pytest.mark.parametrize(
    ("rounding", "back"),
    [(None, 52), (1800 * SECOND, 35 + 17), (SECOND, 46 + 5)],
    ids=["whole hours", "half hours", "seconds"],
)
def test_what_is_taken_back_counts_as_small_up_to_when_its_paid_use_ends(rounding: int | None, back: Money) -> None:
    bench = held(replace(HARVEST, billing=Billing(HOUR, rounding)), (900, 1))
    bench.tell(MachineLost, 1200, 0, "taken back")
    assert money(bench) == (70, back)


def test_what_it_takes_of_a_budget_is_its_price_at_full_size() -> None:
    assert worth(HARVEST, HOUR) == 70


def test_missing_cores_cannot_cost_more_than_the_machine() -> None:
    with pytest.raises(ValueError, match="exceed the price of the machine"):
        replace(HARVEST, core_price=11)


@given(
    changes=st.lists(st.tuples(st.integers(0, 7_000), st.integers(1, 8)), max_size=6),
    end=st.integers(7_000, 15_000),
    rounding=st.sampled_from([None, SECOND, MINUTE, HOUR]),
    price=st.integers(0, 10**7),
)
def test_the_bill_is_exact_whatever_the_sizes(
    changes: list[tuple[int, int]], end: int, rounding: int | None, price: int
) -> None:
    kind = replace(HARVEST, price=7 * price + 5, core_price=price, billing=Billing(HOUR, rounding))
    bench = held(kind)
    todo = sorted([*changes, *((at, 0) for at in range(3600, end, 3600))])
    for at, cores in todo:
        if cores:
            bench.tell(MachineResized, at, 0, amounts(cpus=cores))
        else:
            bench.tell(Timer, at)
    bench.tell(Finished, end, 0, 1, 0)
    bench.tell(Closed, end)
    audit = Audit([kind], bench.tenants).check(bench.records)
    assert 0 <= audit.cost <= -(-end // 3600) * kind.price
