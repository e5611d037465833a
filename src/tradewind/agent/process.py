"""The agent's process: takes orders from a server that it calls, runs them here, and reports until that is recorded.

What runs does not depend on this process or on any connection: it runs under the local engine's workers, which outlive
it. The next process of the same agent, in the same folder, adopts what is there. Each call to the server says which
attempts are held; see `tradewind.live.engines.pull`.
"""

import asyncio
import fcntl
import secrets
import signal
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import tradewind
from tradewind.agent.control_plane import NAME, Backoff, ControlPlane, Directions, RefusedError, Terms, UnreachableError
from tradewind.agent.fixed import Fixed
from tradewind.agent.held import Held
from tradewind.agent.offer import Hook, Offer, Slots
from tradewind.agent.runner import Runner
from tradewind.agent.transfer import Transfer
from tradewind.live.order_json import PROTOCOL, MalformedError, order_of
from tradewind.live.privacy import private_folder
from tradewind.model.errors import TradewindError

Say = Callable[[str], None]

_MOST_AT_ONCE = 4 << 20
"""Bytes of the ends that are told in one call, roughly."""
_TIDY = 600.0
"""Seconds between two looks at inputs that nothing needs."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What an agent was started with."""

    server: str
    token: str
    folder: Path
    offer: Offer = field(default_factory=Offer)
    name: str = ""
    """What the agent should be called; empty: whatever the token says."""
    fixed: Fixed = field(default_factory=Fixed)
    """What it runs instead of what the server sends."""
    hook: str = ""
    """Program called with the number of machines offered whenever that changes."""
    grace: float = 30.0
    """Seconds that work has to end by itself when the agent is stopped, and then again when it is told to."""
    keeps: bool = False
    """Whether the folders of attempts stay."""
    leaves: bool = False
    """Whether work goes on when the agent is stopped, for the next process to adopt."""
    home: Path = field(default_factory=Path.cwd)
    """Where modules of functions are looked for first."""


