"""The core: an event in, commands out.

`Core.handle` applies an event to the state, asks the scaler if it is due, then the placer, and returns what is to be
done. Decisions are checked and applied in `tradewind.core.admit`. Handling an event costs O(log n) in backlog and
machines; a submission costs O(tasks + edges), and a decision of the scaler what its policy needs.
"""

from collections.abc import Callable, Sequence
from functools import partial
from heapq import heappop, heappush
from typing import Any

from tradewind.core.elastic.events import look_at, progressed
from tradewind.core.joining import joined, left
from tradewind.core.machines import Machine
from tradewind.core.run_events import RunEvents
from tradewind.core.state import State
from tradewind.core.transitions import UnitStep
from tradewind.core.turn import EXPIRE, NOBODY, RENEW, SCALE, SILENCE
from tradewind.model.command import Command, Wake
from tradewind.model.event import (
    Broken,
    Cancelled,
    Closed,
    Event,
    Extended,
    Failed,
    Finished,
    MachineFailed,
    MachineJoined,
    MachineLeft,
    MachineLost,
    MachineReady,
    MachineResized,
    MachineUnwanted,
    Progressed,
    Redated,
    Reprioritised,
    Resumed,
    Submitted,
    Suspended,
    TenantChanged,
    Timer,
)
from tradewind.model.units import Time
from tradewind.policies.protocol import Policy


class Core(RunEvents):
    """Work, machines and money under a policy."""

    def __init__(self, state: State, policy: Policy) -> None:
        super().__init__(state, policy)
        self._handlers: dict[type, Callable[[Any], None]] = {
            Submitted: self._submitted,
            Extended: self._extended,
            Reprioritised: self._reprioritised,
            Redated: self._redated,
            Broken: self._broken,
            Cancelled: self._cancelled,
            Suspended: self._suspended,
            Resumed: self._resumed,
            MachineReady: self._machine_ready,
            MachineFailed: self._machine_failed,
            MachineLost: self._machine_lost,
            MachineResized: self._machine_resized,
            MachineUnwanted: self._machine_unwanted,
            MachineJoined: partial(joined, self),
            MachineLeft: partial(left, self),
            Finished: self._finished,
            Failed: self._failed,
            Progressed: partial(progressed, self),
            TenantChanged: self._tenant_changed,
            Closed: self._closed,
            Timer: self._timer,
        }

    def handle(self, event: Event) -> Sequence[Command]:
        """Apply a fact and say what is to be done about it."""
        state = self.state
        admission = self.admission
        at = event[0]
        if at > state.now:  # clocks may jump back; the core's time does not
            state.now = at
        self.cause = admission.cause = event[1]
        out: list[Command] = []
        self.out = admission.out = out
        if self._ended:
            self._forget_ended()
        self._handlers[type(event)](event)
        if state.newly_ready or state.newly_vacant or self.must_place:
            self._place()
            if state.loose:
                self.lend()
        if self._ended_on is not None:
            self._line_up()
        if not self._ticking:
            self._tick_from(state.now)
        alarms = self.alarms
        if alarms and (self._armed is None or alarms[0][0] < self._armed):
            self._armed = alarms[0][0]
            out.append(Wake(state.now, self.cause, self._armed))
        return out

    def _forget_ended(self) -> None:
        for run in self._ended:
            run.units = run.graph = NOBODY
        self._ended.clear()

    def _timer(self, _event: Timer) -> None:
        alarms = self.alarms
        now = self.state.now
        self._armed = None
        due: list[Machine] = []
        is_scaling = False
        while alarms and alarms[0][0] <= now:
            _, what, ref = heappop(alarms)
            if what == SCALE:
                is_scaling = True
            elif what == RENEW:
                machine = self.state.machines.get(ref)
                if machine is not None and machine.paid_until <= now:
                    due.append(machine)
            elif what == EXPIRE:
                self._expire(ref)
            elif what == SILENCE:
                look_at(self, ref)
            else:
                unit = self.state.units.get(ref)
                if unit is not None and unit.run.pool.delayed.pop(ref, None) is not None:
                    unit.move(UnitStep.RESUME)
                    self._requeue(unit)
        if is_scaling:
            self._ticking = False
            self.scale()
            self._tick_from(now + 1)
        if due:
            self._renew(due)

    def _tick_from(self, earliest: Time) -> None:
        """Ask the scaler at the next whole interval, from the origin on, as long as there is anything to decide on."""
        state = self.state
        if state.runs or len(state.machines) > len(state.joined) or any(kind.wanted for kind in state.joining.values()):
            self._ticking = True
            periods = max(0, -((state.origin - earliest) // state.interval))
            heappush(self.alarms, (state.origin + periods * state.interval, SCALE, 0))

    def _closed(self, _event: Closed) -> None:
        self.state.is_closed = True
        self._close()
