"""Leading: of all servers over one store, one writes.

Who leads on this host holds a lock on a file, which ends with its process; so the lease of a server that was killed is
taken over at once by the next one in the same folder, and by others when it has expired.
"""

import asyncio
import fcntl
import socket
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO

from tradewind.live.folder import LOCK, prepare
from tradewind.live.loop import wall_clock
from tradewind.live.store.errors import StoreError, StoreInUseError
from tradewind.live.store.port import Lease, Store
from tradewind.model.units import SECOND

NAME = "driver"
_TIME = 15 * SECOND
"""How long a lease is good for unless it is renewed."""
_RENEWAL = 5.0
_PAUSE = 1.0
"""Seconds between two tries."""


def holder_in(folder: Path) -> str:
    """As whom those lead who work in a folder of this host."""
    return f"{socket.gethostname()}:{folder}"


class Leader:
    """Leads, or waits to."""

    def __init__(self, store: Store, folder: Path, on_trouble: Callable[[str], None]) -> None:
        self._store = store
        self._folder = folder
        self._holder = holder_in(folder)
        self._on_trouble = on_trouble
        self._stack = ExitStack()

    async def take(self, wait: Callable[[str], None]) -> Lease:
        """Wait until nobody else leads; told once, if it takes time."""
        prepare(self._folder)
        lock = self._stack.enter_context((self._folder / LOCK).open("a"))
        is_told = False
        while True:
            lease = await asyncio.to_thread(self._take, lock)
            if lease is not None:
                self._stack.callback(self._drop, lease)
                return lease
            if not is_told:
                wait("another server leads this store; waiting for it to end")
                is_told = True
            await asyncio.sleep(_PAUSE)

    def take_now(self) -> Lease:
        """Lead at once, for whoever is alone in the folder; an error if somebody elsewhere does."""
        now = wall_clock()
        lease = self._store.take_lease(NAME, self._holder, now + _TIME, now)
        if lease is None:
            raise StoreInUseError
        self._stack.callback(self._drop, lease)
        return lease

    async def stay(self, lease: Lease) -> None:
        """Renew the lease again and again; ends when somebody else leads."""
        while True:
            await asyncio.sleep(_RENEWAL)
            try:
                is_leader = await asyncio.to_thread(self._store.renew_lease, lease, wall_clock() + _TIME)
            except StoreError as error:  # the store is away; saving will tell
                self._on_trouble(str(error))
                continue
            if not is_leader:
                self._on_trouble("another server leads this store by now; this one stops")
                return

    def close(self) -> None:
        """Let somebody else lead at once."""
        self._stack.close()

    def _take(self, lock: IO[str]) -> Lease | None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return None
        now = wall_clock()
        return self._store.take_lease(NAME, self._holder, now + _TIME, now)

    def _drop(self, lease: Lease) -> None:
        with suppress(StoreError):  # it will expire
            self._store.drop_lease(lease)
