"""Reports of shares on their way through a driver: from fact to event, and from the core's commands to an answer."""

from collections.abc import Iterable, Sequence

from tradewind.core.elastic.division import Share
from tradewind.core.elastic.events import patience
from tradewind.core.state import State
from tradewind.core.work import Unit
from tradewind.live.facts import Answer, Declined, Finish, Given, Progress
from tradewind.live.port import Broke, Done
from tradewind.model.command import Assign, Command, Dropped
from tradewind.model.elastic import Delivery
from tradewind.model.event import Progressed
from tradewind.model.units import Time

_OVER = Declined("the lease is over; others do what the share held", is_stale=True)


class Reports:
    """Answers that wait to be sent, and what shares have said about their end."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._answers: list[tuple[Progress, Answer | Declined]] = []
        self._said: dict[int, tuple[int, str]] = {}
        """By unit: an attempt, and why it could not go on."""
        self._finished: set[tuple[int, int]] = set()
        """Attempts that have said that they end, while shares are asked to."""

    def running(self, unit: int, attempt: int) -> tuple[Unit, Share] | None:
        """Return a share of which an attempt runs."""
        found = self._state.units.get(unit)
        if found is None or found.machine is None or found.attempt != attempt or not isinstance(found.elastic, Share):
            return None
        return found, found.elastic

    def event(self, fact: Progress, unit: Unit, now: Time, seq: int) -> Progressed:
        """Return a report as the core sees it."""
        deliveries = tuple(Delivery(each.number, each.ranges) for each in fact.given)
        machine = -1 if unit.machine is None else unit.machine.id
        return Progressed(now, seq, unit.id, fact.attempt, machine, fact.done, fact.elapsed, deliveries, fact.ahead)

    def note(self, fact: Progress, share: Share, commands: Iterable[Command]) -> None:
        """Note what the core has answered to a report."""
        for command in commands:
            if isinstance(command, Assign) and command.unit == fact.unit:
                silence = patience(self._state.silence or 0, share.interval)
                answer = Answer(command.next, command.ranges, command.interval, share.deliveries, silence)
                self._answers.append((fact, answer))
                return
            if isinstance(command, Dropped):
                self._answers.append((fact, Declined(command.because)))
                return

    def decline(self, fact: Progress) -> None:
        """Note that a report has come too late."""
        self._answers.append((fact, _OVER))

    def send(self) -> None:
        """Answer everything that is saved by now."""
        answers, self._answers = self._answers, []
        for report, answer in answers:
            report.reply(answer)

    def unfinished(self) -> list[Unit]:
        """Return the shares that run and have not said that they end."""
        return [
            unit
            for run in self._state.runs.values()
            for unit in (run.units if run.is_elastic else ())
            if self.running(unit.id, unit.attempt) is not None and (unit.id, unit.attempt) not in self._finished
        ]

    def finish(self, fact: Finish) -> None:
        """Remember that a share ends, and why, until its process has."""
        self._finished.add((fact.unit, fact.attempt))
        if fact.failure and self.running(fact.unit, fact.attempt) is not None:
            self._said[fact.unit] = fact.attempt, fact.failure

    def as_said(self, report: Done | Broke) -> Done | Broke:
        """Return the end of a share, which is a failure if the share has said so."""
        self._finished.discard((report.unit, report.attempt))
        attempt, failure = self._said.pop(report.unit, (0, ""))
        if attempt != report.attempt or isinstance(report, Broke):
            return report
        return Broke(report.unit, report.attempt, report.machine, "error", failure, usage=report.usage)


def accepted(given: Sequence[Given], before: int, share: Share) -> list[Given]:
    """Return the deliveries of a report that the core has counted."""
    return [each for each in given if before < each.number <= share.deliveries]
