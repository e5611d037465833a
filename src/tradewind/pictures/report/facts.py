"""The facts of a report: units, attempts and machines, folded from the plain records of a log.

Simulated and real runs write the same log (see `tradewind.core.log`), so they have the same report.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tradewind.core.elastic.events import DELIVERED
from tradewind.core.machine_events import SHRUNK
from tradewind.model.units import Money, Time, money, seconds

Plain = dict[str, Any]
"""A record of a log."""

DONE, FAILED, LOST, CANCELLED, RUNNING = "done", "failed", "lost", "cancelled", "running"
_KILLED = {SHRUNK: LOST, DELIVERED: DONE}
"""Outcomes of attempts that were killed, unless they were simply unwanted."""


@dataclass(slots=True)
class Attempt:
    """One execution of a unit."""

    unit: int
    number: int
    machine: int
    begin: Time
    cause: int
    """`seq` of the event that led to its start."""
    end: Time | None = None
    outcome: str = RUNNING
    reason: str = ""
    delivered: Time | None = None
    """For a share of a divisible task: until when its work was delivered, and so is useful in any case."""


@dataclass(slots=True)
class Unit:
    """A task or chain."""

    number: int
    run: int
    id: str
    attempts: list[Attempt] = field(default_factory=list)
    kind: str = ""
    """The step it belongs to."""
    parents: tuple[int, ...] | None = None
    """Numbers of the units it waited for; None: unknown."""
    eligible: Time | None = None
    """When it waited only for a machine; None: unknown."""

    @property
    def end(self) -> Time | None:
        """Return when its last attempt ended."""
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
    """Tasks whose results came from the cache."""


class Happening(NamedTuple):
    """An event that may lead to a start."""

    name: str
    at: Time
    number: int
    """The unit or machine it concerns; -1: neither."""


class Cut(NamedTuple):
    """A decision that was reduced: fewer machines were rented than wanted."""

    at: Time
    because: str


class Facts:
    """A fold over the records of a log."""

    def __init__(self) -> None:
        self.runs: dict[int, Run] = {}
        self.units: dict[int, Unit] = {}
        self.machines: dict[int, Machine] = {}
        self.happenings: dict[int, Happening] = {}
        """By `seq`."""
        self.cuts: dict[str, list[Cut]] = {}
        """By tenant, in order of time."""
        self.resumed: dict[int, list[Time]] = {}
        """By run: when it was resumed after a suspension."""
        self.refused: list[str] = []
        self.begin: Time | None = None
        self.end: Time = 0
        self._firsts: list[int] = []
        self._owners: list[int] = []
        self._freed: dict[int, deque[tuple[Time, int]]] = {}
        """By run: how many units became eligible when, and are not yet matched with a start."""
        self._running: dict[int, dict[int, Attempt]] = {}
        """By machine and unit."""
        self._finished = -1
        """The last unit that finished: units that a run adds right after it waited for it."""
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
            "progressed": self._progressed,
            "finished": lambda record: self._stop(record, DONE),
            "failed": lambda record: self._stop(record, FAILED),
            "kill": lambda record: self._stop(record, _KILLED.get(record["because"], CANCELLED)),
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
        """Fold records in order."""
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
        """Return the number of the run that a unit belongs to."""
        place = bisect_right(self._firsts, unit) - 1
        return self._owners[place] if place >= 0 else -1

    def first_of(self, run: int) -> int | None:
        """Return the number of a run's first unit."""
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
            waiting.clear()  # waiting units are held back, and counted again when the run is resumed

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
        """Return when the unit of a run that has waited longest became eligible.

        A log records how many became eligible, not which; taking them in order keeps every total of waits exact.
        """
        waiting = self._freed.get(run)
        if not waiting:
            return None
        at, count = waiting.popleft()
        if count > 1:
            waiting.appendleft((at, count - 1))
        return at

    def _stop(self, record: Plain, outcome: str) -> None:
        attempt = self._reported(record)
        if attempt is not None:
            self._end(attempt, record, outcome)
            self._finished = attempt.unit

    def _progressed(self, record: Plain) -> None:
        attempt = self._reported(record)
        if attempt is not None:
            at = seconds(record["at"])
            attempt.delivered = at if record["deliveries"] or attempt.delivered is None else attempt.delivered

    def _reported(self, record: Plain) -> Attempt | None:
        """Return the attempt that a record is about; None: it is a late report of an old one."""
        unit = self.units.get(record["unit"])
        attempts = reversed(unit.attempts) if unit is not None else ()
        attempt = next((each for each in attempts if each.number == record["attempt"]), None)
        return attempt if attempt is not None and attempt.outcome == RUNNING else None

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
