"""The simulation driver: a heap of events, virtual time, and the very core that runs for real.

The same scenario and seed give the same records, to the byte. Facts of an instant are handled before its timers, so
that a task which ends exactly with its machine's paid period does not cost another one.
"""

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from heapq import heapify, heappop, heappush
from itertools import count

from tradewind.core.handle import Core
from tradewind.core.state import Phase, State, no_phase
from tradewind.model.command import Acquire, Command, Start, Wake
from tradewind.model.event import Closed, Event, Submitted, Timer
from tradewind.model.scenario import Scenario, Submission
from tradewind.model.units import Time
from tradewind.policies.protocol import Policy
from tradewind.sim.cloud import Cloud
from tradewind.sim.runtimes import estimated_times, real_times

Record = Event | Command
Sink = Callable[[Record], None]

_PATIENCE = 1_000
"""How many timers at least must go by with no other event before work counts as stuck."""

_TIMERS = 1 << 60
"""Timers are numbered from here, behind all other events of their instant."""


class Simulation:
    """One run of a scenario under a policy."""

    def __init__(
        self, scenario: Scenario, submissions: Iterable[Submission], policy: Policy, phase: Phase = no_phase
    ) -> None:
        real = real_times(scenario.noise, scenario.seed)
        self.state = State(
            scenario.machines,
            scenario.tenants,
            scenario.interval,
            scenario.seed,
            estimated_times(scenario.estimates, real, scenario.seed),
            phase,
        )
        self.core = Core(self.state, policy)
        next_seq = count(1)
        arriving = [Submitted(s.at, next(next_seq), s.tenant, s.workflow) for s in submissions]
        last = max((event.at for event in arriving), default=0)
        self._heap: list[Event] = [*arriving, Closed(last, next(next_seq))]
        heapify(self._heap)
        self._next_timer = count(_TIMERS).__next__
        periods = [kind.billing.period for kind in scenario.machines]
        self._longest = 2 * max([*periods, *(tenant.interval for tenant in scenario.tenants)], default=0)
        self._cloud = Cloud(self.state, self._heap, next_seq, real, scenario.faults, scenario.seed)

    def run(self, sink: Sink) -> None:
        """Let time pass until all work has ended, giving each event and what the core makes of it to the sink."""
        heap = self._heap
        state = self.state
        handle = self.core.handle
        start = self._cloud.start
        acquire = self._cloud.acquire
        due: Time | None = None
        idle = quiet_since = 0
        with _collecting_rarely():
            while heap:
                event = heappop(heap)
                if type(event) is not Timer:
                    sink(event)
                    idle = 0
                    quiet_since = event.at
                elif event.at != due:
                    continue  # the core has asked for another since, or has been woken at this instant already
                else:
                    due = None
                    idle += 1
                    if any(pool.delayed for pool in state.all_pools):
                        idle, quiet_since = 0, event.at
                    elif idle > _PATIENCE and event.at - quiet_since > self._longest and self._is_stuck():
                        return
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
                        if kind is Acquire:
                            acquire(command)  # type: ignore[arg-type]
                if state.is_closed and not state.runs:
                    return  # what is still to come, such as the loss of a machine already given back, changes nothing

    def _is_stuck(self) -> bool:
        """Whether nothing runs, boots or arrives, so that only the policy could change anything."""
        return all(type(each) is Timer for each in self._heap)


@contextmanager
def _collecting_rarely() -> Iterator[None]:
    """The garbage collector has little to find here, and would look through millions of living objects for it."""
    thresholds = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
