"""Work on the owner's terms: one command for shares of divisible jobs, and nothing that a server sends.

Results of such jobs are reduced here only by what is built in, unless the owner allows more.
"""

import shlex
from dataclasses import dataclass, replace

from tradewind.live.order_json import RemoteOrder
from tradewind.model.action import Call, Divisible

_BUILT_IN = ("concatenate", "sum")


class UnwillingError(Exception):
    """Work that the owner of an agent does not allow."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """What an agent runs, whatever a server sends; nothing of it: all that a server sends."""

    command: tuple[str, ...] = ()
    function: str = ""
    """Or `module:function`, called with each chunk of iterations."""
    reduces: bool = False
    """Whether reducers of users are run all the same."""

    def calls(self, order: RemoteOrder) -> tuple[Call, ...]:
        """The calls of an order, on the owner's terms."""
        if not self.command and not self.function:
            return order.calls
        return tuple(self._changed(order, call) for call in order.calls)

    def _changed(self, order: RemoteOrder, call: Call) -> Call:
        action = call.action
        if order.share is None or not isinstance(action, Divisible):
            raise UnwillingError("this agent runs its own command for divisible jobs, and nothing else")
        if order.share.iterations:
            own = replace(action, command=shlex.join(self.command), target=self.function, shell="")
            return replace(call, action=own, environment={})
        if action.reducer in _BUILT_IN or self.reduces:
            return call
        raise UnwillingError("this agent runs no reducers of users; see --reduce")
