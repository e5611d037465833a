"""The loop that lets a driver take turns: when facts come, when time is up, and again while the store is away."""

import asyncio
import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from tradewind.live.driver import Driver
from tradewind.live.facts import Fact
from tradewind.live.port import Report
from tradewind.live.store.errors import StoreUnavailableError
from tradewind.model.units import SECOND, Time

_GARBAGE = 50_000
"""After how many new objects the garbage collector looks around."""

_PAUSES = (0.1, 0.5, 1.0, 2.0, 5.0)
"""Seconds between tries while the store is unavailable."""


def _steady() -> int:
    """Nanoseconds since some time long ago, those included for which this host slept."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic_ns()


_OFFSET = time.time_ns() - _steady()


def wall_clock() -> Time:
    """Microseconds since 1970, as the host's clock had it when this process began: it never jumps from then on."""
    return (_steady() + _OFFSET) // 1000


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """What is pending is no garbage, and long to walk."""
    before = gc.get_threshold()
    gc.set_threshold(_GARBAGE)
    try:
        yield
    finally:
        gc.set_threshold(*before)


class Loop:
    """Wakes a driver; reports of an engine go to `hear`."""

    at_once = True
    """Whether a turn is taken as soon as something is heard, which is half the way of waking whoever waits for it."""

    def __init__(self, on_trouble: Callable[[str], None] = lambda _: None) -> None:
        self.driver: Driver | None = None
        self._woken = asyncio.Event()
        self._alarm: asyncio.TimerHandle | None = None
        self._due: Time | None = None
        """When the alarm will ring."""
        self._early: list[Report] = []
        self._is_waiting = False
        self._is_over: Callable[[], bool] = lambda: False
        self._problem: Exception | None = None
        """What went wrong in a turn that was taken at once."""
        self._on_trouble = on_trouble

    def hear(self, reports: Sequence[Report]) -> None:
        """Take what an engine reports."""
        if self.driver is None:
            self._early += reports
            return
        self.driver.tell(*reports)
        if self._is_waiting and self.at_once and not self._woken.is_set():
            self._turn_at_once(self.driver)
        else:
            self._woken.set()

    def tell(self, fact: Fact) -> None:
        """Tell the driver something, and take a turn soon."""
        if self.driver is not None:
            self.driver.tell(fact)
        self._woken.set()

    def wake(self) -> None:
        """Take a turn soon."""
        self._woken.set()

    async def run(self, driver: Driver, is_over: Callable[[], bool]) -> None:
        """Take turns until it is over."""
        self.driver = driver
        self._is_over = is_over
        driver.tell(*self._early)
        with collecting_rarely():
            while True:
                await self._turn(driver)
                if is_over():
                    await self._turn(driver, is_last=True)
                    return
                await self._wait(driver)

    async def _turn(self, driver: Driver, *, is_last: bool = False) -> None:
        tries = 0
        while True:
            try:
                if is_last:
                    driver.flush()
                else:
                    await self.turn(driver)
            except StoreUnavailableError as error:
                pause = _PAUSES[min(tries, len(_PAUSES) - 1)]
                self._on_trouble(f"{error}; trying again in {pause:g} s")
                tries += 1
                await asyncio.sleep(pause)
            else:
                return

    async def turn(self, driver: Driver) -> None:
        """Take one turn."""
        driver.turn()

    def _turn_at_once(self, driver: Driver) -> None:
        """Take one turn; whoever waits goes on only if there is more to it."""
        self._is_waiting = False
        try:
            driver.turn()
        except StoreUnavailableError:  # the next turn tries again, and says so
            self._woken.set()
            return
        except Exception as problem:
            self._problem = problem
        if self._problem is not None or self._is_over():
            self._woken.set()
        else:
            self._is_waiting = True
            if driver.due != self._due:
                self._set_alarm(driver.due)

    async def _wait(self, driver: Driver) -> None:
        if not self._woken.is_set() and driver.due != self._due:
            self._set_alarm(driver.due)
        self._is_waiting = True
        await self._woken.wait()
        self._is_waiting = False
        self._woken.clear()
        if self._problem is not None:
            raise self._problem

    def _set_alarm(self, due: Time | None) -> None:
        """Be woken at some time; mostly it is the one that was set before."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        self._due = due
        if due is not None and self.driver is not None:
            left = max(0.0, (due - self.driver.now()) / SECOND)
            self._alarm = asyncio.get_running_loop().call_later(left, self._ring)

    def _ring(self) -> None:
        self._alarm = self._due = None
        self._woken.set()