class Agent:
    """An agent at work."""

    def __init__(self, plan: Plan, say: Say) -> None:
        private_folder(plan.folder)
        self._plan = plan
        self._say = say
        self._lock = _alone_in(plan.folder)
        self._server = ControlPlane(plan.server, plan.token)
        self._session = secrets.token_hex(8)
        self._serial = 0
        self._news = asyncio.Event()
        self._folder = plan.folder.resolve()
        self._runner = Runner(
            self._folder,
            plan.home.resolve(),
            plan.server,
            self._session,
            self._news.set,
            fixed=plan.fixed,
            grace=plan.grace,
            keeps=plan.keeps,
        )
        self._attempts = self._runner.attempts
        offer = plan.offer
        slots = {slot for slot in self._attempts.slots if slot < offer.limit}
        slots |= set(range(1 if offer.slots is None else offer.slots))
        self._slots = Slots(offer.limit, slots, asyncio.get_running_loop().time())
        self._hook = Hook(plan.hook, say, len(self._slots.now))
        self._backoff = Backoff()
        self._name = ""
        self._terms: Terms | None = None
        """None: the agent has to register."""
        self._is_draining = False
        self._is_over = False
        self._failure = ""

    # Life

    async def run(self) -> None:
        """Work until stopped, or refused for good."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        tidying = loop.create_task(self._tidy())
        try:
            while not self._is_finished:
                try:
                    await self._converse()
                except UnreachableError as error:
                    await self._wait(str(error))
                except RefusedError as refused:
                    if refused.is_final:
                        self._failure, self._is_over = str(refused), True
                        self._is_draining = self._is_draining or not refused.is_mistaken
                    elif refused.status == 404:
                        self._terms = None
                    else:
                        await self._wait(f"refused: {refused}")
            await self._end()
        finally:
            tidying.cancel()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)
            await self._server.close()
            self._lock.close()
        if self._failure:
            raise TradewindError(f"the server refuses this agent: {self._failure}")

    def stop(self) -> None:
        """End in good order; asked again, at once."""
        if self._is_draining or self._plan.leaves:
            self._is_over = True
        else:
            self._say(f"draining: {len(self._attempts)} attempts have {self._plan.grace:g} s to end")
            self._is_draining = True
            self._terms = None  # the server has to know
            asyncio.get_running_loop().call_later(self._plan.grace, self._give_up)
        self._news.set()

    def _give_up(self) -> None:
        self._is_over = True
        self._news.set()

    async def _end(self) -> None:
        """End all that runs, or leave it to the next process."""
        if not self._is_draining:
            self._runner.detach()
            return
        self._runner.close()
        if self._name and not self._failure:
            with suppress(UnreachableError, RefusedError):
                await self._server.leave(self._name, self._session)

    # The server

    async def _converse(self) -> None:
        """Register if that has to be done, then call for orders again and again."""
        if not self._name:
            self._name = await self._server.name()
            if self._plan.name not in ("", self._name):
                raise RefusedError(409, f"the token is for agent {self._name!r}, not {self._plan.name!r}", NAME)
            self._runner.resume(Transfer(self._server, self._folder, self._name))
        if self._terms is None:
            await self._register()
        call: asyncio.Task[Directions] | None = None
        earlier: asyncio.Task[Directions] | None = None
        try:
            while self._terms is not None and not self._is_finished:
                self._news.clear()
                call = asyncio.ensure_future(self._call(self._terms.wait))
                if earlier is not None:  # the server answers it as soon as a later call arrives
                    self._obey(await earlier)
                    earlier = None
                await self._either(call)
                if call.done():
                    self._obey(call.result())
                    self._backoff.reset()
                else:
                    earlier = call
        finally:
            for task in (call, earlier):
                if task is not None:
                    task.cancel()
                    with suppress(asyncio.CancelledError, UnreachableError, RefusedError):
                        await task

    async def _either(self, call: "asyncio.Task[Directions]") -> None:
        """Wait for an answer, or for something to tell."""
        news = asyncio.ensure_future(self._news.wait())
        await asyncio.wait({news, call}, return_when=asyncio.FIRST_COMPLETED)
        news.cancel()

    @property
    def _is_finished(self) -> bool:
        return self._is_over or (self._is_draining and not self._attempts)

    async def _register(self) -> None:
        body = {
            "protocol": PROTOCOL,
            "version": tradewind.__version__,
            "session": self._session,
            "slots": sorted(self._slots.now),
            "max_slots": self._slots.limit,
            "machine": self._plan.offer.machine(),
            "draining": self._is_draining,
        }
        terms = await self._server.register(self._name, body)
        self._say(f"registered as agent {self._name!r}, offering {_machines(self._slots.now)}")
        for held in self._attempts:
            held.is_told = False
        self._terms = terms
        self._follow(terms.hint)

    async def _call(self, wait: float) -> Directions:
        self._serial += 1
        telling: list[Held] = []
        size = 0
        for held in self._attempts:
            if held.end is not None and not held.is_told and size < _MOST_AT_ONCE:
                telling.append(held)
                size += sum(map(len, held.end.get("files", {}).values())) + 1000
        body = {
            "session": self._session,
            "serial": self._serial,
            "held": self._attempts.keys(),
            "ends": [held.end for held in telling],
            "wait": wait,
        }
        directions = await self._server.call(self._name, body)
        for held in telling:
            held.is_told = True
        return directions

    def _obey(self, directions: Directions) -> None:
        for unit, attempt, at_once in directions.drop:
            self._runner.drop(unit, attempt, at_once=at_once)
        problem = ""
        for data in directions.orders:
            try:
                order = order_of(data)
                if order.slot in self._slots.now:
                    self._runner.take(order, data)
            except (MalformedError, OSError) as error:
                problem = f"an order cannot be taken: {error}"
        self._follow(directions.hint)
        if problem:  # it will come again: not at once
            raise UnreachableError(problem)

    def _follow(self, hint: int | None) -> None:
        """Offer as many machines as the server would like to have."""
        if self._is_draining or self._plan.offer.slots is None:
            return
        before = len(self._slots.now)
        for slot in self._slots.follow(hint, self._attempts.slots, asyncio.get_running_loop().time()):
            self._runner.release(slot)
        if len(self._slots.now) != before:
            self._say(f"offering {_machines(self._slots.now)} instead of {before}; {len(self._attempts.slots)} busy")
            self._hook.tell(len(self._slots.now))
            self._terms = None
            self._news.set()

    async def _wait(self, why: str) -> None:
        wait = self._backoff.pause()
        self._say(f"{why}; trying again {f'in {wait:.1f} s' if wait else 'at once'}")
        with suppress(TimeoutError):
            async with asyncio.timeout(wait):
                while not self._is_over:
                    self._news.clear()
                    await self._news.wait()

    async def _tidy(self) -> None:
        while True:
            await asyncio.sleep(_TIDY)
            self._runner.tidy()


def run_agent(plan: Plan, say: Say) -> None:
    """Work until SIGTERM or SIGINT, or until the server refuses this agent for good."""

    async def work() -> None:
        await Agent(plan, say).run()

    asyncio.run(work())


def _machines(slots: Collection[int]) -> str:
    return "1 machine" if len(slots) == 1 else f"{len(slots)} machines"


def _alone_in(folder: Path) -> IO[str]:
    """Be the only agent in a folder, until the file is closed."""
    file = (folder / "lock").open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise TradewindError(f"{folder}: another agent works there; give each agent a --folder of its own") from None
    return file
