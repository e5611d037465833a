"""Carrying out what the core wants done: commands become calls of an engine."""

from collections.abc import Iterable, MutableMapping

from tradewind.core.state import State
from tradewind.live.jobs import Job
from tradewind.live.port import Engine, Order
from tradewind.model.command import Acquire, Command, Ended, Kill, Release, Start


def carry_out(commands: Iterable[Command], state: State, jobs: MutableMapping[int, Job], engine: Engine) -> None:
    """Act on commands in their order, except that all starts are given together; jobs that have ended are forgotten."""
    orders: list[Order] = []
    for command in commands:
        match command:
            case Start():
                unit = state.units.get(command.unit)
                if unit is not None and unit.runs(command.attempt, command.machine):
                    orders.append(jobs[unit.run.id].order(unit, command.attempt, command.machine))
            case Acquire():
                engine.acquire(command.machine, state.kinds[command.kind].configured)
            case Release():
                engine.release(command.machine)
            case Kill():
                engine.kill(command.unit, command.attempt, command.machine, at_once=command.is_urgent)
            case Ended():
                jobs.pop(command.run, None)
    if orders:
        engine.start(orders)
