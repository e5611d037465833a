"""The engine of machines that join: agents elsewhere call in, take orders and report how attempts have ended.

Nothing here calls an agent. Each of its calls says which attempts it holds, running or ended. The answer says what
differs from what it should hold: orders that it lacks, and attempts to drop. So a call that is lost, repeated or
answered twice does no harm, and nothing has to be numbered or acknowledged. A confirmed end is an attempt to drop.

After a restart of the control plane the attempts that an agent should hold are known, their orders are not: one that
its agent does not hold is lost. An agent that has not called for `silence` seconds has left. That is counted in looks
rather than seconds, so that a control plane that was itself frozen takes no agent for gone.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from tradewind.live.needed_files import needed_files
from tradewind.live.order_json import Sent, order_json
from tradewind.live.port import Broke, Done, Down, Expected, Joined, Left, Listener, Order, Report
from tradewind.model.machine import MachineType

LOOKS = 4
"""How many times in `silence` seconds agents are looked after."""

Key: TypeAlias = tuple[int, int]
"""Unit and attempt."""


class UnknownAgentError(Exception):
    """An agent that is not registered, or no longer."""


class ReplacedError(Exception):
    """Another process works as the same agent by now."""


@dataclass(frozen=True, slots=True)
class Description:
    """What an agent says of itself when it registers."""

    session: str
    """Differs between two processes of the same agent."""
    token: str
    """Public id of the token that let it in."""
    type: MachineType
    """Of each of its machines; named like the agent."""
    slots: tuple[int, ...]
    """Its machines, by their own numbers."""
    tenants: tuple[str, ...] = ()
    """Tenants that it serves, as its token says; none: every tenant."""
    version: str = ""


@dataclass(slots=True)
class Duty:
    """An attempt that an agent should hold."""

    machine: int
    order: dict[str, Any] | None = None
    """As it is sent; None: an earlier control plane has sent it."""
    files: tuple[Sent, ...] = ()
    """What the agent may fetch for it."""
    is_seen: bool = False
    """Whether the agent has held it."""
    is_told: bool = False
    """Whether its end has been reported."""


@dataclass(slots=True)
class Answer:
    """What an agent should do."""

    orders: list[dict[str, Any]] = field(default_factory=list)
    drop: list[tuple[int, int, bool]] = field(default_factory=list)
    """Attempts to end, or to forget if they have; and whether at once."""

    def __bool__(self) -> bool:
        return bool(self.orders or self.drop)


class _Agent:
    """An agent, or one that is expected to call."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.described: Description | None = None
        """None: it has not called since the control plane began."""
        self.machines: dict[int, int] = {}
        """Numbers that the core has given to its slots."""
        self.joining: set[int] = set()
        """Slots that have been reported, and have no number yet."""
        self.released: set[int] = set()
        """Slots that are not wanted until the agent is started again."""
        self.duties: dict[Key, Duty] = {}
        self.urgent: set[Key] = set()
        """Attempts to be ended at once."""
        self.held: frozenset[Key] = frozenset()
        """Attempts that it had when it last called."""
        self.serial = -1
        """Of its latest call."""
        self.quiet = 0
        """Looks since it last called."""
        self.news = asyncio.Event()

    def slot_name(self, slot: int) -> str:
        return f"{self.name}/{slot}"

    def answer(self) -> Answer:
        """The difference between what it holds and what it should hold."""
        orders = [duty.order for key, duty in self.duties.items() if key not in self.held and duty.order is not None]
        drop = [(*key, key in self.urgent) for key in sorted(self.held - self.duties.keys())]
        return Answer(orders, drop)


