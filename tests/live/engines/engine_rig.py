"""Drives an engine from plain test functions, and looks for processes that outlive their attempt."""

import asyncio
import itertools
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tradewind.live.port import Broke, Done, Down, Engine, Listener, Order, Report, Up
from tradewind.model.action import Call, Function, Limits, Output, Shell
from tradewind.model.machine import MachineType
from tradewind.model.units import seconds

Kind = TypeVar("Kind", Up, Down, Done, Broke)
PATIENCE = 20.0
HERE = MachineType("here", slots=4)


class Rig:
    """An engine, its event loop, and the reports that have come."""

    def __init__(self, make: Callable[[Listener], Engine], root: Path) -> None:
        self.loop = asyncio.new_event_loop()
        self.reports: list[Report] = []
        self.root = root
        self._numbers = itertools.count(1)
        self._news = asyncio.Event()
        self.engine: Engine = self.loop.run_until_complete(self._made(make))

    async def _made(self, make: Callable[[Listener], Engine]) -> Engine:
        return make(self._listen)

    def _listen(self, reports: Sequence[Report]) -> None:
        self.reports += reports
        self._news.set()

    def close(self) -> None:
        self.engine.close()
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()

    def sleep(self, duration: float) -> None:
        self.loop.run_until_complete(asyncio.sleep(duration))

    def expect(self, kind: type[Kind], patience: float = PATIENCE) -> Kind:
        """The first report of a kind that has come or comes; it is taken out."""

        async def wait() -> Kind:
            while True:
                for index, report in enumerate(self.reports):
                    if isinstance(report, kind):
                        del self.reports[index]
                        return report
                    assert not isinstance(report, Down), report
                self._news.clear()
                await self._news.wait()

        try:
            return self.loop.run_until_complete(asyncio.wait_for(wait(), patience))
        except TimeoutError:
            raise AssertionError(f"no {kind.__name__} came, but {self.reports}") from None

    def machine(self, type: MachineType = HERE) -> int:
        """A machine that is up."""
        number = next(self._numbers)
        self.engine.acquire(number, type)
        assert self.expect(Up).machine == number
        return number

    def start(self, machine: int, *calls: Call, **details: Any) -> Order:
        unit = next(self._numbers)
        details.setdefault("run", f"run-{id(self)}-{unit}")
        order = Order(
            unit=unit,
            attempt=1,
            machine=machine,
            chain="chain",
            calls=calls,
            folder=str(self.root / str(unit)),
            **details,
        )
        self.engine.start([order])
        return order

    def done(self, machine: int, *calls: Call, **details: Any) -> tuple[Path, Done]:
        """Run calls to their good end."""
        order = self.start(machine, *calls, **details)
        while not self.reports:
            self.sleep(0.001)
        assert isinstance(self.reports[0], Done), self.reports
        done = self.expect(Done)
        assert done[:3] == (order.unit, 1, machine)
        return Path(order.folder), done

    def broke(self, machine: int, *calls: Call, **details: Any) -> tuple[Path, Broke]:
        """Run calls to their bad end."""
        order = self.start(machine, *calls, **details)
        broke = self.expect(Broke)
        assert broke[:3] == (order.unit, 1, machine)
        return Path(order.folder), broke


def shell(
    command: str, *, run: float | None = None, silence: float | None = None, name: str = "task", **details: Any
) -> Call:
    return Call(name, Shell(command), limits=_limits(run, silence), **details)


def function(
    target: str, *, call: str = "task", run: float | None = None, silence: float | None = None, **inputs: Any
) -> Call:
    """A call of a function whose return is the output `value`."""
    outputs = {"value": Output(value="return")}
    return Call(call, Function(target), inputs=inputs, outputs=outputs, limits=_limits(run, silence))


def _limits(run: float | None, silence: float | None) -> Limits:
    return Limits(None if run is None else seconds(run), None if silence is None else seconds(silence))


def processes_of(run: str) -> list[int]:
    """Live processes that were started by an attempt of a run."""
    mark = f"TRADEWIND_RUN_ID={run}\0".encode()
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if mark in (folder / "environ").read_bytes():  # empty for a zombie
                    found.append(int(folder.name))
            except OSError:
                continue
    return found


def gone(condition: Callable[[], Any], patience: float = PATIENCE) -> bool:
    """Whether something becomes false; the patience only ends a test that would hang."""
    ends = time.monotonic() + patience
    while condition():
        if time.monotonic() > ends:
            return False
        time.sleep(0.02)
    return True


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
