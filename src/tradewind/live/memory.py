"""What is kept over restarts: what a policy remembers, what was learned of run times and boot lags, and chance."""

from collections.abc import Mapping

from tradewind.core.state import State
from tradewind.model.action import Json
from tradewind.model.units import SECOND, Time
from tradewind.policies.protocol import Policy

_PAUSE = 5 * SECOND
"""Between two saves: a memory may be large, and a restart that forgets the last moments does no harm."""

_CHANCE = "core/chance"
"""Under which name the state of the random generator is saved."""


class Memories:
    """Hands out what was remembered, and notices when that has changed."""

    def __init__(self, policy: Policy, state: State, saved: Mapping[str, Json]) -> None:
        self._name = policy.name
        self._memory = policy.memory
        self._learned = state.learned
        self._last = saved.get(policy.name)
        self._due: Time = 0
        if self._memory is not None and self._last is not None:
            self._memory.load(self._last)
        state.recall(saved)
        self._rng = state.rng
        if (words := saved.get(_CHANCE)) is not None:
            self._rng.setstate((words["version"], tuple(words["words"]), None))
        self._drawn = self._rng.getstate()

    def changed(self, now: Time, *, is_over: bool) -> dict[str, Json]:
        """What is to be saved, by the name of the policy, and of what was learned; nothing if it is as it was.

        Nor if it was saved a moment ago, unless everything is over.
        """
        if now < self._due and not is_over:
            return {}
        found: dict[str, Json] = self._learned.changes() if self._learned is not None else {}
        if self._memory is not None:
            memory = self._memory.save()
            if memory != self._last:
                self._last = found[self._name] = memory
        if (drawn := self._rng.getstate()) != self._drawn:
            self._drawn = drawn
            found[_CHANCE] = {"version": drawn[0], "words": list(drawn[1])}
        if found:
            self._due = now + _PAUSE
        return found
