"""Group commit: what may be acted on before it is saved, and when it is saved at the latest.

Where all that an engine runs ends with this process, a crash leaves no attempt behind that the store does not know. A
start may then be forgotten: the unit is still ready when the control plane comes back, and starts again. So when ends
of brief units come thick and fast, what follows on them does not wait for the store, and many of them share one commit.
An end that comes alone is saved first; so is, always, all that is not the good end of a brief unit or a start: money,
failures, kills, the end of a run. What a crash can cost of work that was done is thus some ends of units that took no
longer than `BRIEF`, of the last `LONGEST`.
"""

from collections.abc import Sequence

from tradewind.core.lineup import BRIEF
from tradewind.core.state import State
from tradewind.live.facts import Fact
from tradewind.live.port import Done
from tradewind.model.command import Command, Eligible, Grown, Predicted, Start
from tradewind.model.units import SECOND, Time

LONGEST = SECOND // 100
"""Time from one commit to the next when ends come thick and fast."""

_CAN_WAIT = frozenset((Start, Eligible, Grown, Predicted))


def is_brief(fact: Fact, state: State, now: Time) -> bool:
    """Whether a fact is the good end of a unit that did not take long, so that little is lost if it is forgotten."""
    if type(fact) is not Done:
        return False
    unit = state.units.get(fact.unit)
    return unit is not None and now - unit.started <= BRIEF


class Lingering:
    """Decides whether a turn waits for the store."""

    __slots__ = ("_allowed", "_saved", "until")

    def __init__(self, *, allowed: bool) -> None:
        self._allowed = allowed
        self._saved: Time = -LONGEST
        self.until: Time | None = None
        """When what was acted on must be saved; None: nothing waits."""

    def begins(self, commands: Sequence[Command], now: Time, *, is_plain: bool) -> bool:
        """Whether commands may be carried out before they are saved; `is_plain`: they follow from good ends alone."""
        if not self._allowed or not is_plain or not all(type(command) in _CAN_WAIT for command in commands):
            return False
        if self.until is None:
            if now >= self._saved + LONGEST:
                return False
            self.until = self._saved + LONGEST
        return True

    def end(self, now: Time) -> None:
        """Everything is being saved."""
        self._saved = now
        self.until = None

    def is_over(self, now: Time) -> bool:
        """Whether what waits must be saved now."""
        return self.until is None or now >= self.until
