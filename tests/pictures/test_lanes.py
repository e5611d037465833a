"""Lanes: what is noted of a run, and that pictures of few and of many come out."""

from pathlib import Path

import pytest

from tradewind.model.machine import BootLag, MachineType
from tradewind.model.requirement import Requirement
from tradewind.model.scenario import Faults, Scenario, Submission
from tradewind.model.units import SECOND
from tradewind.model.workflow import Task, Workflow
from tradewind.pictures.lanes import FEW, Bar, Lane, Lanes, draw_lanes
from tradewind.policies.registry import build
from tradewind.sim.driver import Simulation


def followed(chains: int, machines: int, faults: Faults | None = None) -> list[Lane]:
    """The lanes of a simulation."""
    tasks = tuple(
        Task(f"t{place}", "t", Requirement(frozenset("ab"[place % 2])), 10 * SECOND) for place in range(chains)
    )
    types = tuple(
        MachineType(name, boot=BootLag(30 * SECOND), limit=machines // 2, capabilities=frozenset(name)) for name in "ab"
    )
    scenario = Scenario((), types, interval=20 * SECOND, faults=faults or Faults())
    work = [Submission(0, Workflow("w", tasks, ((),) * chains))]
    simulation = Simulation(scenario, work, build("capability", {"target_drain": 1}))
    lanes = Lanes(simulation.state)
    simulation.run(lanes.observe)
    return lanes.lanes


def test_a_lane_tells_what_ran_and_when() -> None:
    lanes = followed(6, 2)
    assert [(lane.kind, lane.acquired, lane.up) for lane in lanes] == [("a", 0, 30 * SECOND), ("b", 0, 30 * SECOND)]
    begins = (30 * SECOND, 40 * SECOND, 50 * SECOND)
    assert lanes[0].bars == [Bar(begin, begin + 10 * SECOND, "a") for begin in begins]
    assert not any(lane.is_lost for lane in lanes)


def test_what_ran_on_a_lost_machine_is_not_done() -> None:
    lanes = followed(40, 4, Faults(machine_loss=200.0))
    lost = [lane for lane in lanes if lane.is_lost]
    assert lost
    assert sum(bar.is_done for lane in lanes for bar in lane.bars) == 40
    for lane in lost:
        assert all(bar.is_done for bar in lane.bars[:-1])
        assert lane.gone is not None
        assert all(bar.end <= lane.gone for bar in lane.bars)


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_few_lanes_are_drawn(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / f"lanes.{suffix}"
    draw_lanes({"one": followed(40, 4, Faults(machine_loss=200.0)), "two": followed(6, 2)}, path, "two runs")
    assert path.stat().st_size > 5_000


def test_many_lanes_are_drawn_as_pixels(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    lanes = followed(400, 2 * FEW)
    assert len(lanes) > FEW
    path = tmp_path / "lanes.png"
    draw_lanes({"many": lanes}, path, begin=20 * SECOND)
    assert path.stat().st_size > 5_000


def test_the_same_run_gives_the_same_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name in ("one.svg", "two.svg"):
        draw_lanes({"run": followed(6, 2)}, tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_no_lanes_are_no_picture(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no lanes"):
        draw_lanes({"none": []}, tmp_path / "lanes.png")
