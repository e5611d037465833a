"""Simulations that begin with agents already there, and in which agents are killed."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from heapq import heappush
from itertools import count

from tradewind.core.log import Record, Sink
from tradewind.experiments.steep.settings import (
    FIRST_KILL,
    INTERVAL,
    LAST_KILL,
    Reading,
    Trial,
    setups,
    start_of,
)
from tradewind.experiments.steep.workload import chains, warm_up
from tradewind.model.event import MachineLost
from tradewind.model.scenario import Scenario, Submission
from tradewind.model.units import Time
from tradewind.pictures.lanes import Lane, Lanes
from tradewind.policies.protocol import Policy, Rent, Scaler, Scaling, View
from tradewind.policies.registry import build
from tradewind.sim.driver import Simulation

_KILLS = 1 << 59
"""Kills are numbered from here, behind all other events of their instant but timers."""


class Standing:
    """Rents the agents of the start at the first occasion; once they are up, another scaler takes over, if any."""

    on_arrival = True

    def __init__(self, agents: dict[str, int], then: Scaler | None) -> None:
        self._agents = agents
        self._then = then
        self._is_begun = False
        self._are_up = False

    def scale(self, view: View) -> Iterator[Scaling]:
        """What is there from the start, then what is needed."""
        if self._is_begun:
            self._are_up = self._are_up or not _is_any_booting(view)
            if self._then is not None and self._are_up:
                yield from self._then.scale(view)
            return
        self._is_begun = True
        for pool in view.pools():
            for kind in view.kinds:
                number = self._agents.get(kind.type.name, 0)
                if number:
                    yield Rent(pool, kind, number, "it is there when the experiment begins")


def _is_any_booting(view: View) -> bool:
    return any(m.is_booting for pool in view.pools() for fleet in pool.fleets for m in fleet.machines.values())


class Perilous(Simulation):
    """A simulation in which, at given times, one of the machines that are up is lost."""

    def __init__(
        self, scenario: Scenario, work: Sequence[Submission], policy: Policy, kills: Sequence[Time], seed: int
    ) -> None:
        super().__init__(scenario, work, policy)
        self._kills = sorted(kills, reverse=True)
        self._rng = random.Random(f"steep {seed} victims")
        self._numbers = count(_KILLS)

    def run(self, sink: Sink) -> None:
        """Let time pass, killing a machine as each of the times comes."""

        def watch(record: Record) -> None:
            sink(record)
            if self._kills and record.at >= self._kills[-1]:
                self._kill(record.at)

        super().run(watch)

    def _kill(self, now: Time) -> None:
        up = [machine.id for machine in self.state.machines.values() if machine.is_up]
        if up:  # otherwise later
            self._kills.pop()
            heappush(self._heap, MachineLost(now, next(self._numbers), self._rng.choice(up), "killed"))


def simulate(trial: Trial, reading: Reading, policy: str, seed: int, sink: Sink | None = None) -> list[Lane]:
    """Run an experiment; what ran where. A sink, if there is one, gets every record, too."""
    start = start_of(reading)
    combined = policy_of(trial, policy)
    work = [Submission(0, warm_up()), Submission(start, chains(trial, reading, seed))]
    scenario = Scenario((), setups(trial, reading), interval=INTERVAL, seed=seed)
    world = Perilous(scenario, work, combined, _kill_times(trial, start, seed), seed)
    lanes = Lanes(world.state)

    def both(record: Record) -> None:
        lanes.observe(record)
        if sink is not None:
            sink(record)

    world.run(both if sink is not None else lanes.observe)
    return lanes.lanes


def policy_of(trial: Trial, name: str) -> Policy:
    """A policy that begins with the agents of an experiment."""
    built = build(name, {"one_at_a_time": not trial.is_many, "idle_timeout": 0})
    standing = Standing(dict(trial.agents), None if trial.is_static else built.scaler)
    return replace(built, scaler=standing)


def _kill_times(trial: Trial, start: Time, seed: int) -> list[Time]:
    if not trial.kills:
        return []
    rng = random.Random(f"steep {seed} kills")
    first = rng.randint(*FIRST_KILL)
    return [start + first, *(start + rng.randint(first, LAST_KILL) for _ in range(trial.kills - 1))]
