"""The TaScaaS paper's system and workload (section IV), and how we read what it leaves open.

Given: three infrastructures of 32, 16 and 8 slots; five types of jobs of a million iterations with one initial
partition and targets of 3600 to 900 seconds; almost three hours; scale steps of 300 seconds; about 20 reports for a
partition; two groups of speeds that scatter by 15 % and 2 %.

Not given, so taken as follows:
- *Speeds.* 120, 80 and 200 iterations per second for a slot of the three sites: two to three partitions for the longest
  target and about ten for the shortest, as in the paper's histograms.
- *Arrivals.* Irregular: three bursts with quiet stretches between them, 38 jobs in 130 minutes. All slots are in use
  at the height of each burst. A lighter workload, of a fifth fewer jobs, is run beside it and judged by no claim.
- *Noise.* Measured series of the data folder, where it lies beside the checkout: cache throughput of normal machines
  (varies by 15 %) for the first site, of burstable ones (21 %) for the second, processor speed (1 %) for the third.
  Without the folder, made-up noise of the same spread.
- *Slots.* A quarter is wanted at first. Sites follow the hint; a slot is there 45 seconds after it is asked for: 15
  until the site hears of it, as with an update every 30 seconds, and 30 to start.
"""

from dataclasses import dataclass
from pathlib import Path
from random import Random

from tradewind.experiments.tascaas.world import Job, Site
from tradewind.model.units import MINUTE, SECOND, Time
from tradewind.sim.noise import Noise, from_traces, jitter, read_traces

TARGETS = (3600, 2700, 2100, 1500, 900)
"""Seconds, of types 1 to 5."""
ITERATIONS = 1_000_000
MAXIMUM = 20
"""Partitions that a job may have at once."""
SLOTS = {"on-premises": 32, "federated": 16, "desktop": 8}
SPEEDS = {"on-premises": 120.0, "federated": 80.0, "desktop": 200.0}
SERIES = {
    "on-premises": ("stressng_cache", "D8s_v5", 0.15),
    "federated": ("stressng_cache", "B8ms", 0.21),
    "desktop": ("stressng_cpu", "D8s_v5", 0.01),
}
"""Where a site's noise comes from, and its spread."""
BOOT = 45 * SECOND
BURSTS = ((2, 14, 12), (50, 20, 14), (105, 25, 12))
"""Minute at which it begins, minutes that it lasts, jobs."""


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is run."""

    seeds: int = 8
    """Workloads of the whole system."""
    draws: int = 300
    """Of a job with static partitioning, for each level of noise."""
    kills: int = 1_000
    outages: int = 20


FULL = Extent()
QUICK = Extent(seeds=2, draws=60, kills=1_000, outages=20)


def data_folder() -> Path | None:
    """The measured series, if they lie beside the checkout."""
    for parent in (Path.cwd(), *Path(__file__).resolve().parents):
        folder = parent.parent / "shared" / "data" / "vmnoise"
        if folder.is_dir():
            return folder
    return None


def series(name: str, sku: str) -> list[list[float]]:
    """A measured series of each machine of a kind; none without the data folder."""
    folder = data_folder()
    return read_traces(folder / f"azure_eastus_{name}.csv.gz", sku) if folder else []


def noise(site: str, random: Random) -> tuple[Noise, ...]:
    """Noise for each slot of a site."""
    name, sku, spread = SERIES[site]
    traces = series(name, sku)
    return tuple(
        from_traces(traces, random) if traces else jitter(random, spread, keep=0.8) for _ in range(SLOTS[site])
    )


def sites(random: Random) -> list[Site]:
    """Return the three infrastructures."""
    return [Site(name, slots, SPEEDS[name], noise(name, random), BOOT) for name, slots in SLOTS.items()]


def workload(random: Random, *, load: float = 1.0) -> list[tuple[Time, Job]]:
    """Return jobs of the five types in irregular bursts; `load` scales how many there are."""
    found = []
    for begin, length, count in BURSTS:
        for _ in range(_scaled(count, load)):
            at = begin * MINUTE + round(random.random() * length * MINUTE)
            target = random.choice(TARGETS) * SECOND
            found.append((at, Job(ITERATIONS, target, maximum=MAXIMUM)))
    return sorted(found, key=lambda each: (each[0], each[1].target))


def _scaled(count: int, load: float) -> int:
    """Round down to fewer, and to the nearest to more."""
    return int(count * load) if load < 1 else round(count * load)
