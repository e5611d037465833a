"""Which idle machines are given back first."""

from dataclasses import dataclass
from typing import cast

from tradewind.policies.parts.returning import expiring
from tradewind.policies.protocol import Machine


@dataclass
class Fake:
    id: int
    paid_until: int
    idle_since: int = 0
    is_idle: bool = True


def order(*machines: Fake, now: int = 100, interval: int = 60) -> list[int]:
    return [machine.id for machine in expiring(cast("tuple[Machine, ...]", machines), now, interval)]


def test_only_what_would_be_paid_again_before_the_next_decision() -> None:
    assert order(Fake(0, 159), Fake(1, 160), Fake(2, 161), Fake(3, 100), Fake(4, 90)) == [4, 3, 0]


def test_machines_at_work_or_booting_stay() -> None:
    assert order(Fake(0, 120, is_idle=False), Fake(1, 130)) == [1]


def test_closest_to_the_end_first_then_longest_idle_then_oldest() -> None:
    machines = (Fake(5, 120, 50), Fake(4, 120, 50), Fake(3, 120, 40), Fake(2, 110, 99), Fake(1, 130, 0))
    assert order(*machines) == [2, 3, 4, 5, 1]
