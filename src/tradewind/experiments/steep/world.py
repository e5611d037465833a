"""Simulate experiments that start with running agents, and in which agents are killed."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from heapq import heappush
from itertools import count

from tradewind.core.log import Record, Sink
from tradewind.core.why import ensure_ended, stuck
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
"""Kills are numbered from here, after all other events of the same instant except timers."""


class Standing:
    """A scaler that first rents the initial agents, then delegates to another scaler, if any."""

    on_arrival = True

    def __init__(self, agents: dict[str, int], then: Scaler | None) -> None:
        self._agents = agents
        self._then = then
        self._is_begun = False
        self._are_up = False

    def scale(self, view: View) -> Iterator[Scaling]:
        """Rent the initial agents, then whatever the other scaler needs."""
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
                    yield Rent(pool, kind, number, "initial agent of the experiment")


def _is_any_booting(view: View) -> bool:
    return any(m.is_booting for pool in view.pools() for fleet in pool.fleets for m in fleet.machines.values())


class Perilous(Simulation):
    """A simulation in which one running machine is lost at each of some given times."""

    def __init__(
        self, scenario: Scenario, work: Sequence[Submission], policy: Policy, kills: Sequence[Time], seed: int
    ) -> None:
        super().__init__(scenario, work, policy)
        self._kills = sorted(kills, reverse=True)
        self._rng = random.Random(f"steep {seed} victims")
        self._numbers = count(_KILLS)

    def run(self, sink: Sink) -> None:
        """Run the simulation, killing a machine at each of the given times."""

        def watch(record: Record) -> None:
            sink(record)
            if self._kills and record.at >= self._kills[-1]:
                self._kill(record.at)

        super().run(watch)

    def _kill(self, now: Time) -> None:
        up = [machine.id for machine in self.state.machines.values() if machine.is_up]
        if up:  # otherwise try again later
            self._kills.pop()
            heappush(self._heap, MachineLost(now, next(self._numbers), self._rng.choice(up), "killed"))


def simulate(trial: Trial, reading: Reading, policy: str, seed: int, sink: Sink | None = None) -> list[Lane]:
    """Run an experiment and return what ran where. A sink, if given, receives every record, too."""
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
    ensure_ended(stuck(world.state), policy)
    return lanes.lanes


def policy_of(trial: Trial, name: str) -> Policy:
    """Return a policy that starts with the agents of an experiment."""
    built = build(name, {"one_at_a_time": not trial.is_many, "idle_timeout": 0})
    standing = Standing(dict(trial.agents), None if trial.is_static else built.scaler)
    return replace(built, scaler=standing)


def _kill_times(trial: Trial, start: Time, seed: int) -> list[Time]:
    if not trial.kills:
        return []
    rng = random.Random(f"steep {seed} kills")
    first = rng.randint(*FIRST_KILL)
    return [start + first, *(start + rng.randint(first, LAST_KILL) for _ in range(trial.kills - 1))]