class PullEngine:
    """Runs attempts on machines that joined; belongs to the event loop that runs when it is made."""

    ends_with_us = False
    ahead = 0

    def __init__(self, listener: Listener, root: Path, *, silence: float = 30.0) -> None:
        """`root`: the folder with the files of runs and submissions. `silence`: seconds."""
        self.silence = silence
        self._listener = listener
        self._root = str(root)
        self._agents: dict[str, _Agent] = {}
        self._places: dict[int, tuple[_Agent, int]] = {}
        """Agent and slot of each machine that has a number."""
        self._wanted: dict[str, int] = {}
        self._reports: list[Report] = []
        self._loop = asyncio.get_running_loop()
        self._is_closed = False
        self._is_hushed = False
        self._timer = self._loop.call_later(silence / LOOKS, self._look)

    # ── the port ──

    def acquire(self, machine: int, type: MachineType) -> None:
        """Never: such machines come by themselves."""
        raise NotImplementedError(f"machine {machine} of type {type.name} cannot be rented")

    def welcome(self, name: str, machine: int) -> None:
        """Give a slot its number; the agent may be gone by then, which was reported."""
        found = self._slot(name)
        if found is not None:
            agent, slot = found
            if agent.machines.get(slot) != machine:
                self._forget(agent, slot)
            agent.joining.discard(slot)
            agent.machines[slot] = machine
            self._places[machine] = agent, slot

    def release(self, machine: int) -> None:
        """Want a slot no more, until its agent is started again."""
        found = self._places.get(machine)
        if found is not None:
            agent, slot = found
            agent.released.add(slot)
            self._forget(agent, slot)
            agent.news.set()

    def start(self, orders: Sequence[Order]) -> None:
        """Keep orders until their agents call."""
        for order in orders:
            found = self._places.get(order.machine)
            if found is None:
                self._report(Down(order.machine, "there is no such machine"))
                continue
            agent, slot = found
            files = needed_files(order, self._root)
            duty = Duty(order.machine, order_json(order, slot, files), files)
            agent.duties[order.unit, order.attempt] = duty
            agent.news.set()

    def kill(self, unit: int, attempt: int, machine: int, *, at_once: bool = False) -> None:
        """Have an attempt dropped."""
        found = self._places.get(machine)
        if found is not None and found[0].duties.pop((unit, attempt), None) is not None:
            agent = found[0]
            if at_once:
                agent.urgent.add((unit, attempt))
            agent.news.set()

    def check(self, expected: Mapping[int, Expected]) -> list[Report]:
        """Wait for the agents of machines that an earlier control plane knew; report attempts that are not known."""
        for machine in self._places.keys() - expected.keys():
            agent, slot = self._places[machine]
            self._forget(agent, slot)
            agent.news.set()
        reports: list[Report] = []
        for machine, each in expected.items():
            if machine not in self._places:
                reports += self._expect(machine, each)
                continue
            agent = self._places[machine][0]
            wanted = set(each.attempts)
            for key in [key for key, duty in agent.duties.items() if duty.machine == machine and key not in wanted]:
                del agent.duties[key]
                agent.news.set()
            reports += [_lost(key, machine) for key in each.attempts if key not in agent.duties]
        return reports

    def confirm(self, ends: Sequence[tuple[int, int, int]]) -> None:
        """Let agents forget ends."""
        for unit, attempt, machine in ends:
            self.kill(unit, attempt, machine)

    def detach(self) -> None:
        """Answer no more calls; agents go on, and call the next control plane."""
        self._is_closed = True
        self._timer.cancel()
        for agent in self._agents.values():
            agent.news.set()
        self._agents.clear()
        self._places.clear()

    def hush(self) -> None:
        """Let no call wait any longer: the control plane is about to end."""
        self._is_hushed = True
        for agent in self._agents.values():
            agent.news.set()

    def close(self) -> None:
        """The same: what runs elsewhere is dropped when its agent calls the next control plane."""
        self.detach()

    def holds(self, machine: int) -> bool:
        """Whether a machine is one that joined."""
        return machine in self._places

    # ── agents ──

    def register(self, name: str, described: Description) -> None:
        """Take an agent in, or take note of what has changed about it."""
        agent = self._agents.get(name)
        if agent is None:
            agent = self._agents[name] = _Agent(name)
        before = agent.described
        if before is not None and (before.type, before.tenants) != (described.type, described.tenants):
            self._leave(agent, [*agent.machines, *agent.joining], "its agent offers something else by now")
        if before is None or before.session != described.session:
            agent.serial = -1
            agent.released.clear()
        agent.described = described
        agent.quiet = 0
        withdrawn = [slot for slot in (*agent.machines, *agent.joining) if slot not in described.slots]
        self._leave(agent, withdrawn, "its agent has withdrawn it")
        for slot in described.slots:
            if slot in agent.released or slot in agent.joining or (before is not None and slot in agent.machines):
                continue
            if slot not in agent.machines:
                agent.joining.add(slot)
            self._report(Joined(agent.slot_name(slot), described.type, described.tenants))

    async def call(
        self, name: str, session: str, serial: int, held: Iterable[Key], ends: Sequence[Done | Broke], wait: float
    ) -> Answer:
        """Hear what an agent holds and how attempts have ended; what to do, as soon as there is anything."""
        agent = self._known(name, session)
        agent.quiet = 0
        for end in ends:
            self._heard(agent, end)
        if serial > agent.serial:
            agent.serial = serial
            agent.held = frozenset(held)
            self._compare(agent)
            agent.news.set()  # an earlier call that still waits is answered
        until, hint = self._loop.time() + wait, self.hint(name)
        while not (answer := agent.answer()) and agent.serial == serial and self.hint(name) == hint:
            left = 0.0 if self._is_hushed else until - self._loop.time()
            if left <= 0 or not await _happens(agent.news, left):
                break
            agent = self._known(name, session)
        agent.quiet = 0
        return answer

    def duty(self, name: str, session: str, key: Key) -> Duty | None:
        """An attempt that an agent should hold; None: it has nothing to do with it."""
        agent = self._known(name, session)
        agent.quiet = 0
        return agent.duties.get(key)

    def machine_of(self, name: str, key: Key) -> int | None:
        """The machine of an attempt that an agent should hold."""
        agent = self._agents.get(name)
        duty = None if agent is None else agent.duties.get(key)
        return None if duty is None else duty.machine

    def leave(self, name: str, reason: str) -> None:
        """An agent has gone, with all its machines."""
        agent = self._agents.pop(name, None)
        if agent is not None:
            self._leave(agent, [*agent.machines, *agent.joining], reason)
            agent.news.set()

    def revoke(self, token: str, reason: str) -> None:
        """Drop the agent that a token has let in."""
        for name, agent in list(self._agents.items()):
            if agent.described is not None and agent.described.token == token:
                self.leave(name, reason)

    def want(self, type: str, count: int) -> None:
        """Take note of how many machines of a type are wanted."""
        self._wanted[type] = count
        if type in self._agents:
            self._agents[type].news.set()

    def hint(self, name: str) -> int | None:
        """How many machines an agent should offer; None: nothing is known of that."""
        return self._wanted.get(name)

    def machines(self, name: str) -> list[int]:
        """The machines of an agent that have numbers."""
        agent = self._agents.get(name)
        return [] if agent is None else sorted(agent.machines.values())

    @property
    def agents(self) -> list[tuple[str, Description, list[int], int]]:
        """Agents that are there: name, description, machines with numbers, and attempts held."""
        return [
            (agent.name, agent.described, sorted(agent.machines.values()), len(agent.duties))
            for agent in self._agents.values()
            if agent.described is not None
        ]

    # ── inside ──

    def _known(self, name: str, session: str) -> _Agent:
        agent = self._agents.get(name)
        if agent is None or agent.described is None:
            raise UnknownAgentError(f"agent {name!r} is not registered")
        if agent.described.session != session:
            raise ReplacedError(f"another process works as agent {name!r}")
        return agent

    def _slot(self, name: str) -> tuple[_Agent, int] | None:
        whose, _, slot = name.rpartition("/")
        agent = self._agents.get(whose)
        return None if agent is None or not slot.isdigit() else (agent, int(slot))

    def _expect(self, machine: int, each: Expected) -> list[Report]:
        """Take on a machine that an earlier control plane knew."""
        whose, _, slot = each.name.rpartition("/")
        if not whose or not slot.isdigit():
            return [Down(machine, "it is not known here")]
        agent = self._agents.setdefault(whose, _Agent(whose))
        self.welcome(each.name, machine)
        for key in each.attempts:
            agent.duties[key] = Duty(machine)
        return []

    def _heard(self, agent: _Agent, end: Done | Broke) -> None:
        """Report an end once, if it is of an attempt that the agent was given."""
        duty = agent.duties.get((end.unit, end.attempt))
        if duty is not None and not duty.is_told:
            duty.is_told = True
            self._report(end._replace(machine=duty.machine))

    def _compare(self, agent: _Agent) -> None:
        """Note what an agent holds, and report what it has lost."""
        agent.urgent &= agent.held
        for key, duty in agent.duties.items():
            if key in agent.held:
                duty.is_seen = True
            elif (duty.is_seen or duty.order is None) and not duty.is_told:
                duty.is_told = True
                duty.order = None
                self._report(_lost(key, duty.machine))

    def _leave(self, agent: _Agent, slots: Iterable[int], reason: str) -> None:
        for slot in list(slots):
            self._forget(agent, slot)
            self._report(Left(agent.slot_name(slot), reason))

    def _forget(self, agent: _Agent, slot: int) -> None:
        agent.joining.discard(slot)
        machine = agent.machines.pop(slot, None)
        if machine is not None:
            self._places.pop(machine, None)
            for key in [key for key, duty in agent.duties.items() if duty.machine == machine]:
                del agent.duties[key]

    def _look(self) -> None:
        self._timer = self._loop.call_later(self.silence / LOOKS, self._look)
        for name, agent in list(self._agents.items()):
            agent.quiet += 1
            if agent.quiet > LOOKS:
                self.leave(name, f"its agent has not called for {self.silence:g} s")

    def _report(self, report: Report) -> None:
        if not self._reports:
            self._loop.call_soon(self._deliver)
        self._reports.append(report)

    def _deliver(self) -> None:
        reports, self._reports = self._reports, []
        if reports and not self._is_closed:
            self._listener(reports)


def _lost(key: Key, machine: int) -> Broke:
    return Broke(*key, machine, "lost", "its machine does not know it")


async def _happens(event: asyncio.Event, within: float) -> bool:
    """Whether something happens in time."""
    event.clear()
    try:
        async with asyncio.timeout(within):
            await event.wait()
    except TimeoutError:
        return False
    return True
