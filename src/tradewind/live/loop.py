"""The loop that lets a driver take turns: when facts come, when time is up, and again while the store is away."""

import asyncio
import time
from collections.abc import Callable, Sequence

from tradewind.live.driver import Driver
from tradewind.live.port import Report
from tradewind.live.store.errors import StoreUnavailableError
from tradewind.model.units import SECOND, Time

_PAUSES = (0.1, 0.5, 1.0, 2.0, 5.0)
"""Seconds between tries while the store is unavailable."""


def wall_clock() -> Time:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


class Loop:
    """Wakes a driver; reports of an engine go to `hear`."""

    def __init__(self, on_trouble: Callable[[str], None] = lambda _: None) -> None:
        self.driver: Driver | None = None
        self._woken = asyncio.Event()
        self._early: list[Report] = []
        self._on_trouble = on_trouble

    def hear(self, reports: Sequence[Report]) -> None:
        """Take what an engine reports."""
        if self.driver is None:
            self._early += reports
            return
        self.driver.tell(*reports)
        self._woken.set()

    def wake(self) -> None:
        """Take a turn soon."""
        self._woken.set()

    async def run(self, driver: Driver, is_over: Callable[[], bool]) -> None:
        """Take turns until it is over."""
        self.driver = driver
        driver.tell(*self._early)
        while True:
            await self._turn(driver)
            if is_over():
                return
            await self._wait(driver)

    async def _turn(self, driver: Driver) -> None:
        tries = 0
        while True:
            try:
                driver.turn()
            except StoreUnavailableError as error:
                pause = _PAUSES[min(tries, len(_PAUSES) - 1)]
                self._on_trouble(f"{error}; trying again in {pause:g} s")
                tries += 1
                await asyncio.sleep(pause)
            else:
                return

    async def _wait(self, driver: Driver) -> None:
        left = None if driver.due is None else max(0.0, (driver.due - wall_clock()) / SECOND)
        try:
            async with asyncio.timeout(left):
                await self._woken.wait()
        except TimeoutError:
            pass
        self._woken.clear()
