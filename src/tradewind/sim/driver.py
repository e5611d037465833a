"""The simulation driver: a heap of events, virtual time, and the very core that runs for real.

The same scenario and seed give the same records, to the byte. Facts of an instant are handled before its timers, so
that a task which ends exactly with its machine's paid period does not cost another one.
"""

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any

from tradewind.core.elastic.division import Share
from tradewind.core.handle import Core
from tradewind.core.log import Sink
from tradewind.core.state import Phase, State, no_phase
from tradewind.model.command import Acquire, Admitted, Assign, Start, Wake, Wanted, Welcomed
from tradewind.model.event import (
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
    Progressed,
    Submitted,
    Timer,
)
from tradewind.model.scenario import Scenario, Submission
from tradewind.model.units import Time
from tradewind.policies.harvest.oracle import Clairvoyant
from tradewind.policies.protocol import Policy
from tradewind.sim.cloud import Cloud
from tradewind.sim.elastic import Killing, Pace, Shares, steady
from tradewind.sim.owners import Owners
from tradewind.sim.rehearsal import Prepare, Unfolding, as_it_is
from tradewind.sim.runtimes import RunTimes, estimated_times, real_times
from tradewind.sim.traces.provider import Provider
from tradewind.sim.troubles import NO_TROUBLES, Troubles

_PATIENCE = 1_000
"""How many timers at least must go by, while no work gets on, before it counts as stuck."""

_OF_MACHINES = frozenset({MachineReady, MachineFailed, MachineLost, MachineResized, MachineJoined, MachineLeft})
"""Events that alone are no progress: machines may come, go and change for ever while nothing runs on them."""

_TIMERS = 1 << 60
"""Timers are numbered from here, behind all other events of their instant."""


