"""One call on its way: the book, the settings, the time, and what has to be told to somebody."""

from dataclasses import dataclass, field
from typing import NamedTuple

from tradewind.core.divisible.book import Book
from tradewind.core.divisible.errors import Refused
from tradewind.core.divisible.records import Job, Pulse
from tradewind.core.divisible.settings import Settings
from tradewind.model.units import Time
from tradewind.policies.divisible.protocol import Balancer
from tradewind.policies.divisible.registry import BALANCERS


class Notice(NamedTuple):
    """Something worth telling: for the log, and for whoever waits."""

    at: Time
    job: str
    what: str
    because: str = ""


@dataclass(slots=True)
class Turn:
    """What each verb works with; made anew for each call."""

    book: Book
    settings: Settings
    now: Time
    notices: list[Notice] = field(default_factory=list)
    _pulse: Pulse | None = None

    @property
    def pulse(self) -> Pulse:
        """The service's own record."""
        if self._pulse is None:
            self._pulse = self.book.pulse() or Pulse(self.now, since=self.now)
        return self._pulse

    @property
    def service_time(self) -> Time:
        """A clock that stops while the service is down; leases run by it."""
        return self.now - self.pulse.paused

    def balancer(self, job: Job) -> Balancer:
        """How a job is balanced."""
        return BALANCERS[job.spec.balancer](self.settings.floor)

    def tell(self, job: Job, what: str, because: str = "") -> None:
        """Note something worth telling."""
        self.notices.append(Notice(self.now, job.id, what, because))

    def job(self, number: int) -> Job:
        """A job that must be there."""
        found = self.book.job(number)
        if found is None:
            raise Refused("unknown", f"no job has the number {number}")
        return found
