"""Apply the board to machines: acquire those that are due, return those that are no longer needed."""

from collections import deque
from collections.abc import Iterator

from tradewind.model.units import show_duration
from tradewind.policies.deadline.board import Board
from tradewind.policies.deadline.track import Track
from tradewind.policies.parts.returning import expiring
from tradewind.policies.protocol import Pool, Rent, Return, Scaling, View


def acquire_due(view: View, pool: Pool, board: Board, waiting: set[int]) -> Iterator[Scaling]:
    """Rent machines that must be requested before the next decision, and record runs that have to do without."""
    due = view.now + view.interval
    for tracks in board.tracks:
        for track in [each for each in tracks if each.machine is None and each.acquire < due]:
            yield from acquire(view, pool, board, track)
            if track.machine is None:
                units = map(view.unit, board.refuse(view, track))
                waiting.update(unit.run.id for unit in units if unit is not None)


def acquire(view: View, pool: Pool, board: Board, track: Track) -> Iterator[Scaling]:
    """Rent the machine of a track."""
    fleet = pool.fleets[track.kind.index]
    count = len(fleet.machines)
    first = track.reserved[0].begin if track.reserved else view.now
    yield Rent(pool, track.kind, 1, f"its first unit starts in {show_duration(max(0, first - view.now))}")
    if len(fleet.machines) > count:
        board.bind(track, deque(fleet.machines.values(), maxlen=1)[0])


def return_idle(view: View, pool: Pool, board: Board) -> Iterator[Scaling]:
    """Return idle machines without reservations at the end of their paid time."""
    for fleet in pool.fleets:
        for machine in expiring(fleet.machines.values(), view.now, view.interval):
            track = board.by_machine.get(machine.id)
            if track is None or track.is_idle:
                if track is not None:
                    board.remove(track)
                yield Return(machine, "nothing is reserved on it, and its paid time ends")
