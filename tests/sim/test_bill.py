"""The bill of a simulation, computed a second time from what was held and for how long."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import of, run, task, workflow

from tradewind.core.log import Record
from tradewind.model.command import Acquire, Charged, Refunded, Release
from tradewind.model.machine import Billing, MachineType
from tradewind.model.scenario import Scenario, Submission
from tradewind.model.units import HOUR, MINUTE, SECOND, UNIT, Duration, price_for

BILLINGS = (Billing(SECOND), Billing(MINUTE), Billing(HOUR), Billing(MINUTE, SECOND, MINUTE), Billing(HOUR, SECOND))


def paid_for(billing: Billing, held: Duration) -> Duration:
    """How much time is paid for a machine that was held for a while."""
    rounding = billing.rounding or billing.period
    return max(-(-held // rounding) * rounding, billing.minimum, rounding)


def bill(records: list[Record], kind: MachineType, hourly: Fraction) -> Fraction:
    """What the machines in a log cost, exactly."""
    begins = {record.machine: record.at for record in of(records, Acquire)}
    held = [record.at - begins.pop(record.machine) for record in of(records, Release)]
    assert not begins, "every machine is given back"
    return sum((paid_for(kind.billing, each) * hourly / HOUR for each in held), Fraction(0))


@settings(max_examples=60)
@given(
    hourly=st.fractions(0, 20, max_denominator=10**4),
    billing=st.sampled_from(BILLINGS),
    lengths=st.lists(st.integers(1, 9_000), min_size=1, max_size=8),
    policy=st.sampled_from(("demand", "pfa", "scs+")),
)
def test_a_simulation_costs_what_its_machines_do(
    hourly: Fraction, billing: Billing, lengths: list[int], policy: str
) -> None:
    kind = MachineType("k", price_for(hourly * UNIT, HOUR, billing.period), billing, limit=5)
    work = workflow(*(task(f"t{i}", length) for i, length in enumerate(lengths)))
    records = run(Scenario((), (kind,), policy=policy), [Submission(0, work)])
    charged = sum(record.amount for record in of(records, Charged))
    refunded = sum(record.amount for record in of(records, Refunded))
    machines = len(of(records, Acquire))
    assert abs(charged - refunded - bill(records, kind, hourly * UNIT)) <= machines, "to a millionth for each machine"
