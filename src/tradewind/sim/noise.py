"""How the speed of a slot changes over time: step functions, from measurements or made up."""

import csv
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median

from tradewind.model.units import MINUTE, SECOND, Duration, Time


@dataclass(frozen=True, slots=True)
class Noise:
    """A factor on a slot's speed that changes every `tick`; it starts again when its values are used up."""

    values: tuple[float, ...] = (1.0,)
    tick: Duration = MINUTE
    phase: Duration = 0

    def at(self, time: Time) -> float:
        """The factor at a time."""
        return self.values[(time + self.phase) // self.tick % len(self.values)]

    def done(self, speed: float, begin: Time, end: Time) -> float:
        """Iterations done between two times, at so many per second but for the noise."""
        total = 0.0
        while begin < end:
            edge = min(end, self._edge(begin))
            total += speed * self.at(begin) * (edge - begin) / SECOND
            begin = edge
        return total

    def reached(self, speed: float, begin: Time, work: float, latest: Time) -> Time:
        """When so many iterations are done, if that is not after `latest`; else that."""
        while begin < latest and work > 0:
            edge = min(latest, self._edge(begin))
            rate = speed * self.at(begin)
            step = rate * (edge - begin) / SECOND
            if step >= work:
                return min(edge, begin + int(work / rate * SECOND) + 1)
            work -= step
            begin = edge
        return begin

    def _edge(self, time: Time) -> Time:
        return time + self.tick - (time + self.phase) % self.tick


CALM = Noise()


def falling(to: float, over: Duration, tick: Duration = MINUTE) -> Noise:
    """A speed that falls evenly to a part of itself and stays there, as under a growing number of neighbours."""
    steps = max(1, over // tick)
    return Noise(tuple(1 - (1 - to) * step / steps for step in range(steps)) + (to,) * 10_000, tick)


def jitter(random: Random, spread: float, steps: int = 400, tick: Duration = MINUTE, keep: float = 0.0) -> Noise:
    """Factors around 1 of a relative spread; `keep` is how much of one step is found in the next."""
    level, values = random.gauss(0, spread), []
    for _ in range(steps):
        values.append(max(0.05, 1 + level))
        level = keep * level + (1 - keep**2) ** 0.5 * random.gauss(0, spread)
    return Noise(tuple(values), tick)


def read_traces(file: Path, sku: str) -> list[list[float]]:
    """The measured speeds of each long-lived machine of a kind, in order, relative to their median."""
    machines: dict[str, list[tuple[float, float]]] = {}
    with gzip.open(file, "rt") as rows:
        for row in csv.DictReader(rows):
            if row["sku"] == sku and row["lifespan"] == "long":
                machines.setdefault(row["vm"], []).append((float(row["t_s"]), float(row["value"])))
    found = []
    for vm in sorted(machines):
        values = [value for _, value in sorted(machines[vm])]
        usual = median(values)
        found.append([value / usual for value in values])
    return found


def from_traces(traces: Sequence[Sequence[float]], random: Random, tick: Duration = 5 * MINUTE) -> Noise:
    """A stretch of a measured series from a random place on; measurements become ticks."""
    trace = random.choice(traces)
    start = random.randrange(len(trace))
    values = [trace[(start + step) % len(trace)] for step in range(min(len(trace), 500))]
    return Noise(tuple(max(0.05, value) for value in values), tick, random.randrange(tick))
