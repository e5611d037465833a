"""An engine in a process of its own, to be killed: starts work on two machines, and says so."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from engine_rig import function, shell

from tradewind.live.engines.local import LocalEngine
from tradewind.live.port import Order, Report, Up
from tradewind.model.machine import MachineType


async def main(root: Path, run: str) -> None:
    up = asyncio.Event()
    machines: set[int] = set()

    def listen(reports: Sequence[Report]) -> None:
        machines.update(report.machine for report in reports if isinstance(report, Up))
        if len(machines) == 2:
            up.set()

    engine = LocalEngine(listen, root, path=[str(Path(__file__).parent)])
    for machine in (1, 2):
        engine.acquire(machine, MachineType("here"))
    await up.wait()
    stubborn = "trap '' TERM; setsid sleep 100 & (sleep 100 &) ; while :; do sleep 1; done"
    calls = [shell("sleep 100"), shell(stubborn), function("engine_functions:nap", duration=100)]
    engine.start(
        [
            Order(run, unit, 1, 1 + unit % 2, "chain", (call,), str(root / str(unit)))
            for unit, call in enumerate(calls * 2)
        ]
    )
    await asyncio.sleep(0.5)
    sys.stdout.write("working\n")
    sys.stdout.flush()
    await asyncio.sleep(100)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
