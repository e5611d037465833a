"""A world that plays tricks on the core: events that come twice, late, out of order, or about what is long gone."""

import random
from collections.abc import Callable
from dataclasses import replace

from worlds import POLICIES, Bench, make_requirement, make_type, make_workflow

from tradewind.model.command import Acquire, Admitted, Command, Kill, Release, Start, Wake
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
    MachineResized,
    MachineUnwanted,
    Reprioritised,
    Resumed,
    Submitted,
    Suspended,
    TenantChanged,
    Timer,
)
from tradewind.model.tenant import Tenant
from tradewind.model.units import SECOND, UNIT, Time
from tradewind.model.workflow import Retry, Task

_POLICIES = tuple(each for each in POLICIES if each[0] != "fixed")


class Mischief:
    """Drives a core with events drawn from a seed; an orderly world delivers timers on time and never turns back."""

    def __init__(self, seed: int, *, is_orderly: bool) -> None:
        self.rng = rng = random.Random(seed)
        self.is_orderly = is_orderly
        policy, parameters = rng.choice(_POLICIES)
        self.is_dynamic = policy in ("demand", "pfa")
        self.is_replicated = policy == "replicate"
        self.is_uniform = rng.random() < 0.5
        self.types = tuple(
            replace(kind, limit=min(kind.limit, 8))
            for kind in (make_type(rng.choice, i, is_uniform=self.is_uniform) for i in range(rng.randint(1, 3)))
        )
        self.tenants = tuple(
            Tenant(name, rng.choice((None, 2, 8, 30)), rng.choice((60, 30, 150)) * SECOND)
            for name in ("ann", "bob")[: rng.randint(1, 2)]
        )
        self.tenants = tuple(replace(t, budget=t.budget and t.budget * UNIT) for t in self.tenants)
        self.bench = Bench(self.types, policy, parameters, tenants=self.tenants)
        self.now: Time = 0
        self.running: dict[tuple[int, int], Start] = {}
        """By unit and attempt."""
        self.booting: set[int] = set()
        self.due: Time | None = None
        self.starts: list[Start] = []
        self.past: list[Event] = []
        self.machines = 0
        self.runs = 0
        self.open_runs: set[int] = set()

    # What happens

    def play(self, steps: int) -> None:
        """Let so many things happen."""
        acts: list[Callable[[], Event | None]] = [
            self.submit,
            self.submit,
            *[self.finish] * 5,
            *[self.boot] * 4,
            *[self.wake] * 4,
            self.fail,
            self.fail_to_boot,
            self.lose,
            self.extend,
            self.reprioritise,
            self.suspend,
            self.resume,
            self.unwant,
            *[self.resize] * 3,
            self.change_budget,
            self.cancel,
            self.report_old_attempt,
            self.repeat,
            self.babble,
            *([] if self.is_orderly else [self.wake_early]),
        ]
        for _ in range(steps):
            act = self.rng.choice(acts)
            event = act()
            if event is not None:
                self.deliver(event)

    def deliver(self, event: Event) -> None:
        """Hand an event to the core and note what it wants."""
        if self.is_orderly:  # facts come before the timers of their instant
            while self.due is not None and self.due < event.at:
                self._deliver(Timer(self.due, 0))
        self._deliver(event)

    def _deliver(self, event: Event) -> None:
        if isinstance(event, Timer) and self.due is not None and self.due <= event.at:
            self.due = None
        self.now = max(self.now, event.at)
        event = event._replace(seq=self.bench.next_seq())
        self.past.append(event)
        if isinstance(event, MachineReady | MachineFailed | MachineLost):
            self.booting.discard(event.machine)
        if isinstance(event, MachineLost) or (isinstance(event, MachineResized) and self._evicts(event)):
            self.booting.discard(event.machine)
            self.running = {key: start for key, start in self.running.items() if start.machine != event.machine}
        if isinstance(event, Finished | Failed):
            start = self.running.get((event.unit, event.attempt))
            if start is not None and start.machine == event.machine:
                del self.running[event.unit, event.attempt]
        for command in self.bench.handle(event):
            self.obey(command)

    def _evicts(self, event: MachineResized) -> bool:
        machine = self.bench.state.machines.get(event.machine)
        return machine is not None and not machine.kind.type.keeps(event.amounts)

    def obey(self, command: Command) -> None:
        match command:
            case Start():
                self.running[command.unit, command.attempt] = command
                self.starts.append(command)
            case Kill():
                del self.running[command.unit, command.attempt]
            case Acquire():
                self.booting.add(command.machine)
                self.machines += 1
            case Release():
                self.booting.discard(command.machine)
            case Wake():
                self.due = command.due if self.due is None else min(self.due, command.due)
            case Admitted():
                self.runs += 1
            case _:
                pass

    def later(self) -> Time:
        """The time of the next event: mostly a little later, at times much later or, in a disorderly world, before."""
        jump = self.rng.choice((0, 0, 1, 7, 30, 61) if self.is_orderly else (0, 0, 1, 7, 30, 61, 200, -5, -90))
        return max(0, self.now + jump * SECOND)

    # Honest events

    def submit(self) -> Event:
        work = make_workflow(self.rng.choice, self.types)
        is_open = self.rng.random() < 0.2
        if is_open:
            self.open_runs.add(self.runs)
        return Submitted(self.later(), 0, self.rng.choice(self.tenants).name, work, is_open, self.rng.random() < 0.3)

    def extend(self) -> Event | None:
        if not self.open_runs:
            return None
        needs = make_requirement(self.rng.choice, self.types)
        tasks = tuple(Task(f"x{i}", "x", needs, SECOND, retry=Retry(2)) for i in range(self.rng.randint(0, 2)))
        run = self.rng.choice(sorted(self.open_runs))
        return Extended(self.later(), 0, run, tasks, self.rng.random() < 0.5)

    def finish(self) -> Event | None:
        start = self.any_start()
        return start and Finished(self.later(), 0, start.unit, start.attempt, start.machine)

    def fail(self) -> Event | None:
        start = self.any_start()
        cause = self.rng.choice(("error", "error", "memory", "memory", "lost", "returned"))
        return start and Failed(self.later(), 0, start.unit, start.attempt, start.machine, "mischief", cause)

    def any_start(self) -> Start | None:
        return self.rng.choice(list(self.running.values())) if self.running else None

    def boot(self) -> Event | None:
        return MachineReady(self.later(), 0, self.rng.choice(sorted(self.booting))) if self.booting else None

    def fail_to_boot(self) -> Event | None:
        number = self.rng.choice(sorted(self.booting)) if self.booting else None
        return None if number is None else MachineFailed(self.later(), 0, number, "mischief")

    def lose(self) -> Event | None:
        return MachineLost(self.later(), 0, self.rng.randrange(self.machines), "mischief") if self.machines else None

    def wake(self) -> Event | None:
        if self.due is None:
            return None
        late = 0 if self.is_orderly or self.rng.random() < 0.7 else self.rng.choice((1, 30, 200)) * SECOND
        return Timer(self.due + late, 0)

    def change_budget(self) -> Event:
        budget = self.rng.choice((None, 0, 1, 2, 5, 8, 30))
        tenant = self.rng.choice(self.tenants)
        return TenantChanged(self.later(), 0, replace(tenant, budget=None if budget is None else budget * UNIT))

    def reprioritise(self) -> Event | None:
        run = self.rng.randrange(self.runs + 1)
        return Reprioritised(self.later(), 0, run, self.rng.randint(-2, 5))

    def suspend(self) -> Event | None:
        return Suspended(self.later(), 0, self.rng.randrange(self.runs + 1))

    def resume(self) -> Event | None:
        return Resumed(self.later(), 0, self.rng.randrange(self.runs + 1))

    def unwant(self) -> Event | None:
        is_urgent = self.rng.random() < 0.5
        number = self.rng.randrange(self.machines + 1)
        return MachineUnwanted(self.later(), 0, number, "mischief", is_urgent)

    def resize(self) -> Event | None:
        if not self.machines:
            return None
        number = self.rng.randrange(self.machines)
        machine = self.bench.state.machines.get(number)
        kind = self.rng.choice(self.types) if machine is None else machine.kind.type
        amounts = tuple((name, self.rng.randint(0, count)) for name, count in kind.amounts)
        return MachineResized(self.later(), 0, number, kind.amounts if self.rng.random() < 0.3 else amounts)

    # Tricks

    def cancel(self) -> Event | None:
        return Cancelled(self.later(), 0, self.rng.randrange(self.runs + 1)) if self.rng.random() < 0.5 else None

    def report_old_attempt(self) -> Event | None:
        if not self.starts:
            return None
        old = self.rng.choice(self.starts)
        attempt = old.attempt + self.rng.choice((0, -1, 1))
        now = self.running.get((old.unit, attempt))
        machine = old.machine if now is None else now.machine
        if self.rng.random() < 0.5:
            return Failed(self.later(), 0, old.unit, attempt, machine, "mischief")
        return Finished(self.later(), 0, old.unit, attempt, machine)

    def repeat(self) -> Event | None:
        """Something that was said before is said again."""
        said = [event for event in self.past[-20:] if not isinstance(event, Submitted | Timer | Closed)]
        return self.rng.choice(said)._replace(at=self.later()) if said else None

    def babble(self) -> Event:
        """A report about anything, known or not."""
        at, number = self.later(), self.rng.randrange(30)
        match self.rng.randrange(6):
            case 0:
                return MachineReady(at, 0, number)
            case 1:
                return MachineLost(at, 0, number, "mischief")
            case 2:
                return MachineFailed(at, 0, number, "mischief")
            case 3:
                return Cancelled(at, 0, number)
            case 4:
                return Broken(at, 0, number, "mischief")
            case _:
                start = self.running.get((number, 1))
                return Finished(at, 0, number, 1, start.machine if start else 0)

    def wake_early(self) -> Event:
        return Timer(self.now, 0)

    # The end

    def come_to_an_end(self, turns: int = 3_000) -> bool:
        """Pay for everything and let all work end well; whether it did."""
        for tenant in self.tenants:
            self.deliver(TenantChanged(self.now, 0, replace(tenant, budget=None)))
        for run in sorted(self.bench.state.runs):
            self.deliver(Resumed(self.now, 0, run))
        for run in sorted(self.open_runs):
            self.deliver(Extended(self.now, 0, run, (), True))
        self.deliver(Closed(self.now, 0))
        for _ in range(turns):
            if self.running:
                start = next(iter(self.running.values()))
                self.deliver(Finished(self.now, 0, start.unit, start.attempt, start.machine))
            elif self.booting:
                self.deliver(MachineReady(self.now, 0, min(self.booting)))
            elif self.due is not None:
                self.deliver(Timer(max(self.now, self.due), 0))
            if not self.bench.state.runs:
                return True
        return False
