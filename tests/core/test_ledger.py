"""The ledger against answers worked out by hand."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from worlds import Bench, minutely, of, simulated, task, workflow

from tradewind.core.ledger import UNLIMITED, Account, cost, first_periods, paid_back, worth
from tradewind.model.command import Charged, Kill, Refunded, Release
from tradewind.model.event import Closed, Finished, MachineFailed, MachineLost, MachineReady, TenantChanged, Timer
from tradewind.model.machine import Billing, MachineType
from tradewind.model.tenant import Tenant
from tradewind.model.units import HOUR, MINUTE, SECOND, UNIT, Duration, parse_price, price_for

BY_MINUTE = MachineType("m", 2 * UNIT, Billing(MINUTE))
BY_SECOND = MachineType("s", UNIT, Billing(SECOND, SECOND, minimum=MINUTE))
BY_HOUR = MachineType("h", 6 * UNIT, Billing(HOUR))
BY_HOUR_TO_THE_MINUTE = MachineType("hm", 6 * UNIT, Billing(HOUR, MINUTE))


@pytest.mark.parametrize(
    ("kind", "interval", "answer"),
    [
        (BY_MINUTE, MINUTE, 2),
        (BY_MINUTE, MINUTE + 1, 4),  # two renewals fit into a stretch of a minute and a microsecond
        (BY_MINUTE, MINUTE - 1, 2),
        (BY_MINUTE, 1, 2),
        (BY_MINUTE, 10 * MINUTE, 20),
        (BY_SECOND, SECOND, 60),  # the first charge covers the minimum
        (BY_SECOND, MINUTE, 60),
        (BY_SECOND, 61 * SECOND, 61),
        (BY_HOUR, MINUTE, 6),
    ],
)
def test_worth_is_the_most_a_machine_can_cost_in_an_interval(
    kind: MachineType, interval: Duration, answer: int
) -> None:
    assert worth(kind, interval) == answer * UNIT


@pytest.mark.parametrize(
    ("minimum", "periods"), [(0, 1), (1, 1), (MINUTE, 1), (MINUTE + 1, 2), (150 * SECOND, 3), (3 * MINUTE, 3)]
)
def test_the_first_charge_covers_the_minimum(minimum: Duration, periods: int) -> None:
    kind = MachineType("x", 2 * UNIT, Billing(MINUTE, minimum=minimum))
    assert first_periods(kind) == periods
    assert cost(kind, periods * MINUTE, 7) == periods * 2 * UNIT


@pytest.mark.parametrize(
    ("kind", "paid", "held", "answer"),
    [
        (BY_MINUTE, MINUTE, 1, 0),  # a begun period is paid
        (BY_HOUR_TO_THE_MINUTE, HOUR, 10 * MINUTE, 5 * UNIT),
        (BY_HOUR_TO_THE_MINUTE, HOUR, 10 * MINUTE + 1, 49 * 6 * UNIT // 60),
        (BY_HOUR_TO_THE_MINUTE, HOUR, 10 * MINUTE - 1, 5 * UNIT),
        (BY_HOUR_TO_THE_MINUTE, 2 * HOUR, HOUR, 6 * UNIT),
        (BY_HOUR_TO_THE_MINUTE, HOUR, HOUR, 0),
        (BY_HOUR_TO_THE_MINUTE, HOUR, 0, 6 * UNIT),
        (BY_SECOND, MINUTE, 5 * SECOND, 0),  # the minimum stays
        (BY_SECOND, MINUTE, MINUTE - 1, 0),
        (BY_SECOND, 61 * SECOND, MINUTE, UNIT),
        (BY_SECOND, 61 * SECOND, MINUTE + 1, 0),
        (MachineType("odd", 10, Billing(3, 1)), 3, 1, 6),  # fractions of a micro-unit are not paid back
    ],
)
def test_what_is_not_used_is_paid_back(kind: MachineType, paid: Duration, held: Duration, answer: int) -> None:
    assert paid_back(kind, 0, 1000, 1000 + paid, 1000 + held) == answer


def test_an_account_commits_what_a_machine_can_cost_and_remembers_what_it_has_cost() -> None:
    account = Account(Tenant("t", 10 * UNIT, MINUTE))
    assert account.available(0) == 10 * UNIT
    account.commit(BY_MINUTE)
    account.commit(BY_MINUTE)
    assert account.available(0) == 6 * UNIT
    account.withdraw(BY_MINUTE, 0, 0, MINUTE, 30 * SECOND)  # charged at 0: counts until a minute has passed
    assert account.available(30 * SECOND) == 6 * UNIT
    assert account.available(MINUTE - 1) == 6 * UNIT
    assert account.available(MINUTE) == 8 * UNIT


def test_only_charges_of_the_last_interval_count_for_machines_gone() -> None:
    account = Account(Tenant("t", 100 * UNIT, 90 * SECOND))
    account.commit(BY_MINUTE)
    assert account.available(0) == 96 * UNIT
    account.withdraw(BY_MINUTE, 0, 0, 4 * MINUTE, 200 * SECOND)  # charged at 0, 60, 120 and 180; the last two are young
    assert account.available(200 * SECOND) == 96 * UNIT
    assert account.available(210 * SECOND - 1) == 96 * UNIT
    assert account.available(210 * SECOND) == 98 * UNIT
    assert account.available(270 * SECOND) == 100 * UNIT


def test_the_first_charge_of_a_machine_gone_early_counts_in_full() -> None:
    account = Account(Tenant("t", 100 * UNIT, 10 * SECOND))
    account.commit(BY_SECOND)
    assert account.available(0) == 40 * UNIT
    account.withdraw(BY_SECOND, 0, 0, MINUTE, SECOND)
    assert account.available(SECOND) == 40 * UNIT
    assert account.available(10 * SECOND) == 100 * UNIT


def test_charges_for_machines_gone_are_forgotten_in_order_of_time_not_of_leaving() -> None:
    account = Account(Tenant("t", 10 * UNIT, MINUTE))
    account.commit(BY_MINUTE)
    account.commit(BY_MINUTE)
    account.withdraw(BY_MINUTE, 0, 30 * SECOND, 90 * SECOND, 40 * SECOND)
    account.withdraw(BY_MINUTE, 0, 0, MINUTE, 50 * SECOND)
    assert account.available(50 * SECOND) == 6 * UNIT
    assert account.available(60 * SECOND) == 8 * UNIT
    assert account.available(90 * SECOND) == 10 * UNIT


def test_without_a_budget_there_is_always_enough() -> None:
    account = Account(Tenant("t"))
    account.commit(BY_HOUR)
    assert account.available(0) == UNLIMITED


def test_a_machine_held_for_a_year_is_settled_without_going_through_all_its_periods() -> None:
    kind = MachineType("s", 1, Billing(SECOND))
    account = Account(Tenant("t", 10**9, MINUTE))
    account.commit(kind)
    year = 365 * 24 * HOUR
    account.withdraw(kind, 0, 0, year, year - 1)
    assert len(account._gone) == 60
    assert account.available(year - 1) == 10**9 - 60


def hours_charged(seconds: float) -> int:
    kind = MachineType("h", UNIT, Billing(HOUR))
    records = simulated([workflow(task(seconds=seconds))], [kind])
    return len(of(records, Charged))


def test_an_hour_ends_to_the_microsecond() -> None:
    assert hours_charged(3600 - 1e-6) == 1
    assert hours_charged(3600) == 1, "what ends with its paid time costs no more"
    assert hours_charged(3600 + 1e-6) == 2


def test_by_the_second_with_a_minimum() -> None:
    def bill(seconds: float) -> float:
        records = simulated([workflow(task(seconds=seconds))], [BY_SECOND])
        amounts = [r.amount for r in of(records, Charged)] + [-r.amount for r in of(records, Refunded)]
        return float(sum(amounts) / UNIT)

    assert bill(1) == 60
    assert bill(60) == 60
    assert bill(60.000001) == 61
    assert bill(75.5) == 76


@pytest.mark.parametrize(("seconds", "hours"), [(3599, 1), (3600, 1), (3601, 2), (7199, 2), (7201, 3)], ids=str)
def test_a_machine_given_back_a_second_before_or_after_the_hour(seconds: int, hours: int) -> None:
    assert hours_charged(seconds) == hours


def test_a_machine_lost_is_paid_for_as_long_as_it_was_there() -> None:
    kind = MachineType("s", 60 * UNIT, Billing(MINUTE, SECOND))
    bench = Bench([kind], "fixed", {"machines": 1})
    bench.submit(0, workflow(task(seconds=500)))
    bench.tell(MachineReady, 5, 0)
    bench.tell(MachineLost, 20.5, 0, "gone")
    charged = sum(r.amount for r in of(bench.records, Charged) if r.machine == 0)
    assert charged - sum(r.amount for r in of(bench.records, Refunded)) == 21 * UNIT


@pytest.mark.parametrize(("period", "rounding"), [(180, 120), (60, 90), (1, 60)])
def test_what_is_paid_ahead_covers_what_is_rounded_up(period: int, rounding: int) -> None:
    with pytest.raises(ValueError, match="multiple of the rounding"):
        Billing(period * SECOND, rounding * SECOND)


def test_a_machine_that_never_came_up_costs_nothing_but_counts_against_the_interval() -> None:
    bench = Bench([minutely(price=3)], tenants=[Tenant("default", 3 * UNIT)])
    bench.submit(0, workflow(task()))
    bench.tell(Timer, 0)
    bench.tell(MachineFailed, 30, 0, "broken")
    assert [r.amount for r in of(bench.records, Charged)] == [3 * UNIT]
    assert [r.amount for r in of(bench.records, Refunded)] == [3 * UNIT]
    account = bench.state.all_pools[0].account
    assert account.available(30 * SECOND) == 0
    assert account.available(60 * SECOND) == 3 * UNIT


def lowered(budget: int, seconds: list[int], to: int) -> Bench:
    """Three busy machines, one task each started at the given times, renewed at 60 s under a lowered budget."""
    bench = Bench([minutely()], "fixed", {"machines": 3}, tenants=[Tenant("default", budget * UNIT)])
    bench.submit(0, workflow(*[task(f"t{i}", 500) for i in range(3)]))
    for machine, at in enumerate(seconds):
        bench.tell(MachineReady, at, machine)
    bench.tell(TenantChanged, 50, Tenant("default", to * UNIT))
    bench.tell(Timer, 60)
    return bench


def test_a_lowered_budget_costs_the_machines_that_are_cheapest_to_lose() -> None:
    bench = lowered(3, [5, 40, 20], to=1)  # in order of readiness: machine 0 runs longest, machine 1 shortest
    assert [r.machine for r in of(bench.records, Kill)] == [1, 2]
    assert [r.machine for r in of(bench.records, Release)] == [1, 2]
    assert [r.machine for r in of(bench.records, Charged)] == [0, 1, 2, 0]


def test_an_idle_machine_is_lost_before_a_busy_one() -> None:
    bench = Bench([minutely()], "fixed", {"machines": 2}, tenants=[Tenant("default", 2 * UNIT)])
    bench.submit(0, workflow(task("a", 500), task("b", 10)))
    bench.tell(MachineReady, 0, 0)
    bench.tell(MachineReady, 0, 1)
    bench.tell(Finished, 10, 1, 1, 1)
    bench.tell(TenantChanged, 50, Tenant("default", UNIT))
    bench.tell(Timer, 60)
    assert [r.machine for r in of(bench.records, Release)] == [1]
    assert not of(bench.records, Kill)


def test_a_lowered_budget_holds_at_once_for_renewals_and_a_raised_one_for_rents() -> None:
    bench = lowered(3, [5, 40, 20], to=0)
    assert not bench.state.machines
    bench.tell(TenantChanged, 70, Tenant("default", 2 * UNIT))
    bench.tell(Timer, 120)
    assert len(bench.state.machines) == 2


def test_killed_work_runs_again_with_a_new_attempt() -> None:
    bench = lowered(3, [5, 40, 20], to=1)
    bench.tell(Finished, 70, 0, 1, 0)
    assert [(s.unit, s.attempt, s.machine) for s in bench.starts[3:]] == [(1, 2, 0)]
    assert [type(c).__name__ for c in bench.tell(Finished, 80, 1, 1, 1)] == ["Dropped"]


def test_a_slightly_lowered_budget_does_not_cost_most_machines() -> None:
    tenant = Tenant("default", 600 * UNIT, HOUR)  # pays for ten machines at one a minute
    bench = Bench([minutely()], "fixed", {"machines": 10}, tenants=[tenant])
    bench.submit(0, workflow(*[task(f"t{i}", 9_000) for i in range(10)]))
    for machine in range(10):
        bench.tell(MachineReady, 1, machine)
    for minute in range(1, 61):
        bench.tell(Timer, minute * 60)
    bench.tell(TenantChanged, 3_601, replace(tenant, budget=540 * UNIT))
    bench.tell(Timer, 3_660)
    assert len(bench.state.machines) == 9


def test_everything_is_released_when_the_last_run_has_ended() -> None:
    bench = Bench([minutely()], "fixed", {"machines": 2})
    bench.submit(0, workflow(task()))
    bench.tell(MachineReady, 5, 0)
    bench.tell(Closed, 6)
    bench.tell(Finished, 15, 0, 1, 0)
    assert [(r.machine, r.because) for r in of(bench.records, Release)] == [
        (0, "all work is done"),
        (1, "all work is done"),
    ]


PRICES = st.fractions(0, 10, max_denominator=10**5).map(lambda price: price / 50)
"""Of an hour, up to 0.2."""


@pytest.mark.parametrize(("price", "answer"), [("0.0042/h", 4200), ("0.0416/h", 41600), ("0.0005/h", 500)])
def test_a_price_by_the_second_comes_to_the_price_of_the_hour(price: str, answer: int) -> None:
    kind = MachineType("s", parse_price(price, SECOND), Billing(SECOND, SECOND))
    charges = of(simulated([workflow(task("t", 3600))], [kind], interval=HOUR), Charged)
    assert len(charges) == 3600
    assert sum(charge.amount for charge in charges) == answer


@given(
    price=PRICES,
    period=st.sampled_from([SECOND, MINUTE, 7 * SECOND]),
    machine=st.integers(0, 10**6),
    held=st.integers(0, 5_000),
    window=st.integers(1, 5_000),
)
def test_any_stretch_of_time_costs_what_it_should(
    price: Fraction, period: Duration, machine: int, held: int, window: int
) -> None:
    exact = price * UNIT * period / HOUR
    kind = MachineType("s", price_for(price * UNIT, HOUR, period), Billing(period))
    first, last = (cost(kind, periods * period, machine) for periods in (held, held + window))
    assert abs(last - (held + window) * exact) < 1
    assert abs((last - first) - window * exact) < 1
    assert last - first <= worth(kind, window * period)  # what the budget is asked for covers it


@given(price=PRICES, machines=st.integers(1, 1_000), held=st.integers(1, 100))
def test_many_machines_held_briefly_cost_together_what_they_should(price: Fraction, machines: int, held: int) -> None:
    kind = MachineType("s", price_for(price * UNIT, HOUR, SECOND), Billing(SECOND))
    paid = sum(cost(kind, held * SECOND, number) for number in range(machines))
    assert abs(paid - machines * held * price * UNIT / 3600) < 5


@given(price=PRICES, held=st.integers(0, 2 * HOUR), machine=st.integers(0, 100))
def test_what_is_kept_of_a_period_is_what_its_use_costs(price: Fraction, held: Duration, machine: int) -> None:
    kind = MachineType("h", price_for(price * UNIT, HOUR, HOUR), Billing(HOUR, SECOND))
    paid = max(1, -(-held // HOUR)) * HOUR
    kept = cost(kind, paid, machine) - paid_back(kind, machine, 5, 5 + paid, 5 + held)
    assert abs(kept - Fraction(-(-held // SECOND) * SECOND, HOUR) * price * UNIT) < 1
