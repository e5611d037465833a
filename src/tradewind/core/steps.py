"""Step functions of time, integrated while they are drawn."""

from tradewind.model.units import Duration, Time


class Level:
    """A whole number that changes over time, with its integral so far."""

    __slots__ = ("area", "now", "since")

    def __init__(self) -> None:
        self.now = 0
        self.area = 0
        self.since: Time = 0

    def change(self, at: Time, by: int) -> None:
        """Step up or down."""
        self.area += self.now * (at - self.since)
        self.since = at
        self.now += by

    def until(self, end: Time) -> int:
        """The integral up to a time."""
        return self.area + self.now * (end - self.since)


class Gap:
    """How far supply stays behind demand, or ahead of it, over time (equations 1 to 4 of the PFA paper).

    Time in which demand exceeds all there is, `ceiling`, is left out, as in section 5.3 there.
    """

    __slots__ = (
        "ceiling",
        "demand",
        "lacking",
        "lacking_time",
        "peak",
        "since",
        "spare",
        "spare_time",
        "supply",
        "time",
    )

    def __init__(self, ceiling: int) -> None:
        self.ceiling = ceiling
        self.demand = 0
        self.supply = 0
        self.peak = 0
        """The most of either at any time."""
        self.since: Time = 0
        self.lacking = 0
        self.spare = 0
        self.lacking_time: Duration = 0
        self.spare_time: Duration = 0
        self.time: Duration = 0

    def change(self, at: Time, demand: int, supply: int) -> None:
        """Demand and supply step up or down."""
        self.close(at)
        self.demand += demand
        self.supply += supply
        self.peak = max(self.peak, self.demand, self.supply)

    def close(self, at: Time) -> None:
        """Account for the time up to now."""
        elapsed = at - self.since
        if elapsed <= 0:  # figures asked for up to an earlier time do not turn the clock back
            return
        self.since = at
        gap = self.demand - self.supply
        if self.demand > self.ceiling:
            return
        self.time += elapsed
        if gap > 0:
            self.lacking += gap * elapsed
            self.lacking_time += elapsed
        elif gap < 0:
            self.spare -= gap * elapsed
            self.spare_time += elapsed

    def elasticity(self, size: int) -> dict[str, float]:
        """Machines missing and in excess as shares of all there are (a_u, a_o), and how much of the time (t_u, t_o)."""
        time = self.time or 1
        size = size or 1
        return {
            "a_u": self.lacking / (time * size),
            "a_o": self.spare / (time * size),
            "t_u": self.lacking_time / time,
            "t_o": self.spare_time / time,
        }
