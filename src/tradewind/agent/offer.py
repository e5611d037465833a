"""What an agent offers: how many machines of which size, which of them now, and how that follows the server's hints."""

import asyncio
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from tradewind.live.host import this_host
from tradewind.model.units import MINUTE, Price, in_seconds


@dataclass(frozen=True, slots=True)
class Offer:
    """The machines of an agent: each a slot that takes one attempt, or this host as a whole."""

    slots: int | None = None
    """How many at the start; None: one machine, as large as this host."""
    most: int | None = None
    """How many when the server asks for more; None: as many as at the start."""
    cpus: int | None = None
    """Of each slot, or of the host."""
    memory: int | None = None
    """Bytes, likewise."""
    provides: tuple[str, ...] = ()
    price: Price = 0
    """For one machine and minute."""
    speed: float = 1.0

    @property
    def limit(self) -> int:
        """How many machines there are at most."""
        return 1 if self.slots is None else max(self.slots, self.most or 0)

    def machine(self) -> dict[str, Any]:
        """One machine, as the server is told of it."""
        amounts: dict[str, int] = {}
        at_once = 1
        if self.slots is None:
            host = this_host()
            amounts, at_once = dict(host.amounts), self.cpus or host.slots
        if self.cpus is not None:
            amounts["cpus"] = self.cpus
        if self.memory is not None:
            amounts["memory"] = self.memory
        return {
            "slots": at_once,
            "amounts": amounts,
            "capabilities": sorted(self.provides),
            "price": self.price,
            "period": in_seconds(MINUTE),
            "speed": self.speed,
        }


CALM = 300.0
"""Seconds for which fewer machines must have been wanted before any is given up."""


@dataclass(slots=True)
class Slots:
    """The machines that are offered now."""

    limit: int
    now: set[int]
    since: float
    """When that was first so, in seconds."""
    _hints: list[tuple[float, int]] = field(default_factory=list)
    """What was wanted lately, and until when."""

    def __post_init__(self) -> None:
        self._hints.append((self.since, len(self.now)))

    def follow(self, hint: int | None, busy: Collection[int], at: float) -> set[int]:
        """Have more machines as soon as they are wanted, fewer after a calm; the ones that are given up.

        One stays in any case, and so do those at work.
        """
        if hint is None:
            return set()
        self._hints = [(until, each) for until, each in self._hints if each > hint and at - until < CALM]
        self._hints.append((at, hint))
        wanted = min(self.limit, max(1, len(busy), *(each for _, each in self._hints)))
        while len(self.now) < wanted:
            self.now.add(min(set(range(self.limit)) - self.now))
        idle = sorted(self.now - set(busy), reverse=True)
        gone = set(idle[: len(self.now) - wanted])
        self.now -= gone
        return gone


class Hook:
    """A program that is called with the number of slots whenever that changes, once at a time."""

    def __init__(self, program: str, say: Callable[[str], None], told: int) -> None:
        self._program = program
        self._say = say
        self._told = self._wanted = told
        self._task: asyncio.Task[None] | None = None

    def tell(self, wanted: int) -> None:
        """Call the program, now or when it has ended; of several changes meanwhile, it is told the last."""
        self._wanted = wanted
        if self._program and self._wanted != self._told and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._call())

    async def _call(self) -> None:
        while self._wanted != self._told:
            self._told = self._wanted
            environment = os.environ | {"TRADEWIND_SLOTS": str(self._told)}
            try:
                process = await asyncio.create_subprocess_exec(self._program, str(self._told), env=environment)
                await process.wait()
            except OSError as error:
                self._say(f"the hook cannot be run: {error}")
