"""Carrying out what the core wants done: commands become calls of an engine."""

from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import replace
from typing import TypeAlias

from tradewind.core.elastic.division import Division
from tradewind.core.state import State
from tradewind.core.work import Unit
from tradewind.live.jobs import Job, words_for
from tradewind.live.port import Broke, Engine, Order, ShareOrder
from tradewind.model.command import Acquire, Command, Ended, Kill, Release, Start, Welcomed

SHARES = "/agent/v1/shares"
"""Where calls about shares go."""
Secret: TypeAlias = Callable[[int, int], str]
"""Gives the secret of an attempt, by unit and attempt."""


def no_secret(_unit: int, _attempt: int) -> str:
    """For drivers whose shares call nobody."""
    return ""


def carry_out(
    commands: Iterable[Command], state: State, jobs: MutableMapping[int, Job], engine: Engine, secret: Secret
) -> list[Broke]:
    """Act on commands in their order, except that all starts are given together; jobs that have ended are forgotten.

    Attempts for which no order can be made have failed.
    """
    orders: list[Order] = []
    failed: list[Broke] = []
    for command in commands:
        match command:
            case Start():
                unit = state.units.get(command.unit)
                if unit is not None and unit.runs(command.attempt, command.machine):
                    try:
                        order = jobs[unit.run.id].order(unit, command.attempt, command.machine)
                        orders.append(order if unit.elastic is None else _for_share(order, unit, secret))
                    except Exception as error:
                        failed.append(Broke(unit.id, command.attempt, command.machine, "start", words_for(error)))
            case Acquire():
                engine.acquire(command.machine, state.kinds[command.kind].configured)
            case Welcomed():
                engine.welcome(command.name, command.machine)
            case Release():
                engine.release(command.machine)
            case Kill():
                engine.kill(command.unit, command.attempt, command.machine, at_once=command.is_urgent)
            case Ended():
                jobs.pop(command.run, None)
    if orders:
        engine.start(orders)
    return failed


def _for_share(order: Order, unit: Unit, secret: Secret) -> Order:
    """An order with what its process needs to call the control plane."""
    elastic = unit.elastic
    iterations = 0 if elastic is None or isinstance(elastic, Division) else elastic.division.iterations
    path = f"{SHARES}/{order.unit}.{order.attempt}"
    return replace(order, share=ShareOrder(path, secret(order.unit, order.attempt), iterations))
