"""How long a step that is a divisible job takes: its job simulated on the sites that it names."""

from functools import lru_cache

from tradewind.core.divisible.records import Spec
from tradewind.core.divisible.settings import Settings
from tradewind.model.action import Divisible
from tradewind.model.units import SECOND, Duration
from tradewind.sim.divisible.driver import simulate
from tradewind.sim.divisible.world import SitePlan, World


def expected(job: Divisible) -> Duration | None:
    """Until its last iteration is delivered; None: it names no sites, so nothing is known."""
    if not job.lots:
        return None
    lots = tuple((name, lot.slots, lot.speed) for name, lot in job.lots.items())
    slots = sum(count for _, count, _ in lots)
    initial = min(job.initial or slots, job.maximum, slots)
    spec = Spec(job.iterations, initial=initial, maximum=job.maximum, target=job.within, balancer=job.balancer)
    return _simulated(spec, lots)


@lru_cache(maxsize=1_000)
def _simulated(spec: Spec, lots: tuple[tuple[str, int, float], ...]) -> Duration:
    floor = 10 * SECOND if spec.target is None else min(10 * SECOND, max(SECOND // 5, spec.target // 100))
    places = [SitePlan(name, slots, speed) for name, slots, speed in lots]
    slowest = spec.iterations / min(speed for _, _, speed in lots)
    until = round(2 * slowest * SECOND) + 10**3 * SECOND
    world = World(places, [(0, spec)], Settings(floor=floor), poll=floor // 2, obeys=False, until=until)
    return simulate(world).end
