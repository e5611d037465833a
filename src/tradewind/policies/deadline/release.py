"""What the board means for machines: acquire those whose time has come, return those that nobody needs again."""

from collections.abc import Iterator

from tradewind.model.units import Duration, show_duration
from tradewind.policies.deadline.board import Board
from tradewind.policies.deadline.track import Track
from tradewind.policies.parts.returning import expiring
from tradewind.policies.protocol import Pool, Rent, Return, Scaling, View


def acquire_due(view: View, pool: Pool, board: Board, ahead: Duration) -> Iterator[Scaling]:
    """Rent the machines that have to be asked for before the next decision."""
    for tracks in board.tracks:
        for track in [each for each in tracks if each.machine is None and each.acquire < view.now + ahead]:
            yield from acquire(view, pool, board, track)


def acquire(view: View, pool: Pool, board: Board, track: Track) -> Iterator[Scaling]:
    """Rent the machine of a track."""
    fleet = pool.fleets[track.kind.index]
    count = len(fleet.machines)
    first = min((each.begin for lane in track.lanes for each in lane), default=view.now)
    yield Rent(pool, track.kind, 1, f"work begins on it in {show_duration(max(0, first - view.now))}")
    if len(fleet.machines) > count:
        board.bind(track, list(fleet.machines.values())[-1])


def return_idle(view: View, pool: Pool, board: Board) -> Iterator[Scaling]:
    """Give back idle machines that nothing is reserved on, once their paid time ends."""
    for fleet in pool.fleets:
        for machine in expiring(fleet.machines.values(), view.now, view.interval):
            track = board.by_machine.get(machine.id)
            if track is None or track.is_idle:
                if track is not None:
                    board.remove(track)
                yield Return(machine, "nothing is reserved on it, and its paid time ends")
