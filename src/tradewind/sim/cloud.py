"""The simulated cloud: machines that boot, work, fail and vanish, as events to come."""

import random
from functools import partial
from heapq import heappush
from itertools import count

from tradewind.core.elastic.division import Share
from tradewind.core.state import State
from tradewind.core.work import left
from tradewind.model.command import Acquire, Start
from tradewind.model.event import Event, Failed, Finished, MachineFailed, MachineLost, MachineReady, MachineResized
from tradewind.model.scenario import Faults
from tradewind.model.units import HOUR, Time, show_duration
from tradewind.sim.runtimes import RunTimes
from tradewind.sim.traces.provider import TAKEN_BACK, Provider

VANISHED = "it vanished"

_finished = partial(tuple.__new__, Finished)  # faster than naming the fields, and most events are of this kind


class Cloud:
    """Answers the core's commands with events in the future."""

    def __init__(
        self,
        state: State,
        heap: list[Event],
        next_seq: "count[int]",
        run_times: RunTimes,
        faults: Faults,
        seed: int,
        provider: Provider | None = None,
    ) -> None:
        self._kinds, self._machines, self._units = state.kinds, state.machines, state.units
        self._heap = heap
        self._next_seq = next_seq.__next__
        self._run_times = run_times
        self._faults = faults
        self._rng = random.Random(f"{seed}/cloud")
        self._provider = provider
        if provider is not None:
            provider.is_held = state.machines.__contains__

    def acquire(self, command: Acquire) -> None:
        """Boot a machine, which may fail, and may be lost later."""
        type = self._kinds[command.kind].configured
        boot = type.boot
        lag = max(0, round(self._rng.gauss(boot.mean, boot.deviation))) if boot.deviation else boot.mean
        ready = command.at + lag
        faults = self._faults
        if faults.boot_failure and self._rng.random() < faults.boot_failure:
            self._push(MachineFailed(ready, self._next_seq(), command.machine, "it did not come up"))
            return
        if self._provider is not None and self._provider.serves(type):
            amounts = self._provider.lease(command.machine, type, ready)
            if amounts is None:
                self._push(MachineFailed(ready, self._next_seq(), command.machine, "no server has room for it"))
                return
            if amounts != type.amounts:
                self._push(MachineResized(ready, self._next_seq(), command.machine, amounts))
            self._foretell(command.machine, ready)
        self._push(MachineReady(ready, self._next_seq(), command.machine))
        if faults.machine_loss:
            lost: Time = ready + round(self._rng.expovariate(faults.machine_loss) * HOUR)
            self._push(MachineLost(lost, self._next_seq(), command.machine, VANISHED))

    def confirm(self, event: MachineResized | MachineLost) -> bool:
        """Whether a change that was foretold comes true; if so, the next one of that machine is foretold."""
        provider = self._provider
        if provider is None or not provider.knows(event.machine):
            return event.machine in self._machines
        if isinstance(event, MachineLost) and event.reason == VANISHED:
            provider.leave(event.machine)
            return event.machine in self._machines
        if not provider.confirm(event.machine, event.at):
            if event.machine in self._machines:
                self._foretell(event.machine, event.at)
            return False
        if isinstance(event, MachineLost):
            provider.leave(event.machine)
        elif not self._machines[event.machine].is_booting:  # it was foretold when the machine was rented
            self._foretell(event.machine, event.at)
        return True

    def _foretell(self, machine: int, after: Time) -> None:
        change = self._provider.next_change(machine, after) if self._provider is not None else None
        if change is not None:
            at, amounts = change
            seq = self._next_seq()
            lost = MachineLost(at, seq, machine, TAKEN_BACK)
            self._push(lost if amounts is None else MachineResized(at, seq, machine, amounts))

    def start(self, command: Start) -> None:
        """Run an attempt, which may fail on the way or take longer than it may."""
        at, _, number, attempt, machine = command
        unit = self._units[number]
        if isinstance(unit.elastic, Share):
            return  # how far a share comes depends on what it is assigned
        kind = self._machines[machine].kind
        time = self._run_times(unit, kind) if unit.elastic is None else 0  # to reduce results takes no time here
        if unit.checkpoint is not None:
            time = left(unit, kind, time)
        fails = self._faults.task_failure > 0 and self._rng.random() < self._faults.task_failure
        if fails:
            time = round(time * self._rng.random())
        limit = unit.task.timeout
        if limit is not None and time > limit:
            reason = f"it ran longer than {show_duration(limit)}"
            self._push(Failed(at + limit, self._next_seq(), number, attempt, machine, reason, "timeout"))
        elif fails:
            self._push(Failed(at + time, self._next_seq(), number, attempt, machine, "simulated failure"))
        else:
            heappush(self._heap, _finished((at + time, self._next_seq(), number, attempt, machine)))

    def _push(self, event: Event) -> None:
        heappush(self._heap, event)
