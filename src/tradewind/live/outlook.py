"""When a run is thought to end, how that stands to its deadline, and why it has failed."""

from typing import Any

from tradewind.live.store.pages import Head
from tradewind.model.units import Time, in_seconds


def outlook(head: Head, predicted: Time | None) -> dict[str, Any]:
    """The foreseen end of a run that has not ended, and the time left then, or at its end, until its deadline."""
    expected = predicted if head.ended is None else None
    end = head.ended if head.ended is not None else expected
    slack = None if head.deadline is None or end is None else head.deadline - end
    return {
        "deadline": None if head.deadline is None else in_seconds(head.deadline),
        "predicted": None if expected is None else in_seconds(expected),
        "slack": None if slack is None else in_seconds(slack),
    }
