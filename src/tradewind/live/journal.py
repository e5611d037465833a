"""The journal: which rows of the store a batch of events changes.

It looks at records as they go by. A unit or machine that changes several times in a batch is written once, as it stands
in the end.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tradewind.core.chains.chain import Chain
from tradewind.core.elastic.division import Share
from tradewind.core.elastic.events import DELIVERED, SILENT
from tradewind.core.joining import REPLACED
from tradewind.core.log import Encoder, Record
from tradewind.core.machine_events import BEATEN, SHRUNK
from tradewind.core.machines import Machine
from tradewind.core.state import State
from tradewind.core.work import CANCELLED, DONE, FAILED, Attempt, Run, Unit
from tradewind.live.cache.known import Known
from tradewind.live.documents import encode
from tradewind.live.facts import Given
from tradewind.live.guests import kinds_note
from tradewind.live.jobs import Job
from tradewind.live.notes import (
    JOINED_KINDS,
    impossible_note,
    keeps_going_note,
    predicted_note,
    reason_note,
    suspended_note,
    uncached_note,
)
from tradewind.live.port import Broke, Done, Report
from tradewind.live.rebuild import Severed
from tradewind.live.standing import machine_row, progress_of, running_on
from tradewind.live.store.coding import pack
from tradewind.live.store.port import Changes
from tradewind.live.store.rows import (
    AttemptRow,
    CacheRow,
    ChargeRow,
    DeliveryRow,
    LogRow,
    MachineRow,
    RunChange,
    RunRow,
    UnitChange,
    UnitRow,
)
from tradewind.model.command import (
    Acquire,
    Admitted,
    Assign,
    Charged,
    Ended,
    Expired,
    Grown,
    Kill,
    Lent,
    Predicted,
    Recalled,
    Refunded,
    Release,
    Start,
    Welcomed,
)
from tradewind.model.event import (
    Broken,
    Cancelled,
    Event,
    Failed,
    Finished,
    MachineFailed,
    MachineJoined,
    MachineLeft,
    MachineLost,
    MachineReady,
    MachineResized,
    MachineUnwanted,
    Redated,
    Reprioritised,
    Resumed,
    Suspended,
    Timer,
)
from tradewind.model.units import Time

_OUTCOMES = {DELIVERED: "beaten", SILENT: "lost", SHRUNK: "preempted"}
"""How attempts of shares have ended that were killed, by the reason."""
GONE = "it shrank below what its type keeps"


class Journal:
    """Collects what a batch changes."""

    def __init__(self, state: State, jobs: Mapping[int, Job], next_charge: int = 0) -> None:
        self._state = state
        self._jobs = jobs
        self._next_charge = next_charge
        self._encode = Encoder(state).encode
        self._held: dict[int, Machine] = dict(state.machines)
        self._because: dict[int, str] = {}
        """Why machines that are held were rented."""
        self._known = {number: len(run.units) for number, run in state.runs.items()}
        """How many units of each run are saved or about to be."""
        self._shares = {
            unit.id: (unit, attempt)
            for run in state.runs.values()
            for unit in (run.units if run.is_elastic else ())
            if isinstance(unit.elastic, Share)
            for attempt in unit.attempts()
        }
        """Attempts of shares that run."""
        self._observers: dict[type, Callable[[Any], None]] = {
            Admitted: self._admitted,
            Grown: self._grown,
            Assign: self._assign,
            Ended: self._ended,
            Start: self._start,
            Kill: self._kill,
            Expired: self._expired,
            Predicted: self._predicted,
            Acquire: self._acquire,
            Welcomed: self._welcomed,
            Lent: lambda record: self._write_machine(self._held[record.machine]),
            Release: lambda record: self._leave(record.machine, record.at, record.because),
            Charged: lambda record: self._money(record, refund=False),
            Refunded: lambda record: self._money(record, refund=True),
        }
        self._noted_kinds = len(state.kinds)
        """How many kinds are declared or noted."""
        self._shrinking: dict[int, tuple[Unit, Attempt]] = {}
        """What runs on the machine that is being resized."""
        self._begin()

    def _begin(self) -> None:
        self._changes = Changes()
        self._records: list[dict[str, Any]] = []
        self._first_seq: int | None = None
        self._last: tuple[int, Time] = (0, 0)
        self._units: dict[int, UnitChange] = {}
        self._machines: dict[int, tuple[Machine, Time | None, str]] = {}
        self._runs: dict[int, RunChange] = {}
        self._cache: dict[tuple[str, str], CacheRow] = {}
        self._divided: dict[int, Unit] = {}
        """Elastic units of which a share has changed."""
        self._ousted: dict[int, Unit] = {}
        """Units whose machines have gone or shrunk; how they stand then is for the end of the batch to say."""

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
        elif isinstance(event, MachineLost | MachineFailed | MachineLeft):
            self._machine_gone(event.machine, event.at, event.reason)
        elif isinstance(event, MachineJoined | MachineResized | MachineReady):
            self._machine_changed(event)
        elif isinstance(event, Reprioritised) and event.run in self._state.runs:
            run = self._state.runs[event.run]
            self._runs[run.id] = RunChange(run.id, event.priority, run.deadline, None, "active")
        elif isinstance(event, Redated) and event.run in self._state.runs:
            run = self._state.runs[event.run]
            self._runs[run.id] = RunChange(run.id, run.priority, event.deadline, None, "active")
        elif isinstance(event, Suspended | Resumed) and event.run in self._state.runs:
            run = self._state.runs[event.run]
            self._runs[run.id] = RunChange(run.id, run.priority, run.deadline, None, "active")
            self._changes.notes[suspended_note(run.id)] = isinstance(event, Suspended)
        elif isinstance(event, Cancelled | MachineUnwanted):
            self._unwanted(event)
        elif isinstance(event, Broken):
            self.broke(event.run, event.reason)

    def broke(self, run: int, reason: str | None, *, is_impossible: bool = False) -> None:
        """Note why a run fails as a whole, for no task of it tells; None: it does not any more."""
        self._changes.notes |= {reason_note(run): reason, impossible_note(run): is_impossible}

    def _unwanted(self, event: Cancelled | MachineUnwanted) -> None:
        """Note attempts that are about to be killed."""
        if isinstance(event, MachineUnwanted):
            machine = self._held.get(event.machine)
            if machine is not None and event.is_urgent:
                self._oust(machine, event.at, "lost", event.reason)
        elif event.run in self._state.runs:
            for unit in self._state.runs[event.run].units:
                for each in unit.attempts():
                    self._attempt(unit, each, event.at, "cancelled", "the run was cancelled")

    def command(self, command: Record) -> None:
        """Note a command or notice after the core has put it out."""
        self._records.append(self._encode(command))
        observer = self._observers.get(type(command))
        if observer is not None:
            observer(command)

    def close(self) -> Changes:
        """What the batch has changed; the next one begins."""
        changes = self._changes
        for unit in self._ousted.values():
            if unit.id in self._state.units:
                said = self._units.get(unit.id)
                self._write_unit(unit, message="" if said is None else said.message)
        for unit in self._divided.values():
            said = self._units.get(unit.id)
            if said is not None:
                self._units[unit.id] = said._replace(progress=progress_of(unit))
            elif unit.state != DONE:  # else its results were saved with its end
                message = "too many of its shares failed" if unit.state == FAILED else ""
                self._write_unit(unit, ended=self._last[1] if unit.is_ended else None, message=message)
        changes.units = list(self._units.values())
        changes.runs = list(self._runs.values())
        changes.cache = list(self._cache.values())
        changes.machines += [machine_row(*each) for each in self._machines.values()]
        if self._records and self._first_seq is not None:
            last, at = self._last
            changes.log = [LogRow(self._first_seq, last, at, pack(self._records))]
        self._begin()
        return changes

    # Work

    def _admitted(self, record: Admitted) -> None:
        run = self._state.runs.get(record.run)
        job = self._jobs[record.run]
        document, job.encoded = job.encoded, b""
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
                document=document,
            )
        )
        if run is not None:
            if run.keeps_going:
                self._changes.notes[keeps_going_note(run.id)] = True
            if not job.uses_cache:
                self._changes.notes[uncached_note(run.id)] = True
            self.add_units(run)

    def add_units(self, run: Run) -> None:
        """Note the units that a run has gained."""
        job = self._jobs[run.id]
        for unit in run.units[self._known.get(run.id, 0) :]:
            self._changes.new_units.append(
                UnitRow(
                    *(run.id, unit.id, unit.task.id, _encoded(job, job.chains.get(unit.task.id)), unit.state),
                    progress=None if unit.elastic is None else progress_of(unit),
                    started=None if unit.elastic is None else unit.started,
                )
            )
        self._known[run.id] = len(run.units)

    def _grown(self, record: Grown) -> None:
        run = self._state.runs.get(record.run)
        if run is not None:
            self.add_units(run)

    def delivered(self, unit: Unit, at: Time, given: Sequence[Given]) -> None:
        """Note results that a share has delivered."""
        share = unit.elastic
        if not isinstance(share, Share):
            return
        for each in given:
            key = unit.run.id, share.division.unit.id, unit.id, unit.attempt
            row = DeliveryRow(*key, each.number, at, each.ranges, each.is_checkpoint, each.result)
            self._changes.deliveries.append(row)
            if each.is_checkpoint and each.number > 1:
                self._changes.voided.append((*key, each.number - 1))

    def recalled(self, record: Recalled, chains: Sequence[tuple[Chain, Known]]) -> None:
        """Note units that have ended before anything ran, as what they give was known."""
        self._records.append(self._encode(record))
        job = self._jobs[record.run]
        at, folder = record.at, job.folder
        for number, (chain, known) in enumerate(chains, record.first):
            why = f"as in run {known.source}"
            row = UnitRow(
                record.run, number, chain.id, _encoded(job, chain), DONE, 1, started=at, ended=at, results=known.results
            )
            self._changes.new_units.append(row._replace(message=why))
            here = f"{folder}/{chain.name}/cached"
            self._changes.attempts.append(AttemptRow(record.run, number, 1, -1, at, at, "cached", why, here))

    def cached(self, rows: Sequence[CacheRow]) -> None:
        """Note what calls gave, for others that are equal."""
        self._cache |= {(row.tenant, row.key): row for row in rows}

    def reopened(self, run: Run) -> None:
        """Note a run that has ended once but goes on."""
        self.broke(run.id, None)
        self._known[run.id] = len(run.units)
        for unit in run.units:
            if not unit.is_ended:
                self._write_unit(unit)

    def _ended(self, record: Ended) -> None:
        job = self._jobs[record.run]
        run = job.run
        self._known.pop(record.run, None)
        if run is None:  # it had nothing to do, and has ended as soon as it was admitted
            self._changes.new_runs = [
                row._replace(ended=record.at, status=record.status) if row.number == record.run else row
                for row in self._changes.new_runs
            ]
        else:
            self._runs[record.run] = RunChange(record.run, run.priority, run.deadline, record.at, record.status)
            message = DELIVERED if record.status == "done" else f"the run has {record.status}"
            for unit in run.units if run.is_elastic or record.status != "done" else ():
                if unit.state == CANCELLED:
                    self._write_unit(unit, ended=record.at, message=message)

    def _predicted(self, record: Predicted) -> None:
        self._changes.notes[predicted_note(record.run)] = record.finish

    def _start(self, record: Start) -> None:
        unit = self._state.units[record.unit]
        self._write_unit(unit)
        if isinstance(unit.elastic, Share) and unit.machine is not None:
            self._shares[unit.id] = unit, Attempt(record.attempt, unit.machine, record.at)

    def _assign(self, record: Assign) -> None:
        unit = self._state.units.get(record.unit)
        if unit is not None:
            self._write_unit(unit)

    def _write_unit(self, unit: Unit, *, ended: Time | None = None, results: Any = None, message: str = "") -> None:
        machine = None if unit.machine is None else unit.machine.id
        failures = sum(unit.failures.values())
        self._units[unit.id] = UnitChange(
            unit.run.id,
            unit.id,
            unit.state,
            unit.last,
            failures,
            unit.lost,
            machine,
            unit.started,
            ended,
            results,
            message,
            unit.preempted,
            progress_of(unit)
            if unit.elastic is not None or unit.kept or unit.failures or unit.attempt != unit.last or unit.copies
            else None,
        )
        if isinstance(unit.elastic, Share):
            parent = unit.elastic.division.unit
            self._divided[parent.id] = parent

    def settled(self, unit: Unit, event: Finished | Failed, report: Report | None) -> None:
        """Note how a unit stands after the core has handled the end of an attempt."""
        if isinstance(event, Finished):
            results = dict(report.results) if isinstance(report, Done) else None
            self._write_unit(unit, ended=event.at, results=results)
        else:
            self._write_unit(unit, ended=event.at if unit.is_ended else None, message=event.reason)

    def _report(self, event: Finished | Failed, report: Report | None) -> None:
        unit = self._state.units.get(event.unit)
        if unit is None or not unit.runs(event.attempt, event.machine):
            return
        usage = report.usage if isinstance(report, Done | Broke) else None
        outcome, reason = ("done", "") if isinstance(event, Finished) else (event.cause, event.reason)
        for each in unit.attempts():
            if each.number == event.attempt:
                used = (usage.cpu, usage.memory) if usage else (0.0, 0)
                self._attempt(unit, each, event.at, outcome, reason, *used)
            elif outcome == "done":
                self._attempt(unit, each, event.at, "beaten", BEATEN)

    def _kill(self, record: Kill) -> None:
        unit = self._state.units.get(record.unit)
        if unit is not None:
            self._write_unit(unit)
        share, running = self._shares.get(record.unit, (None, None))
        if share is not None and running is not None and running.number == record.attempt:
            outcome = _OUTCOMES.get(record.because, "cancelled" if share.is_ended else "lost")
            self._attempt(share, running, record.at, outcome, record.because)
        elif record.because == SHRUNK:
            unit, attempt = self._shrinking[record.unit]
            self._attempt(unit, attempt, record.at, "preempted", SHRUNK)
            self._ousted[unit.id] = unit

    def _expired(self, record: Expired) -> None:
        unit = self._unit(record.run, record.unit)
        if unit is not None:
            self._write_unit(unit, ended=record.at, message=record.because)

    def _unit(self, run: int, unit: int) -> Unit | None:
        """A unit of a run that may just have ended."""
        found = self._jobs[run].run
        return None if found is None else next((each for each in found.units if each.id == unit), None)

    def _attempt(
        self, unit: Unit, attempt: Attempt, at: Time, outcome: str, reason: str, cpu: float = 0.0, memory: int = 0
    ) -> None:
        number, machine, started = attempt
        self._shares.pop(unit.id, None)
        folder = str(self._jobs[unit.run.id].attempt_folder(unit, number))
        self._changes.attempts.append(
            AttemptRow(unit.run.id, unit.id, number, machine.id, started, at, outcome, reason, folder, cpu, memory)
        )

    # Machines and money

    def _acquire(self, record: Acquire) -> None:
        machine = self._state.machines[record.machine]
        self._held[machine.id] = machine
        self._because[machine.id] = record.because
        self._write_machine(machine)

    def _machine_changed(self, event: MachineJoined | MachineResized | MachineReady) -> None:
        if isinstance(event, MachineJoined):
            self._joined(event)
        elif isinstance(event, MachineResized):
            self._resized(event)
        elif event.machine in self._held:
            self._write_machine(self._held[event.machine])

    def _joined(self, event: MachineJoined) -> None:
        """Note what ends on a machine whose name another has taken."""
        held = self._state.joined.get(event.name)
        if held is not None and not self._state.has_joined(event.name, event.type, event.tenants):
            self._oust(held, event.at, "preempted", REPLACED)

    def _welcomed(self, record: Welcomed) -> None:
        machine = self._state.machines[record.machine]
        self._held[machine.id] = machine
        self._because[machine.id] = "it has joined"
        self._write_machine(machine)
        if machine.kind.index >= self._noted_kinds:
            self._noted_kinds = len(self._state.kinds)
            self._changes.notes[JOINED_KINDS] = kinds_note(self._state.kinds[self._state.declared :])

    def _machine_gone(self, number: int, at: Time, reason: str) -> None:
        machine = self._held.get(number)
        if machine is not None:
            is_lost = machine.kind.is_firm and not machine.joined
            self._oust(machine, at, "lost" if is_lost else "preempted", reason)
            self._leave(machine.id, at, reason)

    def _oust(self, machine: Machine, at: Time, outcome: str, reason: str) -> None:
        """Note that all attempts on a machine end."""
        for unit, attempt in running_on(machine):
            self._attempt(unit, attempt, at, outcome, reason)
            self._ousted[unit.id] = unit

    def _resized(self, event: MachineResized) -> None:
        machine = self._held.get(event.machine)
        if machine is None:
            return
        if not machine.kind.type.keeps(event.amounts):
            self._machine_gone(machine.id, event.at, GONE)
            return
        self._write_machine(machine)
        self._shrinking = {unit.id: (unit, attempt) for unit, attempt in running_on(machine)}

    def _leave(self, number: int, at: Time, because: str) -> None:
        machine = self._held.pop(number, None)
        self._because.pop(number, None)
        if machine is not None:
            self._machines[number] = (machine, at, because)

    def _write_machine(self, machine: Machine) -> None:
        self._machines.setdefault(machine.id, (machine, None, self._because.get(machine.id, "")))

    def bury(self, machines: Sequence[MachineRow], severed: Sequence[Severed], at: Time) -> None:
        """Note machines that are gone of which the state knows nothing, and the attempts that ran there."""
        because = "its type is no longer declared"
        self._changes.machines += [row._replace(released=at, because=because) for row in machines]
        for number, attempt, machine, started in severed:
            unit = self._state.units[number]
            unit.lost += 1
            self._write_unit(unit, message=because)
            folder = str(self._jobs[unit.run.id].attempt_folder(unit, attempt))
            self._changes.attempts.append(
                AttemptRow(unit.run.id, number, attempt, machine, started, at, "lost", because, folder)
            )

    def _money(self, record: Charged | Refunded, *, refund: bool) -> None:
        tenant = self._state.all_pools[record.tenant].tenant.name
        self._changes.charges.append(
            ChargeRow(self._next_charge, record.machine, tenant, record.at, record.amount, refund)
        )
        self._next_charge += 1
        machine = self._held.get(record.machine)
        if machine is not None:
            self._write_machine(machine)


def _encoded(job: Job, chain: Chain | None) -> bytes | None:
    """A chain of a program as it is stored; the job is to blame if it cannot be."""
    try:
        return None if chain is None else encode(chain)
    except Exception as error:
        job.blame(error)
        return None
