"""Turns of a driver that many wait for: the store is waited for in another thread, and whoever listens is told."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from tradewind.live.driver import Driver
from tradewind.live.loop import Loop
from tradewind.live.store.errors import StoreUnavailableError
from tradewind.live.store.port import Changes, Lease, Store


class Turns(Loop):
    """Takes turns, and lets another thread wait for the store meanwhile, so that everybody else is still served."""

    at_once = False

    def __init__(
        self,
        on_trouble: Callable[[str], None],
        on_handled: Callable[[], None],
        on_turn: Callable[[], None],
        on_timed: Callable[[str, float], None],
    ) -> None:
        super().__init__(on_trouble)
        self._on_timed = on_timed
        self.trouble = ""
        """Why the store cannot be written at present."""
        self._on_handled = on_handled
        self._on_turn = on_turn

    async def turn(self, driver: Driver) -> None:
        """Handle, save, act; whoever waits for it is told before anything else happens."""
        began = time.perf_counter()
        has_changed = driver.begin_turn()
        handled = time.perf_counter()
        self._on_timed("handle", handled - began)
        if not driver.backlog:
            self._on_handled()
        if has_changed:
            try:
                await asyncio.to_thread(driver.save)
            except StoreUnavailableError as error:
                self.trouble = str(error)
                raise
            self._on_timed("save", time.perf_counter() - handled)
        self.trouble = ""
        saved = time.perf_counter()
        driver.end_turn()
        self._on_turn()
        self._on_timed("act", time.perf_counter() - saved)


class Watched:
    """A store that adds to each batch and remembers it."""

    def __init__(self, store: Store, before: Callable[[Changes], None]) -> None:
        self._store = store
        self._before = before

    def save(self, changes: Changes, lease: Lease | None = None) -> None:
        """Write a batch in one transaction."""
        self._before(changes)
        self._store.save(changes, lease)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
