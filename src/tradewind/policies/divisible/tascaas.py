"""TaScaaS: slots of several sites for divisible jobs that should end in time (section III), with RUPER-LB.

- The *scaler* decides how many slots each machine type should have (the scaling hint of section III-B, with measure
  and settle steps), and how many of them each elastic unit must have now (`urgency`).
- The *placer* decides which unit gets a free slot: those in need of one, then by priority, due time and age.
- The *balancer* is `ruper`, whose shares give way when the plan says so.

A site is a machine type whose `limit` is the number of slots it can reach; of a type that joins, its owner hears how
many are wanted. `tascaas-original` follows the original's rules instead, as its published code has them: the newest
share first, slots by the number of dispatched shares, the last measure as the speed, and more shares when the newest
one reports; slots never change hands. Both run any other work too, which counts as one share each.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tradewind.model.units import SECOND, Duration, Time
from tradewind.policies.divisible.hint import Hint
from tradewind.policies.divisible.original import Original
from tradewind.policies.divisible.protocol import Balancer, DivisionView, JobView, PartitionView, ShareView
from tradewind.policies.divisible.ruper import Ruper
from tradewind.policies.divisible.urgency import FAR, Board, Plan, Row, hurried, is_shared, overdue, taker
from tradewind.policies.protocol import (
    Foresee,
    Machine,
    Offer,
    Place,
    Policy,
    Pool,
    Scaling,
    Split,
    Unit,
    View,
)

_HIGH = 1 << 40
"""Priorities and numbers of runs stay below."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """How often the policy measures and plans."""

    step: float = field(default=300.0, metadata={"help": "seconds of each measure and settle step of the hint"})
    beat: float = field(default=7.5, metadata={"help": "seconds between two plans of which slots change hands"})
    slots: int = field(default=1, metadata={"help": "slots that are wanted before anything is measured"})

    def __post_init__(self) -> None:
        if self.step <= 0 or self.beat <= 0 or self.slots < 1:
            raise ValueError("step and beat must be above 0, and slots at least 1")


class Scaler:
    """Plans who needs slots, and asks for as many as are needed."""

    on_arrival = True

    def __init__(self, board: Board, hint: Hint, pace: Duration, *, plans: bool) -> None:
        self.hint = hint
        self.pace = pace
        self._board = board
        self._plans = plans
        self._planned: Time | None = None
        self._warned: dict[int, DivisionView] = {}

    def scale(self, view: View) -> Iterator[Scaling]:
        """Warn of units that are late, ask for shares that are missing, then rent and return."""
        self.hint.measure(view)
        divisions = view.divisions()
        yield from self._warn(divisions, view.now)
        if self._plans and (self._planned is None or view.now - self._planned >= self.pace):
            self._planned = view.now
            for pool in view.pools():
                yield from self._plan(view, pool, [each for each in divisions if each.unit.run.pool is pool])
        yield from self.hint.follow(view)

    def _warn(self, divisions: Sequence[DivisionView], now: Time) -> Iterator[Scaling]:
        late = overdue(divisions, now)
        for number, each in late.items():
            if number not in self._warned:
                yield Foresee(each.unit.run, now, f"{each.unit.task.id}: no share of it runs, and it is late already")
        self._warned = dict(late)

    def _plan(self, view: View, pool: Pool, divisions: list[DivisionView]) -> Iterator[Scaling]:
        """Plan for a tenant, if any of its shares waits that could get the slot of another unit."""
        if not any(each.queued and is_shared(each) for each in divisions):
            self._board.post(pool.index, ())
            return
        slots, idle = self.hint.reach(view, pool)
        plan = Plan(divisions, slots, idle, view.now)
        for request in plan.requests():
            yield Split(request.division.unit, request.shares, request.because)
        self._board.post(pool.index, plan.rows())


class Dispatch:
    """Starts units in need first, then by priority, due time and age; or the newest first."""

    def __init__(self, board: Board, *, is_lifo: bool) -> None:
        self._board = board
        self._is_lifo = is_lifo

    def rank(self, unit: Unit) -> int:
        """Smaller ranks come first."""
        if self._is_lifo:
            return _HIGH - unit.id
        due = unit.run.deadline if unit.division is None else unit.division.due
        return (_HIGH - unit.run.priority) * FAR + (FAR - 1 if due is None else due)

    def place(self, view: View) -> Iterator[Place]:
        """Start units as long as there is room for any."""
        self._board.created += len(view.freed())
        for pool in view.unsettled():
            while (match := pool.best_match()) is not None:
                yield self._in_need(pool, *match) or Place(*match, "first by priority, due time and age")
                self._board.dispatched += 1

    def _in_need(self, pool: Pool, first: Unit, machine: Machine) -> Place | None:
        """A share of a unit that is to have more slots, of the priority of the first unit or a higher one."""
        for row in self._board.rows(pool.index):
            division = row.division
            if division.live < row.goal and division.queued and division.unit.run.priority >= first.run.priority:
                share = _ready_share(row)
                if share is not None and machine.kind in share.kinds and machine.has_room_for(share):
                    return Place(share, machine, f"it has {division.live} of {row.goal} slots that it should have")
        return None


def _ready_share(row: Row) -> Unit | None:
    return next((unit for unit in reversed(row.division.shares.values()) if unit.is_ready), None)  # type: ignore[call-overload]


@dataclass(frozen=True, slots=True)
class HandingOver(Ruper):
    """`ruper` whose shares end when their slot is to go to another unit."""

    board: Board = field(default_factory=Board)

    def interval(self, job: JobView, partition: PartitionView | None, moved: float) -> Duration:
        """As `ruper`, but soon while shares wait."""
        return hurried(self.board, job, Ruper.interval(self, job, partition, moved), self.floor)  # type: ignore[arg-type]

    def gives_way(self, job: DivisionView, share: ShareView, now: Time) -> str:
        """Why a share should end, so that its machine can go to another unit."""
        to = taker(self.board, job, share, now)
        if to is None:
            return ""
        self.board.hand_over(job.unit.run.pool.index, job, to)
        return f"unit {to.unit.id} needs the slot to end in time"


def _build(name: str, *, is_original: bool) -> Callable[[Parameters], Policy]:
    def build(parameters: Parameters) -> Policy:
        board = Board()
        hint = Hint(board, round(parameters.step * SECOND), parameters.slots, is_original=is_original)
        scaler = Scaler(board, hint, round(parameters.beat * SECOND), plans=not is_original)

        def balancer(floor: Duration) -> Balancer:
            return Original(floor) if is_original else HandingOver(floor, board=board)

        placer = Dispatch(board, is_lifo=is_original)
        return Policy(name, scaler, placer, memory=hint, hints=False, balancer=balancer)

    return build


OFFER = Offer(
    name="tascaas",
    summary="slots of several sites for divisible jobs, which share them so that all end in time",
    parameters=Parameters,
    build=_build("tascaas", is_original=False),
)
ORIGINAL = Offer(
    name="tascaas-original",
    summary="TaScaaS by its own rules: newest share first, slots by what was dispatched, no slot changes hands",
    parameters=Parameters,
    build=_build("tascaas-original", is_original=True),
)
