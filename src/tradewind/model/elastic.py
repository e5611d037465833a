"""Elastic work: independent iterations that several attempts share while they run."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from tradewind.model.units import SECOND, Duration

Range: TypeAlias = tuple[int, int]
"""Iterations from the first up to, but not including, the second."""

Next: TypeAlias = Literal["go", "wait", "end"]
"""What a share does next: `go` on with its ranges, `wait` and report again, or `end` in good order."""


@dataclass(frozen=True, slots=True)
class Elastic:
    """A task whose iterations may be split over any number of machines and moved between them."""

    iterations: int
    initial: int = 1
    """Shares at the start; 0: one for each that fits on what the tenant holds or can have for free."""
    maximum: int = 1_000
    """Most shares at once."""
    within: Duration | None = None
    """Wanted time from the moment it can start; the deadline of the run also counts."""
    balancer: str = ""
    """Who balances it; empty: the balancer of the policy."""
    weights: tuple[int, ...] = ()
    """Sizes of the initial shares relative to each other, for static partitioning; empty: equal sizes."""
    report: Duration = 10 * SECOND
    """Shortest time between two reports of a share that has work left."""
    reduces: bool = False
    """Whether the unit itself runs once all iterations are delivered, to reduce their results."""


class Delivery(NamedTuple):
    """Results that a share hands over."""

    number: int
    """Counted from 1 within the attempt, so that a repeated delivery is recognised."""
    ranges: tuple[Range, ...]
    """The iterations that it is for."""


class Assignment(NamedTuple):
    """What a share is to do until its next report."""

    ranges: tuple[Range, ...]
    """Everything it holds and has not delivered, in the order in which it is to be done."""
    interval: Duration
    """When to report again; sooner when the ranges are done."""
    next: Next
