"""The live driver: facts in, one batch, one transaction, then the commands.

Whatever has happened since the last turn is handled at once: each fact becomes an event for the core, all that they
change is saved together, and only then are commands carried out. A crash at any point loses nothing. A driver that
starts compares what the store says with what the engine has: machines and attempts that are there go on, the others are
lost, and those that the store does not know are ended. An attempt whose order was never given is thus started again
under a new number; late reports of the old one are recognised by theirs. Ends of attempts are confirmed once they are
saved; until then the engine reports them again to whoever asks. Where nothing outlives this process, some of it may be
saved a moment later: see `tradewind.live.lingering`.
"""

from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from tradewind.core.elastic.events import excuse
from tradewind.core.handle import Core
from tradewind.core.joining import NOBODY
from tradewind.core.lineup import Lineup
from tradewind.core.log import Record, Sink
from tradewind.core.state import State
from tradewind.core.work import Unit
from tradewind.live.acting import Secret, carry_out, no_secret
from tradewind.live.cache.cache import Cache
from tradewind.live.cache.known import Results
from tradewind.live.containment import Blaming, checked
from tradewind.live.documents import encode
from tradewind.live.expected import expected
from tradewind.live.facts import Fact, Finish, Progress, Retry, Submit, event_of
from tradewind.live.jobs import Job, words_for
from tradewind.live.journal import Journal
from tradewind.live.latest import MOST, Latest
from tradewind.live.lingering import Lingering, is_brief
from tradewind.live.looking_ahead import learn_items, look_ahead, outline_of
from tradewind.live.memory import Memories
from tradewind.live.notes import uncached_note
from tradewind.live.port import Broke, Done, Down, Engine, Failure, Joined, Left, Report, Resized, Up
from tradewind.live.rebuild import latest, rebuild, reopen
from tradewind.live.reporting import Reports, accepted
from tradewind.live.store.port import Changes, Lease, Saved, Store
from tradewind.live.store.rows import run_id
from tradewind.model.command import Admitted, Command, Ended, Expired, Recalled, Refused, Wake, Welcomed
from tradewind.model.event import (
    Broken,
    Event,
    Extended,
    Failed,
    Finished,
    MachineFailed,
    MachineLeft,
    MachineLost,
    Resumed,
    Submitted,
    Timer,
)
from tradewind.model.program import Program
from tradewind.model.units import SECOND, Duration, Time
from tradewind.model.workflow import Task
from tradewind.policies.parts.first_idle import FirstIdle
from tradewind.policies.protocol import Policy

OUTAGE = 5 * SECOND
"""After a delay longer than this, shares get time to report again."""
CHECK = 30 * SECOND
"""How often the engine is asked whether it still has what it should have."""


