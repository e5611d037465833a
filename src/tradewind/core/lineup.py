"""Lining up: brief work is given to a machine before there is room for it, to begin the moment there is.

A driver asks for it whose machines keep such a line; then no message has to pass between the end of one attempt and the
start of the next. What comes next stays the same: only the first ready unit, by the placer's own order, is lined up,
and only behind units of the same need, so that each that ends makes room for one. All of them must be of kinds that
have lately been brief, from the start in the line to the end: no unit loses more than that by not being free for
another machine. A machine whose line does not move gives it back.
"""

from tradewind.core.machines import BUSY, Machine
from tradewind.core.work import Unit
from tradewind.model.units import SECOND, Duration

BRIEF: Duration = SECOND // 40
"""The longest time, waiting in the line included, that counts as brief."""

PROOF = 16
"""How many units of a kind must have been brief, one after the other, before any is lined up."""

_MOST_KINDS = 10_000


class Lineup:
    """Decides what is lined up where."""

    __slots__ = ("_brief", "_depth")

    def __init__(self, depth: int) -> None:
        """`depth`: how many units may wait on a machine."""
        self._depth = depth
        self._brief: dict[str, int] = {}
        """How many units of each kind have been brief since one was not."""

    def note(self, unit: Unit, taken: Duration) -> None:
        """A unit has ended so long after its start."""
        brief, name = self._brief, unit.task.name
        if taken > BRIEF:
            brief.pop(name, None)
        elif name in brief or len(brief) < _MOST_KINDS:
            brief[name] = brief.get(name, 0) + 1

    def doubt(self, unit: Unit) -> None:
        """Units like this one may not be brief after all."""
        self._brief.pop(unit.task.name, None)

    def following(self, machine: Machine) -> Unit | None:
        """The unit to be lined up on a machine, if there is any."""
        running = machine.running
        if len(running) >= machine.capacity[0] + self._depth or not self._brief:
            return None
        if machine.state != BUSY or not machine.kind.is_firm:
            return None
        pool = machine.pool
        ready = [unit for need in pool.waiting() if (unit := pool.first(need)) is not None]
        if not ready:
            return None
        unit = min(ready, key=_key) if len(ready) > 1 else ready[0]
        need = unit.need
        if not self._is_brief(unit) or machine.kind not in need.kinds:
            return None
        if len(running) >= machine.holds(need.demand) + self._depth:
            return None
        for each in running.values():
            if each.need is not need or (each.task.name != unit.task.name and not self._is_brief(each)):
                return None
        return unit

    def _is_brief(self, unit: Unit) -> bool:
        return self._brief.get(unit.task.name, 0) >= PROOF


def _key(unit: Unit) -> int:
    return unit.key
