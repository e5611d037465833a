"""How long the service waits for what."""

from dataclasses import dataclass

from tradewind.model.units import DAY, MINUTE, SECOND, Duration


@dataclass(frozen=True, slots=True)
class Settings:
    """Times of the service; tests and demonstrations shrink them together (`scaled`)."""

    floor: Duration = 10 * SECOND
    """Shortest interval between two reports of a partition."""
    start: Duration = 2 * MINUTE
    """A partition that has not started by then goes back."""
    silence: Duration = 30 * SECOND
    """A partition goes back when a report is overdue by this long, and by a quarter of its interval."""
    step: Duration = 5 * MINUTE
    """Length of the measure and settle phases of the scaling hint."""
    inactive: Duration = 10 * MINUTE
    """A site that has sent no update for this long is not counted."""
    forgotten: Duration = DAY
    """After this long it must register again."""
    beat: Duration = 1 * SECOND
    """How often leases and phases are looked at."""
    outage: Duration = 15 * SECOND
    """If nothing was looked at for this long, the service was down: no lease runs out meanwhile."""
    failures: int = 20
    """A job fails after so many failed partitions in a row without a delivery."""
    is_lifo: bool = False
    """Whether the newest job goes first, as in the original."""
    is_original_hint: bool = False
    """Whether slots are asked for by the original's rule."""

    def scaled(self, factor: float) -> "Settings":
        """All times multiplied by a factor."""
        names = ("floor", "start", "silence", "step", "inactive", "forgotten", "beat", "outage")
        times = {name: max(1, round(getattr(self, name) * factor)) for name in names}
        return Settings(**times, failures=self.failures, is_lifo=self.is_lifo, is_original_hint=self.is_original_hint)
