"""The engine of machines that join: what it tells agents, and what it believes of what they tell."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from engine_agents import LONG, TYPE, FakeAgent, described
from engine_rig import Rig, shell

from tradewind.live.engines.pull import LOOKS, PullEngine, ReplacedError, UnknownAgentError
from tradewind.live.order_json import order_of
from tradewind.live.port import Broke, Done, Expected, Joined, Left, Order, Report

SILENCE = 0.4


class World(Rig):
    """A pull engine, whose machines are given numbers as a driver would."""

    def __init__(self, root: Path, silence: float = 60.0) -> None:
        self.names: dict[str, int] = {}
        super().__init__(lambda hear: PullEngine(hear, root, silence=silence), root)
        assert isinstance(self.engine, PullEngine)
        self.pull: PullEngine = self.engine

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def _listen(self, reports: Sequence[Report]) -> None:
        super()._listen(reports)
        for report in reports:
            if isinstance(report, Joined):
                number = self.names.setdefault(report.name, len(self.names) + 1)
                self.engine.welcome(report.name, number)
            elif isinstance(report, Left):
                self.names.pop(report.name, None)

    def agent(self, *slots: int, name: str = "site", **more: Any) -> FakeAgent:
        made = FakeAgent(self.pull, name, described(*slots, **more))
        self.sleep(0)
        return made

    def taken(self) -> list[Report]:
        reports, self.reports = self.reports, []
        return reports

    def ordered(self, machine: int, command: str = "true", unit: int = 7, attempt: int = 1) -> Order:
        order = Order("run-1", unit, attempt, machine, "c", (shell(command),), str(self.root / f"{unit}.{attempt}"))
        self.engine.start([order])
        return order


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def test_each_slot_of_an_agent_is_a_machine(world: World) -> None:
    world.agent(0, 2, tenants=("ada",))
    assert world.taken() == [Joined("site/0", TYPE, ("ada",)), Joined("site/2", TYPE, ("ada",))]
    assert world.pull.machines("site") == [1, 2]


def test_to_register_again_is_no_news(world: World) -> None:
    world.agent(0)
    world.taken()
    world.agent(0)
    assert world.taken() == []


def test_slots_come_and_go(world: World) -> None:
    world.agent(0, 1)
    world.taken()
    world.agent(1, 2)
    reports = world.taken()
    assert [(type(report), report.name) for report in reports] == [(Left, "site/0"), (Joined, "site/2")]  # type: ignore[union-attr]


def test_an_agent_that_offers_something_else_joins_anew(world: World) -> None:
    world.agent(0)
    world.taken()
    world.agent(0, tenants=("bob",))
    assert [type(report) for report in world.taken()] == [Left, Joined]


def test_an_order_is_sent_until_it_is_held_and_its_end_until_it_is_confirmed(world: World) -> None:
    agent = world.agent(0)
    world.taken()
    world.ordered(1)
    call = world.pull.call
    first = world.run(call("site", "s", 1, [], [], 0.0))
    again = world.run(call("site", "s", 2, [], [], 0.0))
    assert first.orders == again.orders
    assert order_of(first.orders[0]).key == (7, 1)
    agent.serial = 2
    world.run(agent.call())  # takes it
    world.run(agent.call())  # tells its end
    world.run(agent.call())  # and again
    assert world.taken() == [Done(7, 1, 1, {"task": {}})]
    assert agent.held.keys() == {(7, 1)}
    world.engine.confirm([(7, 1, 1)])
    told = world.run(agent.call())
    assert told.drop == [(7, 1, False)]
    assert not world.run(agent.call())


@pytest.mark.parametrize("at_once", [True, False])
def test_a_killed_attempt_is_dropped(world: World, at_once: bool) -> None:
    agent = world.agent(0)
    world.ordered(1, LONG)
    world.run(agent.call())
    world.run(agent.call())
    world.engine.kill(7, 1, 1, at_once=at_once)
    assert world.run(agent.call()).drop == [(7, 1, at_once)]
    assert not agent.held


def test_what_an_agent_has_lost_is_lost(world: World) -> None:
    agent = world.agent(0)
    world.ordered(1, LONG)
    world.run(agent.call())
    world.run(agent.call())
    world.taken()
    agent.held.clear()
    assert not world.run(agent.call()), "it is not sent again"
    world.sleep(0)
    (broke,) = world.taken()
    assert isinstance(broke, Broke)
    assert broke[:4] == (7, 1, 1, "lost")


def test_a_call_that_was_overtaken_changes_nothing(world: World) -> None:
    agent = world.agent(0)
    world.ordered(1, LONG)
    world.run(agent.call())
    world.run(agent.call())
    world.taken()
    world.run(world.pull.call("site", "s", 1, [], [], 0.0))
    world.sleep(0)
    assert world.taken() == []


def test_ends_of_attempts_that_an_agent_was_not_given_are_ignored(world: World) -> None:
    world.agent(0)
    thief = world.agent(0, name="thief")
    world.ordered(1, LONG)
    world.taken()
    forged = [Done(7, 1, 1), Done(7, 2, 1), Done(8, 1, 2)]
    world.run(world.pull.call("thief", "s", 1, [(7, 1)], forged, 0.0))
    world.sleep(0)
    assert world.taken() == []
    assert world.pull.duty("thief", "s", (7, 1)) is None
    assert thief.held == {}


def test_a_call_waits_for_something_to_do(world: World) -> None:
    agent = world.agent(0)

    async def play() -> None:
        waiting = asyncio.ensure_future(agent.call(30.0))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        world.ordered(1)
        assert (await waiting).orders

    world.run(play())


def test_a_later_call_ends_the_wait_of_an_earlier_one(world: World) -> None:
    agent = world.agent(0)

    async def play() -> None:
        earlier = asyncio.ensure_future(agent.call(30.0))
        await asyncio.sleep(0)
        later = asyncio.ensure_future(agent.call(30.0))
        assert not await earlier
        assert not later.done()
        world.engine.detach()
        with pytest.raises(UnknownAgentError):
            await later

    world.run(play())


def test_a_hint_ends_the_wait(world: World) -> None:
    agent = world.agent(0)

    async def play() -> None:
        waiting = asyncio.ensure_future(agent.call(30.0))
        await asyncio.sleep(0.01)
        world.pull.want("site", 3)
        await waiting

    world.run(play())
    assert world.pull.hint("site") == 3


def test_an_agent_that_falls_silent_has_left(tmp_path: Path) -> None:
    world = World(tmp_path, silence=SILENCE)
    agent = world.agent(0)
    world.taken()
    world.ordered(1, LONG)
    while not world.reports:
        world.sleep(SILENCE / LOOKS)
    assert [type(report) for report in world.taken()] == [Left]
    with pytest.raises(UnknownAgentError):
        world.run(agent.call())
    world.close()


def test_an_agent_that_calls_stays(tmp_path: Path) -> None:
    world = World(tmp_path, silence=SILENCE)
    agent = world.agent(0)
    world.taken()
    for _ in range(3 * LOOKS):
        world.run(agent.call(SILENCE / LOOKS))
    assert world.taken() == []
    world.close()


def test_a_revoked_token_drops_the_agent_that_came_by_it(world: World) -> None:
    agent = world.agent(0, token="old")  # noqa: S106 - no secret
    world.agent(0, token="new")  # noqa: S106 - no secret
    world.taken()
    world.pull.revoke("old", "revoked")
    world.run(agent.call())
    world.pull.revoke("new", "revoked")
    world.sleep(0)
    assert world.taken() == [Left("site/0", "revoked")]
    with pytest.raises(UnknownAgentError):
        world.run(agent.call())


def test_the_last_process_of_an_agent_replaces_the_one_before(world: World) -> None:
    first = world.agent(0, session="one")
    world.ordered(1, LONG)
    world.run(first.call())
    second = world.agent(0, session="two")
    second.held = dict(first.held)
    world.run(second.call())
    with pytest.raises(ReplacedError):
        world.run(first.call())
    assert all(isinstance(report, Joined) for report in world.taken()), "what it adopted goes on"


def test_a_released_machine_is_not_offered_again_by_the_same_process(world: World) -> None:
    agent = world.agent(0)
    world.ordered(1, LONG)
    world.run(agent.call())
    world.run(agent.call())
    world.taken()
    world.engine.release(1)
    assert world.run(agent.call()).drop == [(7, 1, False)]
    world.agent(0)
    assert world.taken() == []
    world.agent(0, session="next")
    assert [type(report) for report in world.taken()] == [Joined]


def test_the_next_control_plane_waits_for_agents_and_adopts_what_they_hold(tmp_path: Path) -> None:
    world = World(tmp_path)
    kept, gone = (7, 1), (8, 1)
    assert world.engine.check({5: Expected(TYPE, True, [kept, gone], "site/0")}) == []
    world.names["site/0"] = 5
    with pytest.raises(UnknownAgentError):
        world.run(world.pull.call("site", "s", 1, [kept], [], 0.0))
    agent = world.agent(0)
    assert world.taken() == [Joined("site/0", TYPE)], "the core knows whether it is the same machine"
    agent.held = {kept: None, (9, 1): None}
    told = world.run(agent.call())
    assert told.drop == [(9, 1, False)], "what nothing expects ends"
    world.sleep(0)
    assert world.taken() == [Broke(*gone, 5, "lost", "its machine does not know it")]
    agent.held[kept] = Done(*kept, 0)
    world.run(agent.call())
    world.sleep(0)
    assert world.taken() == [Done(*kept, 5)]
    world.close()


def test_an_agent_that_never_comes_back_has_left(tmp_path: Path) -> None:
    world = World(tmp_path, silence=SILENCE)
    world.engine.check({5: Expected(TYPE, True, [(7, 1)], "site/0")})
    while not world.reports:
        world.sleep(SILENCE / LOOKS)
    (left,) = world.taken()
    assert isinstance(left, Left)
    assert left.name == "site/0"
    world.close()


def test_a_check_ends_what_is_not_expected(world: World) -> None:
    agent = world.agent(0, 1)
    world.ordered(1, LONG)
    world.ordered(2, LONG, unit=8)
    world.run(agent.call())
    world.run(agent.call())
    world.taken()
    found = world.engine.check({1: Expected(TYPE, True, [(6, 1)], "site/0")})
    assert found == [Broke(6, 1, 1, "lost", "its machine does not know it")]
    assert world.run(agent.call()).drop == [(7, 1, False), (8, 1, False)]
