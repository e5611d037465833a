"""Faults of simulated shares: reports that take time or get lost, a control plane that is down, kills."""

from dataclasses import dataclass

from tradewind.model.units import SECOND, Duration, Time


@dataclass(frozen=True, slots=True)
class Calls:
    """How requests of shares fare; by default each is answered immediately."""

    latency: Duration = 0
    """From a request to its answer."""
    failing: float = 0.0
    """Probability that a request gets no answer."""
    every: int = 0
    """In addition, one in this many requests gets none, as behind a proxy with a dead backend; 0: none."""
    arriving: float = 0.0
    """Probability that a request without an answer arrives all the same."""
    timeout: Duration = 10 * SECOND
    """After which a caller stops waiting for an answer and tries again."""
    is_blocking: bool = False
    """Whether shares stand still while a report is on its way; those of the SDK continue with what they hold."""
    is_counted: bool = False
    """Whether shares count the time they stand still as working time, which the protocol asks them not to."""

    @property
    def are_instant(self) -> bool:
        """Whether nothing happens between a request and its answer."""
        return not (self.latency or self.failing or self.every)


@dataclass(frozen=True, slots=True)
class Troubles:
    """What goes wrong with shares and with the control plane."""

    calls: Calls = Calls()
    outages: tuple[tuple[Time, Time], ...] = ()
    """When the control plane is down: events wait, and shares continue with what they hold."""
    kills: tuple[Time, ...] = ()
    """When a running share dies, or the machine under it."""
    noticed: float = 0.5
    """Part of the kills that hit the program alone, which its agent notices; the others take the machine with it."""
    revival: Duration = 20 * SECOND
    """Until an agent has reported that its program died."""
    silence: Duration = 30 * SECOND
    """Until a machine that has fallen silent is declared lost."""

    def up_from(self, time: Time) -> Time:
        """The time itself, or when the control plane is up again after it."""
        while (end := next((end for begin, end in self.outages if begin <= time < end), None)) is not None:
            time = end
        return time


NO_TROUBLES = Troubles()
