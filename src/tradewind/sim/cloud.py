"""The simulated cloud: machines that boot, work, fail and vanish, as events to come."""

import random
from collections.abc import Callable
from heapq import heappush
from itertools import count

from tradewind.core.state import State
from tradewind.model.command import Acquire, Start
from tradewind.model.event import Event, Failed, Finished, MachineFailed, MachineLost, MachineReady
from tradewind.model.scenario import Faults
from tradewind.model.units import HOUR, Time
from tradewind.sim.runtimes import RunTimes

_finished = Finished._make  # faster than naming the fields, and most events are of this kind


class Cloud:
    """Answers the core's commands with events in the future."""

    def __init__(
        self, state: State, heap: list[Event], next_seq: "count[int]", run_times: RunTimes, faults: Faults, seed: int
    ) -> None:
        self._state = state
        self._heap = heap
        self._next_seq = next_seq.__next__
        self._run_times = run_times
        self._faults = faults
        self._rng = random.Random(f"{seed}/cloud")
        self.start: Callable[[Start], None] = self._start_or_fail if faults.task_failure else self._start

    def acquire(self, command: Acquire) -> None:
        """Boot a machine, which may fail, and may be lost later."""
        boot = self._state.kinds[command.kind].type.boot
        lag = max(0, round(self._rng.gauss(boot.mean, boot.deviation))) if boot.deviation else boot.mean
        ready = command.at + lag
        faults = self._faults
        if faults.boot_failure and self._rng.random() < faults.boot_failure:
            self._push(MachineFailed(ready, self._next_seq(), command.machine, "it did not come up"))
            return
        self._push(MachineReady(ready, self._next_seq(), command.machine))
        if faults.machine_loss:
            lost: Time = ready + round(self._rng.expovariate(faults.machine_loss) * HOUR)
            self._push(MachineLost(lost, self._next_seq(), command.machine, "it vanished"))

    def _start(self, command: Start) -> None:
        state = self._state
        at, _, unit, attempt, machine = command
        time = self._run_times(state.units[unit], state.machines[machine].kind)
        heappush(self._heap, _finished((at + time, self._next_seq(), unit, attempt, machine)))

    def _start_or_fail(self, command: Start) -> None:
        if self._rng.random() >= self._faults.task_failure:
            self._start(command)
            return
        at, _, unit, attempt, machine = command
        time = self._run_times(self._state.units[unit], self._state.machines[machine].kind)
        part = round(time * self._rng.random())
        self._push(Failed(at + part, self._next_seq(), unit, attempt, machine, "simulated failure"))

    def _push(self, event: Event) -> None:
        heappush(self._heap, event)