class Driver:
    """Runs the core over a store and an engine; whoever owns it calls `turn` when facts have come or time is up."""

    on_ended: Callable[[Ended, Job], None] | None = None
    """Told of a run that ends, while it is still known what it gave."""
    failed = 0
    """How many units have failed for good, those included of which no more is known."""

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
        cache: Cache | None = None,
        secret: Secret = no_secret,
    ) -> None:
        self.state = state
        self.core = Core(state, policy)
        self.jobs: dict[int, Job] = {}
        self.names = Latest[str]()
        """What people call runs by."""
        self.ended = Latest[str]()
        """Status of runs that ended while this driver lived."""
        self.refused: deque[str] = deque(maxlen=MOST)
        self.failures: deque[Failure] = deque(maxlen=MOST)
        self.faults: deque[str] = deque(maxlen=MOST)
        """Why programs could not be unfolded."""
        self._store = store
        self._engine = engine
        self._clock = clock
        self._folder = folder
        self._lease = lease
        self._sinks = sinks
        self._secret = secret
        self._inbox: deque[Fact] = deque()
        self._reports = Reports(state)
        self._ends: list[tuple[int, int, int]] = []
        """Ends of attempts that were handled, and are to be confirmed once that is saved."""
        self._unsaved: Changes | None = None
        self._lingering = Lingering(allowed=engine.ends_with_us and lease is None)
        self._commands: list[Command] = []
        self._wake: Time | None = None
        """When the core wants to be woken."""
        saved = store.load(charges_since=clock() - max(pool.tenant.interval for pool in state.all_pools))
        since = self._last = latest(saved)
        self._ahead: Duration = 0
        """By how much we are ahead of a clock that was set back."""
        now = self.now()
        self._next_check = now + CHECK
        self._next_seq = saved.next.seq
        rebuilt = rebuild(self.core, self.jobs, saved, folder, since or now)
        state.origin = now
        excuse(self.core, now)
        self.stranded = rebuilt.stranded
        """Why runs of an earlier time cannot go on: no machine type offers what they need any more."""
        if engine.ahead and isinstance(policy.placer, FirstIdle):  # other placers mind where their units go
            state.lineup = Lineup(engine.ahead)
        self._journal = Journal(state, self.jobs, saved.next.charge)
        self._journal.bury(rebuilt.forgotten, rebuilt.severed, now)
        self._found: Sequence[Report] | None = engine.check(expected(state))
        """How what was saved differs from what is there; None: that was handled."""
        self._broken = rebuilt.broken
        self._memory = Memories(policy, state, saved.memories)
        self._cache = cache
        self._resume_jobs(saved)

    def _resume_jobs(self, saved: Saved) -> None:
        """Let runs go on that were not over."""
        for number, job in self.jobs.items():
            job.uses_cache = not saved.notes.get(uncached_note(number))
            if number in self.state.runs:
                self._offer_cache(job, self.state.runs[number].pool.tenant.name)
        self.names.update({number: job.id for number, job in self.jobs.items()})
        look_ahead(self.core, self.jobs)

    def now(self) -> Time:
        """What the clock says, but never earlier than before, nor than what was saved: it may have been set back."""
        time = self._clock() + self._ahead
        if time < self._last:  # else budgets and retries would wait until it has caught up
            self._ahead += self._last - time
            time = self._last
        self._last = time
        return time

    @property
    def due(self) -> Time | None:
        """When to call `turn` although nothing was told."""
        if self._inbox:
            return self._last
        check = self._next_check if self.state.machines else None
        return min((time for time in (self._wake, check, self._lingering.until) if time is not None), default=None)

    def tell(self, *facts: Fact) -> None:
        """Something has happened."""
        self._inbox += map(checked, facts)

    def drain_shares(self) -> None:
        """Ask the processes of all shares to deliver what they have and to end."""
        for unit in self._reports.unfinished():
            for attempt in unit.attempts():
                self._engine.kill(unit.id, attempt.number, attempt.machine.id)

    @property
    def has_shares(self) -> bool:
        """Whether any share runs that has not said that it ends."""
        return bool(self._reports.unfinished())

    @property
    def backlog(self) -> int:
        """How many facts were told and not yet handled."""
        return len(self._inbox)

    def turn(self) -> None:
        """Handle all that has been told, make it durable, then act on it; or the other way round, where that is safe.

        If the store is unavailable, `StoreUnavailableError` is raised and nothing more is acted upon; the next turn
        tries again.
        """
        if self._unsaved is None:
            now = self.now()
            is_plain = bool(self._inbox) and all(is_brief(fact, self.state, now) for fact in self._inbox)
            self._handle_all()
            if self._lingering.begins(self._commands, self._last, is_plain=is_plain):
                self._act()
                if not self._lingering.is_over(self._last):
                    return
            self._unsaved = self._close()
        self.save()
        self.end_turn()

    def flush(self) -> None:
        """Make durable what was acted on before it was saved."""
        if self._unsaved is None and self._lingering.until is not None:
            self._unsaved = self._close()
        self.save()
        self._unsaved = None

    def begin_turn(self) -> bool:
        """Handle all that has been told, unless an earlier turn is still unsaved; whether there is anything to save."""
        if self._unsaved is None:
            self._handle_all()
            self._unsaved = self._close()
        return bool(self._unsaved)

    def save(self) -> None:
        """Make durable what was handled; the only part of a turn that waits, and that another thread may do."""
        if self._unsaved:
            self._store.save(self._unsaved, self._lease)

    def end_turn(self) -> None:
        """Act on what is durable."""
        self._unsaved = None
        if self._ends:
            ends, self._ends = self._ends, []
            self._engine.confirm(ends)
        self._reports.send()
        self._act()
        self._check()

    def _act(self) -> None:
        commands, self._commands = self._commands, []
        self._inbox += carry_out(commands, self.state, self.jobs, self._engine, self._secret)

    def _handle_all(self) -> None:
        now = self.now()
        if self._found is not None:
            self._catch_up(self._found)
            self._found = None
        if self._wake is not None and now - self._wake > OUTAGE:  # nor could shares be heard meanwhile
            excuse(self.core, now)
        self._wake_core(now)
        while self._broken:
            run, reason = self._broken.pop()
            self._handle(Broken(now, self._seq(), run, reason), None)
        while self._inbox:
            fact = self._inbox.popleft()
            if isinstance(fact, Progress):
                self._progress(fact, now)
                continue
            if isinstance(fact, Finish):
                self._reports.finish(fact)
                continue
            if isinstance(fact, Done | Broke):
                fact = self._reports.as_said(fact)
            if isinstance(fact, Done):
                fact = self._completed(fact)
            if not self._engine.ends_with_us and isinstance(fact, Done | Broke):
                self._ends.append(fact[:3])
            event = self._event(fact, now)
            if event is not None:
                self._handle(event, fact if isinstance(fact, Up | Down | Resized | Done | Broke) else None)
            if isinstance(event, Submitted):
                self._check_fault(self.state.next_run - 1)
            elif isinstance(fact, Retry) and isinstance(event, Resumed):
                with Blaming(self.jobs[event.run]):
                    self._unfold(event.run)
                self._check_fault(event.run)

    def _progress(self, fact: Progress, now: Time) -> None:
        """Handle a report of a share; it is answered once that is saved."""
        found = self._reports.running(fact.unit, fact.attempt)
        if found is None:
            self._reports.decline(fact)
            return
        unit, share = found
        before, count = share.deliveries, len(self._commands)
        self._handle(self._reports.event(fact, unit, now, self._seq()), None)
        self._journal.delivered(unit, now, accepted(fact.given, before, share))
        self._reports.note(fact, share, self._commands[count:])

    def _catch_up(self, found: Sequence[Report]) -> None:
        """Live through the time without a control plane: machines that are gone went then, the others cost money."""
        since = self.state.now
        ended_on = {report.machine for report in found if isinstance(report, Done | Broke)}
        later: list[Report] = []
        for report in found:
            if isinstance(report, Down) and report.machine not in ended_on:
                self._handle(self._down(report, since, self._seq()), report)
            else:  # of a machine that is gone, ends that it has left come first
                later.append(report)
        self._inbox.extendleft(reversed(later))
        if self.jobs or self.state.machines:
            self._handle(Timer(since, self._seq()), None)

    def _wake_core(self, now: Time) -> None:
        """Wake the core whenever it wanted to be by now, each time as if it were then: lateness costs no period."""
        state = self.state
        if self._wake is not None and now - self._wake > state.interval:  # but what was not decided is decided once
            state.origin += (now - state.origin) // state.interval * state.interval
        while self._wake is not None and self._wake <= now:
            due, self._wake = self._wake, None
            self._handle(Timer(due, self._seq()), None)

    def _close(self) -> Changes:
        """What has changed since the last save."""
        changes = self._journal.close()
        if changes:
            self._lingering.end(self._last)
            changes.memories |= self._memory.changed(self._last, is_over=not self.state.runs)
        if changes and self._cache is not None:
            changes.digests = self._cache.fresh_digests()
        return changes

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
                self._wake = command.due if self._wake is None else min(self._wake, command.due)
                continue
            journal.command(command)
            self._show(command)
            self._commands.append(command)
            if type(command) is Admitted and self.jobs[command.run].recalled:
                self._recalled(command.run, command.tenant)
            if type(command) is Ended:
                self._ended(command)
            elif type(command) is Refused:
                self._refused(command, event)
            elif type(command) is Expired:
                self._expired(command)
        if unit is None or job is None:
            return
        journal.settled(unit, event, report)  # type: ignore[arg-type]
        if isinstance(report, Broke) and unit.is_ended:
            self._failed(unit, job, report)
        if isinstance(event, Finished):
            self._follow_up(unit, job, event.at, report.results if isinstance(report, Done) else {})

    def _follow_up(self, unit: Unit, job: Job, now: Time, results: Results) -> None:
        """Remember what a chain that has finished gave, and go on with what follows on it."""
        run, chain = unit.run.id, unit.task.id
        more = None
        with Blaming(job):
            if self._cache is not None and chain in job.chains:
                place = job.place(unit.run.pool.tenant.name)
                self._journal.cached(self._cache.remember(place, job.chains[chain], results, unit.started, now))
            if run in self.state.runs:
                more = job.finish(chain, results)
                learn_items(self.state, job)
        if more is not None:
            self._grow(run, job, *more)
        self._check_fault(run)

    def _ended(self, notice: Ended) -> None:
        self.ended[notice.run] = notice.status
        if self.on_ended is not None:
            self.on_ended(notice, self.jobs[notice.run])

    def _refused(self, notice: Refused, event: Event) -> None:
        self.refused.append(notice.reason)
        if isinstance(event, Extended):
            self._journal.broke(event.run, notice.reason, is_impossible=True)

    def _expired(self, notice: Expired) -> None:
        job = self.jobs[notice.run]
        for unit in job.run.units if job.run is not None else ():
            if unit.id == notice.unit:
                self._failed(unit, job, Broke(unit.id, notice.attempt, -1, "timeout", notice.because))

    def _failed(self, unit: Unit, job: Job, report: Broke) -> None:
        self.failed += 1
        self.failures.append(Failure(unit.task.id, job.attempt_folder(unit, report.attempt), report))

    def _concerned(self, event: Event) -> Unit | None:
        """The unit whose present attempt an event ends, if it does."""
        if not isinstance(event, Finished | Failed):
            return None
        unit = self.state.units.get(event.unit)
        return unit if unit is not None and unit.runs(event.attempt, event.machine) else None

    def _grow(self, run: int, job: Job, tasks: tuple[Task, ...], is_last: bool) -> None:
        """Tell the core what follows on the end of a chain."""
        if job.recalled:
            job.first_recalled = self._numbers(len(job.recalled))
            self._recalled(run, self.state.runs[run].pool.index)
        if tasks or is_last or not self.state.runs[run].left or self.state.runs[run].is_overdue:
            self._handle(Extended(self.state.now, self._seq(), run, tasks, is_last), None)
        if tasks and run in self.state.runs:
            self._journal.add_units(self.state.runs[run])

    def _check_fault(self, run: int) -> None:
        """Fail a run that cannot go on."""
        if run in self.state.runs and (fault := self.jobs[run].fault):
            self.faults.append(fault)
            self._handle(Broken(self.state.now, self._seq(), run, fault), None)

    def _event(self, fact: Fact, now: Time) -> Event | None:
        seq = self._seq()
        match fact:
            case Down():
                return self._down(fact, now, seq)
            case Joined() if self.state.has_joined(fact.name, fact.type, fact.tenants):
                self._welcome_again(fact.name, seq)
                return None
            case Left():
                gone = self.state.joined.get(fact.name)
                return None if gone is None else MachineLeft(now, seq, gone.id, fact.reason)
            case Submit():
                return self._submitted(fact, now, seq)
            case Retry():
                return self._reopened(fact.id, now, seq)
            case _:
                return event_of(fact, now, seq)

    def _down(self, report: Down, at: Time, seq: int) -> Event:
        machine = self.state.machines.get(report.machine)
        kind = MachineFailed if machine is not None and machine.is_booting else MachineLost
        return kind(at, seq, report.machine, report.reason)

    def _welcome_again(self, name: str, seq: int) -> None:
        """Tell the engine the number of a machine that is known: it has joined again, or never heard it."""
        machine = self.state.joined[name]
        tenant = NOBODY if machine.is_spare else machine.pool.index
        self._commands.append(Welcomed(self.state.now, seq, machine.id, machine.kind.index, tenant, name))

    def _submitted(self, fact: Submit, now: Time, seq: int) -> Submitted | None:
        if not self.state.runs and not self.state.machines:
            self.state.origin = now  # what comes first need not wait for a decision
        number = self.state.next_run
        name = run_id(now, number)
        job = Job(name, fact.document, fact.parameters, self._folder / name)
        self.jobs[number] = job
        self.names[number] = name
        job.uses_cache = fact.uses_cache
        self._offer_cache(job, fact.tenant)
        try:
            job.encoded = encode(fact.document)
            workflow, is_open = job.begin()
        except Exception as error:
            refused = Refused(now, seq, fact.tenant, fact.document.name, words_for(error))
            self.refused.append(refused.reason)
            self._show(refused)
            return None
        job.first_recalled = self._numbers(len(job.recalled))
        learn_items(self.state, job)
        outline = outline_of(self.core, job)
        return Submitted(now, seq, fact.tenant, workflow, is_open, fact.keeps_going, outline)

    def _offer_cache(self, job: Job, tenant: str) -> None:
        """Let a job look up what its calls gave before, if it wants to."""
        cache = self._cache
        if cache is None or not job.uses_cache or not isinstance(job.document, Program):
            return
        job.recall = cache.recaller(job.place(tenant), self.now, self._journal.cached)

    def _numbers(self, count: int) -> int:
        """The first of some numbers for units of which the core is not told."""
        self.state.next_unit += count
        return self.state.next_unit - count

    def _recalled(self, run: int, tenant: int) -> None:
        """Note chains of a run that were found in the cache whole."""
        job = self.jobs[run]
        chains, job.recalled = job.recalled, []
        record = Recalled(self.state.now, self._next_seq - 1, run, tenant, job.first_recalled, len(chains))
        self._journal.recalled(record, chains)
        self._show(record)

    def _completed(self, report: Done) -> Done:
        """A report with the results of calls that were known before, as if they had run too."""
        unit = self.state.units.get(report.unit)
        known = self.jobs[unit.run.id].known.get(unit.task.id) if unit is not None else None
        return report if known is None else report._replace(results={**known, **report.results})

    def _reopened(self, id: str, now: Time, seq: int) -> Event | None:
        """Bring an ended run back as if it had been suspended, then let it go on."""
        detail = self._store.run(id)
        if detail is None or detail.run.ended is None or detail.run.status == "done":
            return None
        number = reopen(self.core, self.jobs, detail, self._folder)
        self.ended.pop(number, None)
        self.names[number] = id
        self._journal.reopened(self.state.runs[number])
        self._offer_cache(self.jobs[number], self.state.runs[number].pool.tenant.name)
        return Resumed(now, seq, number)

    def _unfold(self, run: int) -> None:
        """Tell the core of chains that a reopened run would have had by now, had it not failed."""
        job = self.jobs[run]
        tasks = job.chains_beyond({unit.task.id for unit in self.state.runs[run].units})
        if tasks:
            is_last = job.generator is None or job.generator.is_done
            self._handle(Extended(self.state.now, self._seq(), run, tasks, is_last), None)
            self._journal.add_units(self.state.runs[run])

    def _check(self) -> None:
        """Ask the engine from time to time whether it has what it should have: no message has to be heard for that."""
        now = self.now()
        if now < self._next_check:
            return
        self._next_check = now + CHECK
        self._inbox += self._engine.check(expected(self.state))

    def _seq(self) -> int:
        self._next_seq += 1
        return self._next_seq - 1

    def _show(self, record: Record) -> None:
        for sink in self._sinks:
            sink(record)
