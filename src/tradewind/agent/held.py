"""Attempts that an agent holds, on disk as well: the next process of the same agent goes on with them.

An order is written down before anything of it begins, and removed once the server has recorded its end or has given it
up.
"""

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from tradewind.live.order_json import MalformedError, RemoteOrder, order_of
from tradewind.live.port import Broke, Done

ORDERS = "orders"
Key: TypeAlias = tuple[int, int]


@dataclass(slots=True)
class Held:
    """An attempt that an agent has taken on."""

    order: RemoteOrder
    folder: Path
    """Where its files lie."""
    has_begun: bool = False
    """Whether it was given to the local engine."""
    task: "asyncio.Task[None] | None" = None
    """Fetches its inputs, or uploads its outputs."""
    report: Done | Broke | None = None
    """How it has ended."""
    end: dict[str, Any] | None = None
    """The same as it is told to the server, once its files are there."""
    is_told: bool = False
    """Whether the server, since this agent registered, has heard of its end."""


class Attempts:
    """All attempts that are held, by unit and attempt."""

    def __init__(self, folder: Path) -> None:
        self._orders = folder / ORDERS
        self._runs = folder / "runs"
        self._held: dict[Key, Held] = {}
        self._orders.mkdir(parents=True, exist_ok=True)
        for file in sorted(self._orders.glob("*.json")):
            try:
                held = self._made(order_of(json.loads(file.read_bytes())))
                held.has_begun = self._mark(held.order.key).exists()
                self._held[held.order.key] = held
            except (OSError, ValueError, MalformedError):
                file.unlink(missing_ok=True)

    def __iter__(self) -> Iterator[Held]:
        return iter(list(self._held.values()))

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, key: Key) -> bool:
        return key in self._held

    def get(self, key: Key) -> Held | None:
        """An attempt, if it is held."""
        return self._held.get(key)

    def keys(self) -> list[Key]:
        """Units and attempts."""
        return list(self._held)

    @property
    def slots(self) -> set[int]:
        """Machines that have something to do."""
        return {held.order.slot for held in self._held.values()}

    def take(self, order: RemoteOrder, data: Any) -> Held:
        """Take an order on, durably."""
        held = self._made(order)
        file = self._file(order.key)
        part = file.with_suffix(".new")
        with part.open("wb") as opened:
            opened.write(json.dumps(data).encode())
            opened.flush()
            os.fsync(opened.fileno())
        part.replace(file)
        self._held[order.key] = held
        return held

    def begin(self, held: Held) -> None:
        """Note that an attempt is about to be given to the local engine."""
        self._mark(held.order.key).touch()
        held.has_begun = True

    def drop(self, held: Held) -> None:
        """Forget an attempt."""
        self._held.pop(held.order.key, None)
        for file in (self._file(held.order.key), self._mark(held.order.key)):
            with suppress(OSError):
                file.unlink(missing_ok=True)

    def checkpoint(self, order: RemoteOrder) -> Path:
        """Where the attempts of a unit save their progress."""
        return self._runs / order.run / f"{order.unit}-{order.checkpoints}"

    def _made(self, order: RemoteOrder) -> Held:
        return Held(order, self._runs / order.run / f"{order.unit}.{order.attempt}")

    def _file(self, key: Key) -> Path:
        return self._orders / f"{key[0]}.{key[1]}.json"

    def _mark(self, key: Key) -> Path:
        return self._orders / f"{key[0]}.{key[1]}.begun"
