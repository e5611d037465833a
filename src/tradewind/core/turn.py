"""What all handlers of events share: the state, the policy, the alarms, and what this turn puts out."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from heapq import heappush

from tradewind.core.admit import Admission
from tradewind.core.elastic.division import Share
from tradewind.core.joining import lacking, lend
from tradewind.core.machines import Machine
from tradewind.core.state import State
from tradewind.core.work import Run, Unit
from tradewind.model.command import Command, Dropped
from tradewind.model.event import Event
from tradewind.model.units import Time
from tradewind.policies.protocol import Policy, Reactive, Split

SCALE, RENEW, RESUME, EXPIRE, SILENCE = range(5)
"""What alarms are for; those of one instant go off in this order: a machine may be returned before it is renewed."""

NOBODY: Sequence[Unit] = ()
START = 4
"""A share has this many times the usual silence to start and report for the first time."""


class Turn(ABC):
    """One event being handled."""

    def __init__(self, state: State, policy: Policy) -> None:
        self.state = state
        self.policy = policy
        self.out: list[Command] = []
        self.cause = 0
        self.alarms: list[tuple[Time, int, int]] = []
        """When to wake up, what for, and for which unit or machine."""
        self.admission = Admission(state, self.expect_renewal, self.expect_expiry, self._expect_report, self.split)
        self.must_place = False
        """Whether the placer is asked although nothing is ready or vacant that was not."""
        self._ended_on: Machine | None = None
        """Where a unit has just ended, if work is lined up."""
        self._ended: list[Run] = []
        """Runs that ended with the last event; only then they forget their units."""
        self._armed: Time | None = None
        """When the next timer will come."""
        self._ticking = False
        """Whether the scaler will be asked again."""
        self._scaled: Time | None = None
        """When it was last asked."""
        self._pace = policy.scaler.pace if isinstance(policy.scaler, Reactive) else None

    def _forget_alarms(self) -> None:
        self.alarms.clear()
        self._armed = None
        self._ticking = False

    def expect_renewal(self, machine: Machine) -> None:
        """Be woken when what was paid for a machine ends."""
        heappush(self.alarms, (machine.paid_until, RENEW, machine.id))

    def expect_expiry(self, unit: Unit) -> None:
        """Be woken when a unit that is about to start for the first time has taken too long in all."""
        if unit.task.retry.within is not None:
            heappush(self.alarms, (unit.started + unit.task.retry.within, EXPIRE, unit.id))

    def _expect_report(self, unit: Unit) -> None:
        """Be woken when a share that is about to start should have reported."""
        share, silence = unit.elastic, self.state.silence
        if silence is not None and isinstance(share, Share):
            share.until = self.state.now + START * silence
            heappush(self.alarms, (share.until, SILENCE, unit.id))

    def stale(self, event: Event) -> None:
        """Ignore a report that came too late."""
        self.out.append(Dropped(self.state.now, self.cause, repr(event), "it no longer fits the facts"))

    def scale(self) -> None:
        """Ask the policy what to rent and return."""
        state = self.state
        if state.is_closed and not state.runs:
            return  # there is nothing left to rent for
        admission = self.admission
        if state.joining:
            self._use_spare()
            admission.asked.clear()
        self._scaled = state.now
        state.shuffle_turn()
        self.must_place = True  # a plan may have changed
        if state.quantum is not None:
            state.note_claims()
            admission.make_way(state.quantum)
        admission.keep_enough()
        with state.phase("decision"):
            for action in self.policy.scaler.scale(state):
                admission.scaling(action)
        if state.joining:
            admission.hint(lacking(state) if self.policy.hints else {})

    def _use_spare(self) -> None:
        """Use machines that have joined before any is rented."""
        if self.state.loose and self.state.runs:
            self._place()
            self.lend()

    def react(self) -> None:
        """Ask the policy again after a report, if it wants to be and was not lately."""
        if self._pace is not None and (self._scaled is None or self.state.now - self._scaled >= self._pace):
            self.scale()

    @abstractmethod
    def split(self, action: Split) -> None:
        """Add shares to an elastic unit."""

    def _place(self) -> None:
        """Ask the policy what to start."""
        self.must_place = False
        state = self.state
        admit = self.admission.place
        for action in self.policy.placer.place(state):
            admit(action)
        state.settle()

    def lend(self) -> None:
        """Lend machines that joined to tenants that have work for them."""
        if lend(self) and (self.state.newly_ready or self.state.newly_vacant):
            self._place()

    def _line_up(self) -> None:
        """Give the machine on which a unit has just ended more than it can run at once, as far as that is harmless."""
        machine, self._ended_on = self._ended_on, None
        lineup = self.state.lineup
        while lineup is not None and machine is not None and (unit := lineup.following(machine)) is not None:
            self.admission.line_up(unit, machine)
