"""A stream of workflows with deadlines on machines of this host, billed by the minute.

Run it from anywhere: `python examples/deadlines/stream.py [--jobs 6] [--policy scs+] [--deadline 30]`.
Each job makes a few files and joins them; its steps declare how long they take on each kind of machine.
"""

import argparse
import asyncio
import tempfile
from pathlib import Path
from typing import NamedTuple

from tradewind.core.log import Record, Sink
from tradewind.core.metrics import Meter
from tradewind.core.state import State
from tradewind.core.summary import summarise
from tradewind.formats.load import load_machines
from tradewind.live.facts import Submit
from tradewind.live.service import Service, Settings
from tradewind.live.store.open import open_store
from tradewind.model.command import Acquire, Predicted
from tradewind.model.tenant import Tenant
from tradewind.model.units import SECOND, in_seconds, seconds
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.registry import build

HERE = Path(__file__).parent


class Ending(NamedTuple):
    """How one job went, in seconds."""

    name: str
    took: float
    slack: float
    """Between its end and its deadline; below zero it was late."""


class Outcome(NamedTuple):
    """How the stream went."""

    done: int
    late: int
    cost: float
    predictions: int
    machines: int
    endings: tuple[Ending, ...]


def job(number: int, deadline: float, unit: float) -> Workflow:
    """Split, two pieces, join; `unit` is a second of work on a small machine."""
    names = ("split", "left", "right", "join")
    work = (1, 3, 3, 1)
    tasks = tuple(
        Task(
            name,
            name,
            runtimes={"small": seconds(units * unit), "large": seconds(units * unit / 4)},
            command=f"sleep {units * unit / 4:.3f}; echo {name} of {number}",
        )
        for name, units in zip(names, work, strict=True)
    )
    return Workflow(f"job-{number}", tasks, ((), (0,), (0,), (1, 2)), deadline=seconds(deadline))


async def stream(folder: Path, jobs: int, policy: str, deadline: float, spacing: float, unit: float) -> Outcome:
    """Submit so many jobs, some seconds apart, and wait for their end."""
    meters: list[Meter] = []
    predictions: list[Predicted] = []
    rented: list[Acquire] = []

    def watch(state: State) -> Sink:
        meter = Meter(state.all_pools, state.kinds)
        meters.append(meter)

        def sink(record: Record) -> None:
            meter.observe(record)
            if isinstance(record, Predicted):
                predictions.append(record)
            elif isinstance(record, Acquire):
                rented.append(record)

        return sink

    store = open_store(folder / "store.db")
    machines = load_machines(HERE / "machines.yaml")
    settings = Settings(folder, machines, (Tenant("default"),), build(policy), interval=SECOND)
    service = Service(settings, store, sinks=[watch])
    await service.start()
    try:
        for number in range(jobs):
            await service.submit(Submit(job(number, deadline, unit), {}))
            await asyncio.sleep(spacing)
        while service.state.runs:
            await asyncio.sleep(0.1)
    finally:
        await service.stop()
        store.close()
    figures = summarise(meters[0])
    runs = meters[0].runs
    done = sum(run.status == "done" for run in runs)
    endings = tuple(
        Ending(run.workflow, in_seconds(run.ended - run.submitted), in_seconds(run.deadline - run.ended))
        for run in runs
        if run.ended is not None and run.deadline is not None
    )
    return Outcome(done, figures["deadline_misses"], figures["cost_total"], len(predictions), len(rented), endings)


def main() -> None:
    """Run the stream and say how it went."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=6)
    parser.add_argument("--policy", default="scs+")
    parser.add_argument("--deadline", type=float, default=30, help="seconds")
    parser.add_argument("--spacing", type=float, default=3, help="seconds")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(stream(Path(folder), given.jobs, given.policy, given.deadline, given.spacing, unit=2))
    for name, took, slack in found.endings:
        print(f"{name}: {took:.1f} s, {abs(slack):.1f} s {'before' if slack >= 0 else 'after'} its deadline")  # noqa: T201
    print(  # noqa: T201
        f"{found.done} of {given.jobs} jobs done, {found.late} late, on {found.machines} machines, for {found.cost:g}"
    )


if __name__ == "__main__":
    main()
