"""What a policy remembers, kept over restarts."""

from collections.abc import Mapping

from tradewind.model.action import Json
from tradewind.model.units import SECOND, Time
from tradewind.policies.protocol import Policy

_PAUSE = 5 * SECOND
"""Between two saves: a memory may be large, and a restart that forgets the last moments does no harm."""


class PolicyMemory:
    """Hands a policy what it remembered, and notices when that has changed."""

    def __init__(self, policy: Policy, saved: Mapping[str, Json]) -> None:
        self._name = policy.name
        self._memory = policy.memory
        self._last = saved.get(policy.name)
        self._due: Time = 0
        if self._memory is not None and self._last is not None:
            self._memory.load(self._last)

    def changed(self, now: Time, *, is_over: bool) -> dict[str, Json]:
        """What is to be saved, by the name of the policy; nothing if it is as it was.

        Nor if it was saved a moment ago, unless everything is over.
        """
        if self._memory is None or (now < self._due and not is_over):
            return {}
        self._due = now + _PAUSE
        found = self._memory.save()
        if found == self._last:
            return {}
        self._last = found
        return {self._name: found}