class Simulation:
    """One run of a scenario under a policy."""

    def __init__(
        self,
        scenario: Scenario,
        submissions: Iterable[Submission],
        policy: Policy,
        phase: Phase = no_phase,
        provider: Provider | None = None,
        times: RunTimes | None = None,
        prepare: Prepare = as_it_is,
        pace: Pace = steady,
        troubles: Troubles = NO_TROUBLES,
    ) -> None:
        """`times`: how long everything takes, and is thought to take; by default as the scenario says.

        `prepare`: what becomes of tasks into which programs unfold. `pace`: how the speed of shares of elastic units
        changes. `troubles`: what goes wrong with these.
        """
        self._prepare = prepare
        real = times or real_times(scenario.noise, scenario.seed)
        self.state = State(
            scenario.machines,
            scenario.tenants,
            scenario.interval,
            scenario.seed,
            times or estimated_times(scenario.estimates, real, scenario.seed),
            phase,
        )
        self.core = Core(self.state, policy)
        self._unfoldings: dict[int, Unfolding] = {}
        """Programs on their way: by their run, or before that by the number of their submission, negated."""
        next_seq = count(1)
        arriving = [self._arrival(submission, next(next_seq)) for submission in submissions]
        self._next_seq = next_seq
        last = max((event.at for event in arriving), default=0)
        self._heap: list[Event] = [*arriving, Closed(last, next(next_seq))]
        heapify(self._heap)
        self._next_timer = count(_TIMERS).__next__
        lengths = [length for kind in scenario.machines for length in (kind.billing.period, kind.boot.mean)]
        self._longest = 2 * max([*lengths, *(tenant.interval for tenant in scenario.tenants)], default=0)
        self._settled = provider.last_change if provider is not None else 0
        """From when on servers offer the same for ever."""
        self._cloud = Cloud(self.state, self._heap, next_seq, real, scenario.faults, scenario.seed, provider)
        self.shares = Shares(self.state, self._heap, next_seq, real, pace, troubles, scenario.seed)
        self._owners = Owners(self.state, self._heap, next_seq, scenario.seed) if self.state.joining else None
        self._troubles = troubles
        self._befores: dict[type, Callable[[Any], bool]] = {}
        """Called before an event is handled; whether it comes true."""
        self._afters: dict[type, Callable[[Any], None]] = {Acquire: self._cloud.acquire, Assign: self._assign}
        """Called for commands, besides those that are frequent."""
        if provider is not None or scenario.faults.machine_loss:
            self._befores |= {MachineResized: self._cloud.confirm, MachineLost: self._cloud.confirm}
        if self._unfoldings:
            self._befores[Finished] = self._unfold
            self._afters[Admitted] = self._admitted
        if self._owners is not None:
            self._befores[MachineLeft] = self._owners.confirm
            self._afters |= {Wanted: self._owners.wanted, Welcomed: self._owners.welcomed}
        if troubles.kills:
            self._befores[Killing] = self.shares.kill
        if troubles.outages:
            for kind in (Submitted, Extended, MachineReady, MachineLost, MachineResized, Finished, Failed):
                self._befores[kind] = self._deferring(self._befores.get(kind))
        if isinstance(policy.placer, Clairvoyant):
            policy.placer.foresee(provider)

    def run(self, sink: Sink) -> None:  # noqa: PLR0912  # one loop, for speed
        """Let time pass until all work has ended, giving each event and what the core makes of it to the sink."""
        heap = self._heap
        state = self.state
        handle = self.core.handle
        start = self._cloud.start
        befores = self._befores
        afters = self._afters
        due: Time | None = None
        idle = quiet_since = 0
        with _collecting_rarely():
            while heap:
                event = heappop(heap)
                at = event[0]
                what = type(event)
                if what is not Timer:
                    if befores and (before := befores.get(what)) is not None and not before(event):
                        continue
                    sink(event)
                    if what not in _OF_MACHINES:
                        idle = 0
                        quiet_since = at
                elif at != due:
                    continue  # the core has asked for another since, or has been woken at this instant already
                else:
                    due = None
                    idle += 1
                    if idle > _PATIENCE and at - quiet_since > self._longest:
                        if at > self._settled and self._is_stuck():
                            return
                        idle, quiet_since = 0, at
                for command in handle(event):
                    kind = type(command)
                    if kind is Start:
                        sink(command)
                        start(command)  # type: ignore[arg-type]  # the test above is faster than isinstance
                    elif kind is Wake:
                        due = self._troubles.up_from(command.due)  # type: ignore[union-attr]
                        heappush(heap, Timer(due, self._next_timer()))
                    else:
                        sink(command)
                        if kind in afters:
                            afters[kind](command)
                if state.is_closed and not state.runs:
                    return  # what is still to come, such as the loss of a machine already given back, changes nothing

    def _assign(self, command: Assign) -> None:
        self._befores[Progressed] = self.shares.confirm  # few simulations have shares, and each event looks here
        self.shares.assign(command)

    def _deferring(self, before: Callable[[Any], bool] | None) -> Callable[[Any], bool]:
        """Let events wait while the control plane is down."""

        def defer(event: Event) -> bool:
            up = self._troubles.up_from(event.at)
            if up > event.at:
                heappush(self._heap, event._replace(at=up))
                return False
            return before is None or before(event)

        return defer

    def _arrival(self, submission: Submission, seq: int) -> Submitted:
        if submission.rehearsal is None:
            return Submitted(submission.at, seq, submission.tenant, submission.workflow)
        unfolding = self._unfoldings[-seq] = Unfolding(submission.rehearsal, self._prepare)
        ahead = unfolding.outline(self.state.items) if self.core.policy.looks_ahead and unfolding.is_open else None
        return Submitted(submission.at, seq, submission.tenant, unfolding.workflow, unfolding.is_open, outline=ahead)

    def _admitted(self, notice: Admitted) -> None:
        unfolding = self._unfoldings.pop(-notice.cause, None)
        if unfolding is not None:
            self._unfoldings[notice.run] = unfolding

    def _unfold(self, event: Finished) -> bool:
        """Foretell what follows on the end of a chain of a program."""
        unit = self.state.units.get(event.unit)
        if unit is None or isinstance(unit.elastic, Share) or not unit.runs(event.attempt, event.machine):
            return True
        unfolding = self._unfoldings.get(unit.run.id)
        if unfolding is not None and unfolding.is_open:
            tasks = unfolding.finished(unit.task.id)
            heappush(self._heap, Extended(event.at, next(self._next_seq), unit.run.id, tasks, not unfolding.is_open))
        return True

    def _is_stuck(self) -> bool:
        """Whether nothing runs, arrives or is tried again, so that only the policy could change anything."""
        is_waiting = any(pool.delayed for pool in self.state.all_pools)
        is_waiting = is_waiting or (self._owners is not None and self._owners.awaited > 0)
        return not is_waiting and all(type(each) is Timer or type(each) in _OF_MACHINES for each in self._heap)


@contextmanager
def _collecting_rarely() -> Iterator[None]:
    """The garbage collector has little to find here, and would look through millions of living objects for it."""
    thresholds = gc.get_threshold()
    gc.set_threshold(200_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
