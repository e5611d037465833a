"""SlackSched where machines ask for work (algorithm 3): a machine that reports gets what it is likely to finish.

Among the tasks that fit, the machine gets the one most likely to finish there, if that is likely enough. Otherwise the
shortest task is matched over all machines (algorithm 1), which may leave this one empty. Here a machine reports when it
has gained room; when tasks arrive, all machines with room report, longest stable first.
"""

from collections.abc import Iterator

from tradewind.policies.harvest.matching import Choice, MatchMaker, Round, Settings
from tradewind.policies.harvest.predictor import Predictor, rounded
from tradewind.policies.harvest.rooms import Rooms, queue
from tradewind.policies.protocol import Machine, Place, Unit, View


class Heartbeats(MatchMaker):
    """A placer of tasks on the machines that report."""

    def __init__(self, predictor: Predictor, settings: Settings, threshold: float) -> None:
        super().__init__(predictor, settings)
        self._threshold = threshold

    def _serve(self, view: View, rooms: Rooms) -> Iterator[Place]:
        reporting = {machine.id: machine for machine in view.vacated() if machine.pool is rooms.pool}
        if view.freed():
            reporting |= {machine.id: machine for machine in rooms.open.values()}
        for machine in sorted(reporting.values(), key=lambda each: (each.changed, each.id)):
            while machine.is_up and any(machine.free):
                choice = self._for(view, rooms, machine)
                if choice is None:
                    break
                unit, found = choice
                yield Place(unit, found.machine, f"finishes there before a shrink with {found.score.probability:.0%}")
                rooms.note_work(view, found.machine)

    def _for(self, view: View, rooms: Rooms, machine: Machine) -> tuple[Unit, Choice] | None:
        """Return what to start because a machine has reported."""
        kind = machine.kind
        elapsed = rounded(view.now - machine.changed)
        best: tuple[float, Unit, Choice] | None = None
        shortest: tuple[int, Unit] | None = None
        for unit in queue(rooms.pool, self._settings.depth):
            if kind not in unit.kinds or not machine.has_room_for(unit):
                continue
            length = view.estimate(unit, kind)
            score = self._score(kind, machine.grew, elapsed, rounded(length))
            if score.probability > self._threshold and (best is None or score.probability > best[0]):
                best = (score.probability, unit, Choice(machine, score.time, score))
            if shortest is None or length < shortest[0]:
                shortest = (length, unit)
        if best is not None:
            return best[1:]
        if shortest is None:
            return None
        choice = self._decide(view, rooms, shortest[1], Round(view.now))
        return None if choice is None else (shortest[1], choice)
