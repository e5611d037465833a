"""The journal: which rows of the store a batch of events changes.

It looks at records as they go by. A unit or machine that changes several times in a batch is written once, as it stands
in the end.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tradewind.core.log import Encoder, Record
from tradewind.core.machines import Machine
from tradewind.core.state import State
from tradewind.core.work import RUNNING, Run, Unit
from tradewind.live.documents import encode
from tradewind.live.jobs import Job
from tradewind.live.port import Broke, Done, Report
from tradewind.live.store.coding import pack
from tradewind.live.store.port import Changes
from tradewind.live.store.rows import AttemptRow, ChargeRow, LogRow, MachineRow, RunChange, RunRow, UnitChange, UnitRow
from tradewind.model.command import Acquire, Admitted, Charged, Ended, Kill, Refunded, Release, Start
from tradewind.model.event import (
    Event,
    Failed,
    Finished,
    MachineFailed,
    MachineLost,
    MachineReady,
    Reprioritised,
    Timer,
)
from tradewind.model.units import Time


class Journal:
    """Collects what a batch changes."""

    def __init__(self, state: State, jobs: Mapping[int, Job], next_charge: int = 0) -> None:
        self._state = state
        self._jobs = jobs
        self._next_charge = next_charge
        self._encode = Encoder(state).encode
        self._held: dict[int, Machine] = dict(state.machines)
        self._known_units = set(state.units)
        self._observers: dict[type, Callable[[Any], None]] = {
            Admitted: self._admitted,
            Ended: self._ended,
            Start: self._start,
            Kill: self._kill,
            Acquire: self._acquire,
            Release: lambda record: self._leave(record.machine, record.at, record.because),
            Charged: lambda record: self._money(record, refund=False),
            Refunded: lambda record: self._money(record, refund=True),
        }
        self._begin()

    def _begin(self) -> None:
        self._changes = Changes()
        self._records: list[dict[str, Any]] = []
        self._first_seq: int | None = None
        self._last: tuple[int, Time] = (0, 0)
        self._units: dict[int, UnitChange] = {}
        self._machines: dict[int, tuple[Machine, Time | None, str]] = {}
        self._runs: dict[int, RunChange] = {}

    def event(self, event: Event, report: Report | None) -> None:
        """Note an event before the core handles it, while the state still knows what it is about."""
        if self._first_seq is None:
            self._first_seq = event.seq
        self._last = (event.seq, event.at)
        if type(event) is Timer:
            return
        self._records.append(self._encode(event))
        if isinstance(event, Finished | Failed):
            self._report(event, report)
        elif isinstance(event, MachineLost | MachineFailed):
            self._machine_gone(event)
        elif isinstance(event, MachineReady):
            machine = self._held.get(event.machine)
            if machine is not None:
                self._machines.setdefault(event.machine, (machine, None, ""))
        elif isinstance(event, Reprioritised) and event.run in self._state.runs:
            run = self._state.runs[event.run]
            self._runs[run.id] = RunChange(run.id, event.priority, run.deadline, None, "active")

    def command(self, command: Record) -> None:
        """Note a command or notice after the core has put it out."""
        self._records.append(self._encode(command))
        observer = self._observers.get(type(command))
        if observer is not None:
            observer(command)

    def close(self) -> Changes:
        """What the batch has changed; the next one begins."""
        changes = self._changes
        changes.units = list(self._units.values())
        changes.runs = list(self._runs.values())
        changes.machines = [_machine_row(*each) for each in self._machines.values()]
        if self._records and self._first_seq is not None:
            last, at = self._last
            changes.log = [LogRow(self._first_seq, last, at, pack(self._records))]
        self._begin()
        return changes

    # Work

    def _admitted(self, record: Admitted) -> None:
        run = self._state.runs.get(record.run)
        job = self._jobs[record.run]
        self._changes.new_runs.append(
            RunRow(
                number=record.run,
                id=job.id,
                name=record.workflow,
                tenant=self._state.all_pools[record.tenant].tenant.name,
                priority=record.priority,
                deadline=record.deadline,
                submitted=record.at,
                ended=None,
                status="active",
                parameters=dict(job.parameters),
                generator=None,
                document=encode(job.document),
            )
        )
        if run is not None:
            if run.keeps_going:
                self._changes.notes[keeps_going_note(run.id)] = True
            self.add_units(run)

    def add_units(self, run: Run) -> None:
        """Note the units that a run has gained."""
        job = self._jobs[run.id]
        for unit in run.units:
            if unit.id not in self._known_units:
                self._known_units.add(unit.id)
                chain = job.chains.get(unit.task.id)
                self._changes.new_units.append(
                    UnitRow(run.id, unit.id, unit.task.id, None if chain is None else encode(chain), unit.state)
                )

    def _ended(self, record: Ended) -> None:
        job = self._jobs[record.run]
        run = job.run
        if run is not None:
            self._runs[record.run] = RunChange(record.run, run.priority, run.deadline, record.at, record.status)

    def _start(self, record: Start) -> None:
        self._write_unit(self._state.units[record.unit])

    def _write_unit(self, unit: Unit, *, ended: Time | None = None, results: Any = None, message: str = "") -> None:
        machine = None if unit.machine is None else unit.machine.id
        failures = sum(unit.failures.values())
        self._units[unit.id] = UnitChange(
            unit.run.id,
            unit.id,
            unit.state,
            unit.attempt,
            failures,
            unit.lost,
            machine,
            unit.started,
            ended,
            results,
            message,
        )

    def settled(self, unit: Unit, event: Finished | Failed, report: Report | None) -> None:
        """Note how a unit stands after the core has handled the end of an attempt."""
        if isinstance(event, Finished):
            results = dict(report.results) if isinstance(report, Done) else None
            self._write_unit(unit, ended=event.at, results=results)
        else:
            self._write_unit(unit, ended=event.at if unit.is_ended else None, message=event.reason)

    def _report(self, event: Finished | Failed, report: Report | None) -> None:
        unit = self._state.units.get(event.unit)
        if unit is None or unit.attempt != event.attempt or unit.state != RUNNING:
            return
        usage = report.usage if isinstance(report, Done | Broke) else None
        outcome, reason = ("done", "") if isinstance(event, Finished) else (event.cause, event.reason)
        self._attempt(
            unit, event.at, outcome, reason, cpu=usage.cpu if usage else 0.0, memory=usage.memory if usage else 0
        )

    def _kill(self, record: Kill) -> None:
        unit = self._state.units.get(record.unit)
        if unit is not None:
            self._write_unit(unit)

    def _attempt(self, unit: Unit, at: Time, outcome: str, reason: str, *, cpu: float = 0.0, memory: int = 0) -> None:
        machine = -1 if unit.machine is None else unit.machine.id
        folder = str(self._jobs[unit.run.id].attempt_folder(unit, unit.attempt))
        self._changes.attempts.append(
            AttemptRow(
                unit.run.id, unit.id, unit.attempt, machine, unit.started, at, outcome, reason, folder, cpu, memory
            )
        )

    # Machines and money

    def _acquire(self, record: Acquire) -> None:
        machine = self._state.machines[record.machine]
        self._held[machine.id] = machine
        self._machines[machine.id] = (machine, None, record.because)

    def _machine_gone(self, event: MachineLost | MachineFailed) -> None:
        machine = self._held.get(event.machine)
        if machine is not None:
            for unit in machine.running.values():
                self._attempt(unit, event.at, "lost", event.reason)
            self._leave(machine.id, event.at, event.reason)

    def _leave(self, number: int, at: Time, because: str) -> None:
        machine = self._held.pop(number, None)
        if machine is not None:
            self._machines[number] = (machine, at, because)

    def _money(self, record: Charged | Refunded, *, refund: bool) -> None:
        tenant = self._state.all_pools[record.tenant].tenant.name
        self._changes.charges.append(
            ChargeRow(self._next_charge, record.machine, tenant, record.at, record.amount, refund)
        )
        self._next_charge += 1
        machine = self._held.get(record.machine)
        if machine is not None:
            self._machines.setdefault(record.machine, (machine, None, ""))


def keeps_going_note(run: int) -> str:
    """Under which name the store notes that a run goes on after a failure."""
    return f"keeps going/{run}"


def _machine_row(machine: Machine, released: Time | None, because: str) -> MachineRow:
    return MachineRow(
        machine.id,
        machine.kind.type.name,
        machine.pool.tenant.name,
        machine.state,
        machine.acquired,
        machine.expected,
        machine.paid_until,
        released,
        because,
    )
