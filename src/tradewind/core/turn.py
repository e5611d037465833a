"""What all handlers of events share: the state, the policy, the alarms, and what this turn puts out."""

from collections.abc import Sequence
from heapq import heappush

from tradewind.core.admit import Admission
from tradewind.core.machines import Machine
from tradewind.core.state import State
from tradewind.core.work import Run, Unit
from tradewind.model.command import Command, Dropped
from tradewind.model.event import Event
from tradewind.model.units import Time
from tradewind.policies.protocol import Policy

SCALE, RENEW, RESUME, EXPIRE = range(4)
"""What alarms are for; those of one instant go off in this order: a machine may be returned before it is renewed."""

NOBODY: Sequence[Unit] = ()


class Turn:
    """One event being handled."""

    def __init__(self, state: State, policy: Policy) -> None:
        self.state = state
        self.policy = policy
        self._out: list[Command] = []
        self._cause = 0
        self._alarms: list[tuple[Time, int, int]] = []
        self._admission = Admission(state, self.expect_renewal, self.expect_expiry)
        self._must_place = False
        """Whether the placer is asked although nothing is ready or vacant that was not."""
        self._ended_on: Machine | None = None
        """Where a unit has just ended, if work is lined up."""
        self._ended: list[Run] = []
        """Runs that ended with the last event; only then they forget their units."""
        self._armed: Time | None = None
        """When the next timer will come."""
        self._ticking = False
        """Whether the scaler will be asked again."""

    def _forget_alarms(self) -> None:
        self._alarms.clear()
        self._armed = None
        self._ticking = False

    def expect_renewal(self, machine: Machine) -> None:
        """Be woken when what was paid for a machine ends."""
        heappush(self._alarms, (machine.paid_until, RENEW, machine.id))

    def expect_expiry(self, unit: Unit) -> None:
        """Be woken when a unit that is about to start for the first time has taken too long in all."""
        if unit.task.retry.within is not None:
            heappush(self._alarms, (unit.started + unit.task.retry.within, EXPIRE, unit.id))

    def _stale(self, event: Event) -> None:
        self._out.append(Dropped(self.state.now, self._cause, repr(event), "it no longer fits the facts"))

    def _scale(self) -> None:
        """Ask the policy what to rent and return."""
        state = self.state
        if state.is_closed and not state.runs:
            return  # there is nothing left to rent for
        state.shuffle_turn()
        self._must_place = True  # a plan may have changed
        admission = self._admission
        if state.quantum is not None:
            state.note_claims()
            admission.make_way(state.quantum)
        admission.keep_enough()
        with state.phase("decision"):
            for action in self.policy.scaler.scale(state):
                admission.scaling(action)

    def _place(self) -> None:
        """Ask the policy what to start."""
        self._must_place = False
        state = self.state
        admit = self._admission.place
        for action in self.policy.placer.place(state):
            admit(action)
        state.settle()

    def _line_up(self) -> None:
        """Give the machine on which a unit has just ended more than it can run at once, as far as that is harmless."""
        machine, self._ended_on = self._ended_on, None
        lineup = self.state.lineup
        while lineup is not None and machine is not None and (unit := lineup.following(machine)) is not None:
            self._admission.line_up(unit, machine)
