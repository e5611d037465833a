"""Agents for tests of the pull engine, in the same process: they call it as the routes of a server do."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tradewind.live.engines.pull import Answer, Description, Key, PullEngine, UnknownAgentError
from tradewind.live.order_json import RemoteOrder, order_of
from tradewind.live.port import Broke, Done, Joined, Left, Listener, Report, Up
from tradewind.model.action import Shell
from tradewind.model.machine import MachineType

TYPE = MachineType("site", joins=True)
LONG = "sleep 60"


def described(*slots: int, session: str = "s", token: str = "t", **more: Any) -> Description:  # noqa: S107 - no secret
    return Description(session, token, more.pop("type", TYPE), slots, **more)


def played(order: RemoteOrder) -> Done | Broke | None:
    """How an order ends; None: it goes on."""
    action = order.calls[0].action
    assert isinstance(action, Shell)
    if action.command == LONG:
        return None
    if action.command == "exit 3":
        return Broke(*order.key, order.slot, "error", "exit code 3", order.calls[0].id)
    return Done(*order.key, order.slot, {call.id: dict.fromkeys(call.outputs) for call in order.calls})


class FakeAgent:
    """Holds what it is told to, and ends it at once."""

    def __init__(self, engine: PullEngine, name: str, description: Description) -> None:
        self.engine = engine
        self.name = name
        self.description = description
        self.held: dict[Key, Done | Broke | None] = {}
        self.serial = 0
        engine.register(name, description)

    async def call(self, wait: float = 0.0) -> Answer:
        """Call once, and do as told."""
        self.serial += 1
        ends = [end for end in self.held.values() if end is not None]
        told = await self.engine.call(self.name, self.description.session, self.serial, list(self.held), ends, wait)
        for unit, attempt, _ in told.drop:
            self.held.pop((unit, attempt), None)
        for data in told.orders:
            order = order_of(data)
            self.held[order.key] = played(order)
        return told

    async def work(self) -> None:
        """Call until the engine does not know it any more."""
        try:
            while True:
                await self.call(0.2)
        except UnknownAgentError:
            return


class Attended(PullEngine):
    """An engine to which an agent comes for each machine that is asked for, as if machines could be rented."""

    def __init__(self, listener: Listener, root: Path) -> None:
        self._numbers: dict[str, int] = {}
        self._agents_at_work: list[asyncio.Task[None]] = []
        super().__init__(self._translate(listener), root, silence=60.0)

    def acquire(self, machine: int, type: MachineType) -> None:
        self._numbers[f"agent-{machine}/0"] = machine
        agent = FakeAgent(self, f"agent-{machine}", described(0, type=type))
        self._agents_at_work.append(self._loop.create_task(agent.work()))

    def _translate(self, listener: Listener) -> Callable[[Sequence[Report]], None]:
        def hear(reports: Sequence[Report]) -> None:
            for report in reports:
                if isinstance(report, Joined):
                    self.welcome(report.name, self._numbers[report.name])
                    listener([Up(self._numbers[report.name])])
                elif not isinstance(report, Left):
                    listener([report])

        return hear
