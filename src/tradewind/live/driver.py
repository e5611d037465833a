"""The live driver: facts in, one batch, one transaction, then the commands.

Whatever has happened since the last turn is handled at once: each fact becomes an event for the core, all that they
change is saved together, and only then are commands carried out. A crash at any point loses nothing: before the save
the facts will be found again by asking the engine, after it the commands will. An attempt whose order was never given
is started again under a new number; late reports of the old one are recognised by theirs.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from tradewind.core.handle import Core
from tradewind.core.log import Record, Sink
from tradewind.core.state import State
from tradewind.core.work import Unit
from tradewind.live.jobs import Document, Job
from tradewind.live.journal import Journal
from tradewind.live.port import Broke, Done, Down, Engine, Order, Report, Up
from tradewind.live.rebuild import rebuild
from tradewind.live.store.port import Changes, Lease, Store
from tradewind.live.store.rows import run_id
from tradewind.model.action import Json
from tradewind.model.command import Acquire, Admitted, Command, Ended, Kill, Refused, Release, Start, Wake
from tradewind.model.event import (
    Broken,
    Cancelled,
    Closed,
    Event,
    Extended,
    Failed,
    Finished,
    MachineFailed,
    MachineLost,
    MachineReady,
    Reprioritised,
    Submitted,
    Timer,
)
from tradewind.model.units import Time
from tradewind.policies.protocol import Policy


class Submit(NamedTuple):
    """Somebody hands in work."""

    document: Document
    parameters: Mapping[str, Json]
    tenant: str = "default"
    keeps_going: bool = False


class Cancel(NamedTuple):
    """Somebody no longer wants a run."""

    run: int


class Reprioritise(NamedTuple):
    """Somebody wants a run sooner, or later."""

    run: int
    priority: int


class Failure(NamedTuple):
    """A chain that has failed for good."""

    chain: str
    folder: str
    report: Broke


class Close(NamedTuple):
    """Nothing more will be handed in."""


Fact: TypeAlias = Report | Submit | Cancel | Reprioritise | Close


class Driver:
    """Runs the core over a store and an engine; whoever owns it calls `turn` when facts have come or time is up."""

    def __init__(
        self,
        state: State,
        policy: Policy,
        store: Store,
        engine: Engine,
        clock: Callable[[], Time],
        folder: Path,
        lease: Lease | None = None,
        sinks: Sequence[Sink] = (),
    ) -> None:
        self.state = state
        self.core = Core(state, policy)
        self.jobs: dict[int, Job] = {}
        self.names: dict[int, str] = {}
        """What people call runs by."""
        self.ended: dict[int, str] = {}
        """Status of runs that ended while this driver lived."""
        self.refused: list[str] = []
        self.failures: list[Failure] = []
        self.faults: list[str] = []
        """Why programs could not be unfolded."""
        self.due: Time | None = None
        """When to call `turn` although nothing was told."""
        self._store = store
        self._engine = engine
        self._clock = clock
        self._folder = folder
        self._lease = lease
        self._sinks = sinks
        self._inbox: deque[Fact] = deque()
        self._unsaved: Changes | None = None
        self._commands: list[Command] = []
        saved = store.load(charges_since=clock() - max(pool.tenant.interval for pool in state.all_pools))
        self._next_seq = saved.next.seq
        lost = rebuild(self.core, self.jobs, saved, folder, clock())
        self._journal = Journal(state, self.jobs, saved.next.charge)
        self._inbox += [Down(machine, "the control plane was restarted") for machine in lost]
        self.names |= {number: job.id for number, job in self.jobs.items()}
        if self.jobs:
            self.due = clock()

    def tell(self, *facts: Fact) -> None:
        """Something has happened."""
        self._inbox += facts

    def turn(self) -> None:
        """Handle all that has been told, make it durable, then act on it.

        If the store is unavailable, `StoreUnavailableError` is raised and nothing is acted upon; the next turn tries
        again.
        """
        if self._unsaved is None:
            self._unsaved = self._handle_all()
        if self._unsaved:
            self._store.save(self._unsaved, self._lease)
        self._unsaved = None
        commands, self._commands = self._commands, []
        self._carry_out(commands)

    def _handle_all(self) -> Changes:
        now = self._clock()
        if self.due is not None and self.due <= now:
            due, self.due = self.due, None
            self._handle(Timer(due, self._seq()), None)  # at the time it was due, so that lateness costs no period
        while self._inbox:
            fact = self._inbox.popleft()
            event = self._event(fact, now)
            if event is not None:
                self._handle(event, fact if isinstance(fact, Up | Down | Done | Broke) else None)
            if isinstance(event, Submitted):
                self._check_fault(self.state.next_run - 1)
        return self._journal.close()

    def _handle(self, event: Event, report: Report | None) -> None:
        journal = self._journal
        unit = self._concerned(event)
        job = None if unit is None else self.jobs[unit.run.id]
        journal.event(event, report)
        self._show(event)
        for command in self.core.handle(event):
            if type(command) is Admitted:
                self.jobs[command.run].run = self.state.runs.get(command.run)
                self.jobs[command.run].first = command.first
            if type(command) is Wake:
                self.due = command.due if self.due is None else min(self.due, command.due)
                continue
            journal.command(command)
            self._show(command)
            self._commands.append(command)
            if type(command) is Ended:
                self.ended[command.run] = command.status
            elif type(command) is Refused:
                self.refused.append(command.reason)
        if unit is None or job is None:
            return
        journal.settled(unit, event, report)  # type: ignore[arg-type]
        if isinstance(report, Broke) and unit.is_ended:
            self.failures.append(Failure(unit.task.id, job.attempt_folder(unit, unit.attempt), report))
        if isinstance(event, Finished) and unit.run.id in self.state.runs:
            self._grow(unit.run.id, job, unit.task.id, report)

    def _concerned(self, event: Event) -> Unit | None:
        """The unit whose present attempt an event ends, if it does."""
        if not isinstance(event, Finished | Failed):
            return None
        unit = self.state.units.get(event.unit)
        if unit is None or unit.attempt != event.attempt or unit.machine is None or unit.machine.id != event.machine:
            return None
        return unit

    def _grow(self, run: int, job: Job, chain: str, report: Report | None) -> None:
        """Tell the core what follows on the end of a chain."""
        more = job.finish(chain, report.results if isinstance(report, Done) else {})
        if more is None:
            return
        tasks, is_last = more
        self._handle(Extended(self.state.now, self._seq(), run, tasks, is_last), None)
        if tasks and run in self.state.runs:
            self._journal.add_units(self.state.runs[run])

        self._check_fault(run)

    def _check_fault(self, run: int) -> None:
        """Fail a run whose program cannot be unfolded any further."""
        if run in self.state.runs and (fault := self.jobs[run].fault):
            self.faults.append(fault)
            self._handle(Broken(self.state.now, self._seq(), run, fault), None)

    def _event(self, fact: Fact, now: Time) -> Event | None:
        seq = self._seq()
        match fact:
            case Done():
                return Finished(now, seq, fact.unit, fact.attempt, fact.machine)
            case Broke():
                return Failed(now, seq, fact.unit, fact.attempt, fact.machine, fact.reason, fact.cause)
            case Up():
                return MachineReady(now, seq, fact.machine)
            case Down():
                machine = self.state.machines.get(fact.machine)
                kind = MachineFailed if machine is not None and machine.is_booting else MachineLost
                return kind(now, seq, fact.machine, fact.reason)
            case Submit():
                return self._submitted(fact, now, seq)
            case Cancel():
                return Cancelled(now, seq, fact.run)
            case Reprioritise():
                return Reprioritised(now, seq, fact.run, fact.priority)
            case Close():
                return Closed(now, seq)

    def _submitted(self, fact: Submit, now: Time, seq: int) -> Submitted:
        number = self.state.next_run
        name = run_id(now, number)
        job = Job(name, fact.document, fact.parameters, self._folder / name)
        self.jobs[number] = job
        self.names[number] = name
        workflow, is_open = job.begin()
        return Submitted(now, seq, fact.tenant, workflow, is_open, fact.keeps_going)

    def _carry_out(self, commands: Sequence[Command]) -> None:
        orders: list[Order] = []
        for command in commands:
            match command:
                case Start():
                    unit = self.state.units.get(command.unit)
                    if unit is not None and unit.attempt == command.attempt and unit.machine is not None:
                        orders.append(self.jobs[unit.run.id].order(unit, command.attempt, command.machine))
                case Acquire():
                    self._engine.acquire(command.machine, self.state.kinds[command.kind].type)
                case Release():
                    self._engine.release(command.machine)
                case Kill():
                    self._engine.kill(command.unit, command.attempt, command.machine)
                case Ended():
                    self.jobs.pop(command.run, None)
        if orders:
            self._engine.start(orders)

    def _seq(self) -> int:
        self._next_seq += 1
        return self._next_seq - 1

    def _show(self, record: Record) -> None:
        for sink in self._sinks:
            sink(record)
