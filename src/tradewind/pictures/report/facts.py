"""What a report is made of: units, attempts and machines, folded from the plain records of a log.

A log is the same whether a run was simulated or real (see `tradewind.core.log`), and so is its report.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tradewind.core.machine_events import SHRUNK
from tradewind.model.units import Money, Time, money, seconds

Plain = dict[str, Any]
"""A record of a log."""

DONE, FAILED, LOST, CANCELLED, RUNNING = "done", "failed", "lost", "cancelled", "running"


@dataclass(slots=True)
class Attempt:
    """One try to run a unit."""

    unit: int
    number: int
    machine: int
    begin: Time
    cause: int
    """`seq` of the event on which it was started."""
    end: Time | None = None
    outcome: str = RUNNING
    reason: str = ""


@dataclass(slots=True)
class Unit:
    """A task or chain."""

    number: int
    run: int
    id: str
    attempts: list[Attempt] = field(default_factory=list)
    kind: str = ""
    """What step it belongs to."""
    parents: tuple[int, ...] | None = None
    """Numbers of the units it waited for; None: not known."""
    eligible: Time | None = None
    """When it waited for nothing but a machine; None: not known."""

    @property
    def end(self) -> Time | None:
        """When its last attempt ended."""
        return self.attempts[-1].end if self.attempts else None


@dataclass(slots=True)
class Machine:
    """A machine that was rented."""

    number: int
    kind: str
    tenant: str
    acquired: Time
    because: str
    up: Time | None = None
    gone: Time | None = None
    is_lost: bool = False
    why_gone: str = ""
    cost: Money = 0


@dataclass(slots=True)
class Run:
    """A workflow that was submitted."""

    number: int
    tenant: str
    name: str
    tasks: int
    submitted: Time
    deadline: Time | None = None
    ended: Time | None = None
    status: str = "running"
    recalled: int = 0
    """Tasks for which nothing had to run, for what they give was known from before."""


class Happening(NamedTuple):
    """An event that something may be started on."""

    name: str
    at: Time
    number: int
    """Of the unit or machine it speaks of; -1: of neither."""


class Cut(NamedTuple):
    """Fewer machines were rented than wanted."""

    at: Time
    because: str


class Facts:
    """Takes records one by one; afterwards everything is in place."""

    def __init__(self) -> None:
        self.runs: dict[int, Run] = {}
        self.units: dict[int, Unit] = {}
        self.machines: dict[int, Machine] = {}
        self.happenings: dict[int, Happening] = {}
        """By `seq`."""
        self.cuts: dict[str, list[Cut]] = {}
        """By tenant, in order of time."""
        self.resumed: dict[int, list[Time]] = {}
        """By run: when it went on after it had been suspended."""
        self.refused: list[str] = []
        self.begin: Time | None = None
        self.end: Time = 0
        self._firsts: list[int] = []
        self._owners: list[int] = []
        self._freed: dict[int, deque[tuple[Time, int]]] = {}
        """By run: how many units became eligible when, and are not matched with a start yet."""
        self._running: dict[int, dict[int, Attempt]] = {}
        """By machine and unit."""
        self._finished = -1
        """The unit that finished last: what a run grows by right after waited for it."""
        self._parent_of: dict[tuple[int, str], int] = {}
        self._folders: dict[str, Callable[[Plain], None]] = {
            "admitted": self._admitted,
            "grown": self._grown,
            "extended": self._extended,
            "recalled": self._recalled,
            "refused": lambda record: self.refused.append(f"{record['workflow']}: {record['reason']}"),
            "eligible": self._eligible,
            "resumed": lambda record: self.resumed.setdefault(record["run"], []).append(seconds(record["at"])),
            "ended": self._ended,
            "start": self._start,
            "finished": lambda record: self._stop(record, DONE),
            "failed": lambda record: self._stop(record, FAILED),
            "kill": lambda record: self._stop(record, LOST if record["because"] == SHRUNK else CANCELLED),
            "acquire": self._acquire,
            "machine-ready": self._ready,
            "machine-failed": self._machine_gone,
            "machine-lost": self._machine_gone,
            "release": self._release,
            "charged": lambda record: self._pay(record, 1),
            "refunded": lambda record: self._pay(record, -1),
            "cut": self._cut,
        }

    def take(self, records: Iterable[Plain]) -> "Facts":
        """Fold records in their order."""
        for record in records:
            at = seconds(record["at"])
            if self.begin is None:
                self.begin = at
            self.end = max(self.end, at)
            if "seq" in record:
                number = record["unit"] if "unit" in record else record.get("machine", -1)
                self.happenings[record["seq"]] = Happening(record["event"], at, number)
            fold = self._folders.get(record["event"])
            if fold is not None:
                fold(record)
        return self

    def run_of(self, unit: int) -> int:
        """The run that a unit belongs to, by its number."""
        place = bisect_right(self._firsts, unit) - 1
        return self._owners[place] if place >= 0 else -1

    def first_of(self, run: int) -> int | None:
        """The number of a run's first unit."""
        return next((first for first, owner in zip(self._firsts, self._owners, strict=True) if owner == run), None)

    def _admitted(self, record: Plain) -> None:
        self._own(record)
        deadline = record.get("deadline")
        self.runs[record["run"]] = Run(
            record["run"],
            record["tenant"],
            record["workflow"],
            record["tasks"],
            seconds(record["at"]),
            None if deadline is None else seconds(deadline),
        )

    def _grown(self, record: Plain) -> None:
        self._own(record)
        run = self.runs.get(record["run"])
        if run is not None:
            run.tasks += record["tasks"]

    def _recalled(self, record: Plain) -> None:
        run = self.runs.get(record["run"])
        if run is not None:
            run.recalled += record["tasks"]

    def _own(self, record: Plain) -> None:
        self._firsts.append(record["first"])
        self._owners.append(record["run"])

    def _extended(self, record: Plain) -> None:
        for id in record.get("added") or ():
            self._parent_of[record["run"], id] = self._finished

    def _eligible(self, record: Plain) -> None:
        waiting = self._freed.setdefault(record["run"], deque())
        if record["change"] > 0:
            waiting.append((seconds(record["at"]), record["change"]))
        elif record["cause"] in self.happenings and self.happenings[record["cause"]].name == "suspended":
            waiting.clear()  # all that waits is held back, and counted again when the run goes on

    def _ended(self, record: Plain) -> None:
        run = self.runs.get(record["run"])
        if run is not None:
            run.ended, run.status = seconds(record["at"]), record["status"]

    def _start(self, record: Plain) -> None:
        number, at = record["unit"], seconds(record["at"])
        unit = self.units.get(number)
        if unit is None:
            run = record.get("run", self.run_of(number))
            unit = self.units[number] = Unit(number, run, record.get("task", f"unit {number}"))
            unit.eligible = self._next_freed(run)
            parent = self.units.get(self._parent_of.get((run, unit.id), -1))
            if parent is not None:
                unit.parents = (parent.number,)
                unit.eligible = parent.end
        attempt = Attempt(number, record["attempt"], record["machine"], at, record["cause"])
        unit.attempts.append(attempt)
        self._running.setdefault(attempt.machine, {})[number] = attempt

    def _next_freed(self, run: int) -> Time | None:
        """When the unit of a run that has been waiting longest became eligible.

        A log says how many became so, not which; taking them in turn keeps every sum of waits exact.
        """
        waiting = self._freed.get(run)
        if not waiting:
            return None
        at, count = waiting.popleft()
        if count > 1:
            waiting.appendleft((at, count - 1))
        return at

    def _stop(self, record: Plain, outcome: str) -> None:
        unit = self.units.get(record["unit"])
        if unit is None:
            return
        attempt = next((each for each in reversed(unit.attempts) if each.number == record["attempt"]), None)
        if attempt is None or attempt.outcome != RUNNING:
            return  # a late report of an old attempt
        self._end(attempt, record, outcome)
        self._finished = unit.number

    def _end(self, attempt: Attempt, record: Plain, outcome: str) -> None:
        attempt.end, attempt.outcome = seconds(record["at"]), outcome
        attempt.reason = record.get("reason") or record.get("because") or ""
        self._running[attempt.machine].pop(attempt.unit, None)

    def _acquire(self, record: Plain) -> None:
        self.machines[record["machine"]] = Machine(
            record["machine"], record["kind"], record["tenant"], seconds(record["at"]), record["because"]
        )

    def _ready(self, record: Plain) -> None:
        machine = self.machines.get(record["machine"])
        if machine is not None and machine.up is None:
            machine.up = seconds(record["at"])

    def _machine_gone(self, record: Plain) -> None:
        machine = self.machines.get(record["machine"])
        if machine is None or machine.gone is not None:
            return
        machine.gone, machine.is_lost, machine.why_gone = seconds(record["at"]), True, record["reason"]
        for attempt in list(self._running.get(machine.number, {}).values()):
            self._end(attempt, record, LOST)

    def _release(self, record: Plain) -> None:
        machine = self.machines.get(record["machine"])
        if machine is not None and machine.gone is None:
            machine.gone, machine.why_gone = seconds(record["at"]), record["because"]

    def _pay(self, record: Plain, sign: int) -> None:
        machine = self.machines.get(record["machine"])
        if machine is not None:
            machine.cost += sign * money(record["amount"])

    def _cut(self, record: Plain) -> None:
        self.cuts.setdefault(record["tenant"], []).append(Cut(seconds(record["at"]), record["because"]))
