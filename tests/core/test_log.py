"""Records as plain values: names instead of numbers, seconds and units of money."""

from typing import Any

import pytest
from worlds import Bench, minutely, task, workflow

from tradewind.core.log import Encoder, Record, name_of
from tradewind.model.command import (
    Acquire,
    Admitted,
    Charged,
    Cut,
    Dropped,
    Eligible,
    Ended,
    Grown,
    Kill,
    Recalled,
    Refunded,
    Refused,
    Release,
    Start,
)
from tradewind.model.event import (
    Cancelled,
    Closed,
    Extended,
    Failed,
    Finished,
    MachineFailed,
    MachineLost,
    MachineReady,
    Submitted,
    TenantChanged,
    Timer,
)
from tradewind.model.tenant import Tenant
from tradewind.model.units import UNIT

S = 1_000_000


@pytest.fixture
def encoder() -> Encoder:
    bench = Bench([minutely("small"), minutely("large")], tenants=[Tenant("ann"), Tenant("bob")])
    bench.submit(0, workflow(task("align"), task("sort")), "bob")
    return Encoder(bench.state)


@pytest.mark.parametrize(
    ("record", "plain"),
    [
        (Submitted(S, 1, "ann", workflow()), {"seq": 1, "tenant": "ann", "workflow": "w"}),
        (Extended(S, 1, 0, (task("x"), task("y")), True), {"run": 0, "is_last": True, "tasks": 2, "added": ["x", "y"]}),
        (Cancelled(S, 1, 4), {"run": 4}),
        (MachineReady(S, 1, 4), {"machine": 4}),
        (MachineFailed(S, 1, 4, "x"), {"machine": 4, "reason": "x"}),
        (MachineLost(S, 1, 4, "x"), {"machine": 4, "reason": "x"}),
        (Finished(S, 1, 1, 2, 3), {"unit": 1, "attempt": 2, "machine": 3, "run": 0, "task": "sort"}),
        (Failed(S, 1, 0, 2, 3, "x"), {"unit": 0, "reason": "x", "failure": "error", "run": 0, "task": "align"}),
        (
            TenantChanged(S, 1, Tenant("bob", 5 * UNIT // 2, 60 * S, 2.0, 7)),
            {"tenant": "bob", "budget": 2.5, "interval": 60.0, "weight": 2.0, "machines": 7},
        ),
        (TenantChanged(S, 1, Tenant("bob")), {"tenant": "bob", "budget": None, "machines": None}),
        (Closed(S, 1), {"seq": 1}),
        (Timer(S, 1), {"seq": 1}),
        (Acquire(S, 7, 3, 1, 0, "x"), {"cause": 7, "machine": 3, "kind": "large", "tenant": "ann", "because": "x"}),
        (Release(S, 7, 3, "x"), {"machine": 3, "because": "x"}),
        (Start(S, 7, 1, 2, 3), {"unit": 1, "attempt": 2, "machine": 3, "run": 0, "task": "sort"}),
        (Kill(S, 7, 1, 2, 3, "x"), {"unit": 1, "attempt": 2, "machine": 3, "because": "x"}),
        (
            Admitted(S, 7, 0, 1, "w", 0, 2, 3, 5 * S // 2, 4 * S),
            {"tenant": "bob", "workflow": "w", "first": 0, "tasks": 2, "priority": 3, "ideal": 2.5, "deadline": 4.0},
        ),
        (Admitted(S, 7, 0, 1, "w", 0, 2, 3, 0, None), {"deadline": None}),
        (Grown(S, 7, 0, 1, 2, 2), {"tenant": "bob", "first": 2, "tasks": 2}),
        (Recalled(S, 7, 0, 1, 2, 2), {"run": 0, "tenant": "bob", "first": 2, "tasks": 2}),
        (Refused(S, 7, "ann", "w", "x"), {"tenant": "ann", "workflow": "w", "reason": "x"}),
        (Eligible(S, 7, 0, 1, -2), {"run": 0, "tenant": "bob", "change": -2}),
        (Ended(S, 7, 0, 1, "done"), {"status": "done", "tenant": "bob"}),
        (Charged(S, 7, 3, 0, UNIT // 4, 60 * S), {"tenant": "ann", "amount": 0.25, "until": 60.0}),
        (Refunded(S, 7, 3, 0, UNIT // 4), {"amount": 0.25}),
        (Cut(S, 7, 0, 1, 5, 2, "x"), {"tenant": "ann", "kind": "large", "asked": 5, "granted": 2}),
        (Dropped(S, 7, "it", "x"), {"what": "it", "because": "x"}),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, tuple) else "",
)
def test_records_are_told_with_names_and_units(encoder: Encoder, record: Record, plain: dict[str, Any]) -> None:
    told = encoder.encode(record)
    assert list(told)[:2] == ["at", "event"]
    assert told["at"] == 1.0
    kind: type = type(record)
    assert told["event"] == name_of(kind)
    assert {name: told[name] for name in plain} == plain


def test_names_of_records() -> None:
    assert [name_of(kind) for kind in (Finished, MachineReady, TenantChanged)] == [
        "finished",
        "machine-ready",
        "tenant-changed",
    ]


def test_a_late_report_about_a_run_long_over_is_still_told(encoder: Encoder) -> None:
    assert encoder.encode(Finished(S, 1, 99, 1, 0)) == {
        "at": 1.0,
        "event": "finished",
        "seq": 1,
        "unit": 99,
        "attempt": 1,
        "machine": 0,
    }
