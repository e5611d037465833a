"""Time one decision with many active jobs (Fig. 14): 100 hybrid classes, 16 machine types.

Jobs are submitted over the length of their deadline before the timed decision, so that they cover all stages of it, and
nothing has run yet: every job is active. As in the paper, the time to take in new jobs is left out. The same decision
is timed again once the machines that the policy asks for are held.
"""

import random
from collections.abc import Iterator
from dataclasses import replace
from time import thread_time
from typing import NamedTuple

from tradewind.core.handle import Core
from tradewind.core.state import State
from tradewind.core.work import declared_time
from tradewind.experiments.scs.settings import LAG, TYPES, Variant
from tradewind.experiments.scs.workload import GRAPHS
from tradewind.model.event import Submitted
from tradewind.model.machine import MachineType
from tradewind.model.tenant import Tenant
from tradewind.model.units import HOUR, MINUTE, Duration
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.protocol import Policy, Scaler, Scaling, View
from tradewind.policies.registry import build

CLASSES = 100
KINDS = 16
_DEADLINE = 2 * HOUR


def machine_types(count: int = KINDS) -> tuple[MachineType, ...]:
    """Return machine types of increasing price."""
    return tuple(
        replace(TYPES[place % len(TYPES)], name=f"t{place}", price=TYPES[place % len(TYPES)].price * (10 + place) // 10)
        for place in range(count)
    )


def job_classes(types: tuple[MachineType, ...], count: int = CLASSES) -> list[Workflow]:
    """Return hybrid jobs with random times."""
    rng = random.Random("scs/timing")
    links = GRAPHS["hybrid"]
    return [
        Workflow(
            f"class-{number}",
            tuple(
                Task(f"s{place}", f"s{place}", runtimes={type.name: _time(rng) for type in types})
                for place in range(len(links))
            ),
            links,
            deadline=_DEADLINE,
        )
        for number in range(count)
    ]


def _time(rng: random.Random) -> Duration:
    return round(rng.uniform(1, 10) * MINUTE)


class Held:
    """A policy's scaler that can be called without effect, until it is released."""

    def __init__(self, scaler: Scaler) -> None:
        self.scaler = scaler
        self.on_arrival = False
        """Whether it is released: it is called at the next arrival, and its actions take effect."""

    def scale(self, view: View) -> Iterator[Scaling]:
        """Yield nothing until released."""
        return iter(self.scaler.scale(view) if self.on_arrival else ())


class Timing(NamedTuple):
    """Seconds of processor time."""

    first: float
    """The decision in which all jobs are new."""
    turn: float
    """A later decision, the minimum of several."""
    held: float = 0.0
    """The same with machines held."""
    machines: int = 0
    """The number of machines held."""


def time_decision(variant: Variant, jobs: int) -> Timing:
    """Time decisions with a number of active jobs."""
    types = machine_types()
    policy = build(variant.policy, variant.parameters)
    state = State(types, [Tenant("owner")], MINUTE, 0, declared_time)
    held = Held(policy.scaler)
    core = Core(state, Policy(policy.name, held, policy.placer))
    classes = job_classes(types)
    span = _DEADLINE - LAG - HOUR
    for number in range(jobs):
        core.handle(Submitted(span * number // jobs, number + 1, "owner", classes[number % len(classes)]))
    state.now = span
    first = _lap(policy.scaler, state)
    turn = _least(policy.scaler, state, jobs)
    held.on_arrival = True
    core.handle(Submitted(span, jobs + 1, "owner", classes[0]))
    machines = sum(len(fleet.machines) for pool in state.pools() for fleet in pool.fleets)
    return Timing(first, turn, _least(policy.scaler, state, jobs), machines)


def _least(scaler: Scaler, state: State, jobs: int) -> float:
    """Return the minimum of several decisions; more of them if each is short, because chance matters most there."""
    return min(_lap(scaler, state) for _ in range(max(3, min(50, 10_000 // jobs))))


def _lap(scaler: Scaler, state: State) -> float:
    begin = thread_time()
    _ask(scaler, state)
    return thread_time() - begin


def _ask(scaler: Scaler, state: State) -> int:
    """Count the actions that a scaler yields, without applying them."""
    return sum(1 for _ in scaler.scale(state))
