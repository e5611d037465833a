"""Figures for Prometheus: counted as records go by, or read from the core when somebody asks."""

import time
from collections.abc import Callable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

import tradewind
from tradewind.core.log import Record, Sink
from tradewind.core.machine_events import BEATEN, SHRUNK
from tradewind.core.state import State
from tradewind.core.transitions import MachineState, UnitState
from tradewind.live.loop import wall_clock
from tradewind.model.command import Acquire, Charged, Ended, Grown, Kill, Refunded, Release, Start, Welcomed
from tradewind.model.event import Failed, Finished, MachineFailed, MachineLeft, MachineLost, MachineReady
from tradewind.model.machine import Market
from tradewind.model.units import SECOND, UNIT, Time
from tradewind.server.tallies import count

TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SHORT = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 1800, 3600, 14400, 86400)
_TURN = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10)
_SHARE = 50


_ENDS = {SHRUNK: "preempted", BEATEN: "beaten"}
"""How attempts have ended that were killed, by why; others were cancelled."""


class Metrics:
    """All series of one server."""

    def __init__(self, policy: str) -> None:
        self.registry = registry = CollectorRegistry()
        self.policy = policy

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"tradewind_{name}", text, labels, registry=registry)

        def histogram(name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
            return Histogram(f"tradewind_{name}", text, labels, registry=registry, buckets=buckets)

        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(f"tradewind_{name}", text, labels, registry=registry)

        kinds = ("type", "market")
        self.created = counter("machines_created", "Machines acquired, by what decided.", *kinds, "reason")
        self.ended = counter("machines_terminated", "Machines gone: released, lost or never up.", *kinds, "reason")
        self.preempted = counter("preemptions", "Machines taken away under running work.", *kinds)
        self.restarted = counter("tasks_lost", "Attempts lost with their machines.", *kinds)
        self.attempts = counter("attempts", "Attempts that have ended, by outcome.", "outcome")
        self.runs = counter("runs_ended", "Runs that have ended, by status.", "status")
        self.charged = counter("charged", "Money reserved for machines.", "tenant", "type")
        self.refunded = counter("refunded", "Money paid back.", "tenant", "type")
        self.wait = histogram("queue_wait_seconds", "Time from ready to started.", _SHORT)
        self.boot = histogram("machine_boot_seconds", "Time from acquired to ready.", _SHORT, "type")
        self.took = histogram("task_duration_seconds", "Time of attempts that ended well.", _SHORT, "type")
        self._turn = histogram("scheduler_loop_seconds", "Time of the scheduler's turns.", _TURN, "part")
        self._requests = counter("http_requests", "Requests answered.", "method", "status")
        self._answered = histogram("http_request_seconds", "Time to answer.", _TURN, "method")
        self._tasks = gauge("tasks", "Tasks of active runs by state.", "state")
        self._machines = gauge("machines", "Machines held.", "type", "state")
        self._wanted = gauge("machines_wanted", "Machines that their owners are asked to let join.", "type")
        self._active = gauge("runs_active", "Runs that have not ended.", "tenant")
        self._left = gauge("budget_remaining", "What a tenant may still reserve now.", "tenant")
        self._listeners = gauge("event_listeners", "Open streams of events.")
        build = gauge("build_info", "The version of this server.", "version", "policy")
        build.labels(tradewind.__version__, policy).set(1)
        self._until = 0.0

    def sink_for(self, state: State) -> Sink:
        """What counts the records of a driver."""
        return _Counting(self, state).observe

    def turned(self, part: str, seconds: float) -> None:
        """A part of a scheduler's turn took so long."""
        self._turn.labels(part).observe(seconds)

    def answered(self, method: str, status: int, seconds: float) -> None:
        """A request was answered."""
        known = method if method in ("GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS") else "other"
        self._requests.labels(known, str(status)).inc()
        self._answered.labels(known).observe(seconds)

    def text(self, state: State, loads: dict[str, Any], listeners: int) -> bytes:
        """All series as Prometheus reads them."""
        self._listeners.set(listeners)
        for tenant, load in loads.items():
            self._active.labels(tenant).set(load.runs)
        now = max(state.now, wall_clock())
        for pool in state.all_pools:
            if pool.account.budget is not None:
                self._left.labels(pool.tenant.name).set(max(0, pool.account.available(now)) / UNIT)
        began = time.perf_counter()
        if began >= self._until:
            self._count(state)
            now_ = time.perf_counter()
            self._until = now_ + _SHARE * (now_ - began)
        return generate_latest(self.registry)

    def _count(self, state: State) -> None:
        counts = count(state.units.values())
        for each in UnitState:
            self._tasks.labels(each.name.lower()).set(counts.get(each, 0))
        held: dict[tuple[str, int], int] = {(kind.type.name, each): 0 for kind in state.kinds for each in (0, 1, 2)}
        for machine in state.machines.values():
            key = (machine.kind.type.name, machine.state)
            held[key] = held.get(key, 0) + 1
        for kind_ in state.joining.values():
            self._wanted.labels(kind_.type.name).set(kind_.wanted)
        for (kind, each_state), number in held.items():
            self._machines.labels(kind, MachineState(each_state).name.lower()).set(number)


class _Counting:
    """Counts what happens; it sees events before the core does, and commands after."""

    def __init__(self, metrics: Metrics, state: State) -> None:
        self._m = metrics
        self._state = state
        self._freed: dict[int, Time] = {}
        """When units became ready, or will have: the end of the last of their parents so far."""
        self._kinds: dict[int, tuple[str, str]] = {}
        """Of machines: type and market."""
        self._observers: dict[type, Callable[[Any], None]] = {
            Acquire: self._acquire,
            Welcomed: self._acquire,
            Release: lambda r: self._gone(r.machine, "released"),
            MachineReady: self._ready,
            MachineLost: self._lost,
            MachineLeft: self._lost,
            MachineFailed: lambda r: self._gone(r.machine, "failed"),
            Start: self._start,
            Finished: self._finished,
            Failed: self._failed,
            Kill: lambda r: metrics.attempts.labels(_ENDS.get(r.because, "cancelled")).inc(),
            Grown: self._grown,
            Ended: self._run_ended,
            Charged: lambda r: self._money(metrics.charged, r),
            Refunded: lambda r: self._money(metrics.refunded, r),
        }

    def observe(self, record: Record) -> None:
        """Count a record."""
        observer = self._observers.get(type(record))
        if observer is not None:
            observer(record)

    def _kind(self, machine: int) -> tuple[str, str]:
        found = self._kinds.get(machine)
        if found is None:
            held = self._state.machines.get(machine)
            if held is None:
                return ("unknown", "unknown")
            found = self._kinds[machine] = (held.kind.type.name, held.kind.type.market.value)
        return found

    def _acquire(self, record: Acquire | Welcomed) -> None:
        type = self._state.kinds[record.kind].type
        self._kinds[record.machine] = (type.name, type.market.value)
        self._m.created.labels(type.name, type.market.value, self._m.policy).inc()

    def _gone(self, machine: int, reason: str) -> None:
        self._m.ended.labels(*self._kind(machine), reason).inc()
        self._kinds.pop(machine, None)

    def _ready(self, record: MachineReady) -> None:
        machine = self._state.machines.get(record.machine)
        if machine is not None:
            self._m.boot.labels(machine.kind.type.name).observe((record.at - machine.acquired) / SECOND)

    def _lost(self, record: MachineLost | MachineLeft) -> None:
        machine = self._state.machines.get(record.machine)
        if machine is None:
            return
        kind = self._kind(record.machine)
        if kind[1] != Market.ON_DEMAND:
            self._m.preempted.labels(*kind).inc()
        if machine.running:
            self._m.restarted.labels(*kind).inc(len(machine.running))
            self._freed |= dict.fromkeys(machine.running, record.at)
        self._gone(record.machine, "left" if isinstance(record, MachineLeft) else "lost")

    def _start(self, record: Start) -> None:
        unit = self._state.units.get(record.unit)
        if unit is not None:
            since = self._freed.pop(record.unit, unit.run.submitted)
            self._m.wait.observe(max(0, record.at - since) / SECOND)

    def _finished(self, record: Finished) -> None:
        unit = self._state.units.get(record.unit)
        attempt = None if unit is None else unit.on(record.machine)
        if unit is None or attempt is None or attempt.number != record.attempt:
            return
        self._m.attempts.labels("done").inc()
        self._m.took.labels(attempt.machine.kind.type.name).observe((record.at - attempt.started) / SECOND)
        for child in unit.children:
            self._freed[child.id] = record.at

    def _failed(self, record: Failed) -> None:
        unit = self._state.units.get(record.unit)
        if unit is not None and unit.runs(record.attempt, record.machine):
            self._m.attempts.labels(record.cause).inc()
            self._freed[unit.id] = record.at

    def _grown(self, record: Grown) -> None:
        self._freed |= dict.fromkeys(range(record.first, record.first + record.tasks), record.at)

    def _run_ended(self, record: Ended) -> None:
        self._m.runs.labels(record.status).inc()
        if len(self._freed) > 2 * len(self._state.units) + 1000:  # units that were never started
            self._freed = {unit: at for unit, at in self._freed.items() if unit in self._state.units}

    def _money(self, counter: Counter, record: Charged | Refunded) -> None:
        tenant = self._state.all_pools[record.tenant].tenant.name
        counter.labels(tenant, self._kind(record.machine)[0]).inc(record.amount / UNIT)
