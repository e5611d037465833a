"""The promises of the port, kept by each engine."""

import asyncio
from pathlib import Path

from engine_agents import Attended
from engine_contract import EngineContract

from tradewind.live.engines.agents import Agents
from tradewind.live.engines.fake import FakeEngine, ends_well
from tradewind.live.engines.local import LocalEngine
from tradewind.live.port import Broke, Done, Engine, Listener, Order
from tradewind.model.action import Shell


class TestLocal(EngineContract):
    def make(self, listener: Listener, root: Path) -> Engine:
        return LocalEngine(listener, root, grace=0.5)


class TestLasting(EngineContract):
    def make(self, listener: Listener, root: Path) -> Engine:
        return LocalEngine(listener, root, grace=0.5, agents=Agents(root / "agents", "store"))


class TestPull(EngineContract):
    boots = False

    def make(self, listener: Listener, root: Path) -> Engine:
        return Attended(listener, root)


class TestFake(EngineContract):
    boots = False

    def make(self, listener: Listener, root: Path) -> Engine:
        return FakeEngine(listener, soon=asyncio.get_running_loop().call_soon, work=_play)


def _play(order: Order) -> Done | Broke:
    action = order.calls[0].action
    if isinstance(action, Shell) and action.command == "exit 3":
        return Broke(order.unit, order.attempt, order.machine, "error", "exit code 3", order.calls[0].id)
    return ends_well(order)
