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

from tradewind.core.handle import Core
from tradewind.core.log import Sink
from tradewind.core.state import Phase, State, no_phase
from tradewind.model.command import Acquire, Admitted, Start, Wake
from tradewind.model.event import Closed, Event, Extended, Finished, MachineLost, MachineResized, Submitted, Timer
from tradewind.model.scenario import Scenario, Submission
from tradewind.model.units import Time
from tradewind.policies.harvest.oracle import Clairvoyant
from tradewind.policies.protocol import Policy
from tradewind.sim.cloud import Cloud
from tradewind.sim.rehearsal import Unfolding
from tradewind.sim.runtimes import RunTimes, estimated_times, real_times
from tradewind.sim.traces.provider import Provider

_PATIENCE = 1_000
"""How many timers at least must go by with no other event before work counts as stuck."""

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
    ) -> None:
        """`times`: how long everything takes, and is thought to take; by default as the scenario says."""
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
        periods = [kind.billing.period for kind in scenario.machines]
        self._longest = 2 * max([*periods, *(tenant.interval for tenant in scenario.tenants)], default=0)
        self._cloud = Cloud(self.state, self._heap, next_seq, real, scenario.faults, scenario.seed, provider)
        self._befores: dict[type, Callable[[Any], bool]] = {}
        """Called before an event is handled; whether it comes true."""
        self._afters: dict[type, Callable[[Any], None]] = {Acquire: self._cloud.acquire}
        """Called for commands, besides those that are frequent."""
        if provider is not None or scenario.faults.machine_loss:
            self._befores |= {MachineResized: self._cloud.confirm, MachineLost: self._cloud.confirm}
        if self._unfoldings:
            self._befores[Finished] = self._unfold
            self._afters[Admitted] = self._admitted
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
                if type(event) is not Timer:
                    if befores and (before := befores.get(type(event))) is not None and not before(event):
                        continue
                    sink(event)
                    idle = 0
                    quiet_since = at
                elif at != due:
                    continue  # the core has asked for another since, or has been woken at this instant already
                else:
                    due = None
                    idle += 1
                    if idle > _PATIENCE and at - quiet_since > self._longest:
                        if self._is_stuck():
                            return
                        idle, quiet_since = 0, at
                for command in handle(event):
                    kind = type(command)
                    if kind is Start:
                        sink(command)
                        start(command)  # type: ignore[arg-type]  # the test above is faster than isinstance
                    elif kind is Wake:
                        due = command.due  # type: ignore[union-attr]
                        heappush(heap, Timer(due, self._next_timer()))
                    else:
                        sink(command)
                        if kind in afters:
                            afters[kind](command)
                if state.is_closed and not state.runs:
                    return  # what is still to come, such as the loss of a machine already given back, changes nothing

    def _arrival(self, submission: Submission, seq: int) -> Submitted:
        if submission.rehearsal is None:
            return Submitted(submission.at, seq, submission.tenant, submission.workflow)
        unfolding = self._unfoldings[-seq] = Unfolding(submission.rehearsal)
        return Submitted(submission.at, seq, submission.tenant, unfolding.workflow, unfolding.is_open)

    def _admitted(self, notice: Admitted) -> None:
        unfolding = self._unfoldings.pop(-notice.cause, None)
        if unfolding is not None:
            self._unfoldings[notice.run] = unfolding

    def _unfold(self, event: Finished) -> bool:
        """Foretell what follows on the end of a chain of a program."""
        unit = self.state.units.get(event.unit)
        if unit is None or not unit.runs(event.attempt, event.machine):
            return True
        unfolding = self._unfoldings.get(unit.run.id)
        if unfolding is not None and unfolding.is_open:
            tasks = unfolding.finished(unit.task.id)
            heappush(self._heap, Extended(event.at, next(self._next_seq), unit.run.id, tasks, not unfolding.is_open))
        return True

    def _is_stuck(self) -> bool:
        """Whether nothing runs, boots, arrives or is tried again, so that only the policy could change anything."""
        is_waiting = any(pool.delayed for pool in self.state.all_pools)
        return not is_waiting and all(type(each) is Timer for each in self._heap)


@contextmanager
def _collecting_rarely() -> Iterator[None]:
    """The garbage collector has little to find here, and would look through millions of living objects for it."""
    thresholds = gc.get_threshold()
    gc.set_threshold(200_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
