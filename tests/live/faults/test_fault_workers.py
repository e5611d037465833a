"""Workers that are killed or freeze under their work: it runs again elsewhere by itself, and is recorded once."""

import os
import signal
import sys
from pathlib import Path

import psutil
import pytest
from faults_rig import Story, is_gone, keeper, live, lost, once, wait, worker_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

SLOW_ONCE = "echo $PPID; test $TRADEWIND_ATTEMPT -gt 1 || sleep 100"


def test_what_ran_on_a_killed_worker_runs_again(tmp_path: Path) -> None:
    def kill(story: Story) -> None:
        os.kill(worker_of(story, "t0").pid, signal.SIGKILL)

    story = live(tmp_path, [SLOW_ONCE, "sleep 0.1", "sleep 0.1"], kill)
    once(story)
    assert story.attempts == [("t0", 1, "lost"), ("t0", 2, "done"), ("t1", 1, "done"), ("t2", 1, "done")]
    assert story.out("t0", 1).read_text() != story.out("t0", 2).read_text(), "elsewhere"


def test_what_ran_on_a_frozen_worker_runs_again_and_its_late_end_counts_for_nothing(tmp_path: Path) -> None:
    """The command itself is not frozen, and comes to its end; but its worker is killed before it can tell."""
    frozen: list[psutil.Process] = []

    def freeze(story: Story) -> None:
        frozen.append(worker_of(story, "t0"))
        frozen[0].suspend()
        (story.folder / "go").touch()
        wait((story.folder / "ended").exists)

    command = f"echo $PPID; while ! test -e {tmp_path}/go; do sleep 0.05; done; touch {tmp_path}/ended"
    story = live(tmp_path, [command, "true"], freeze, silence=1.5)
    once(story)
    assert story.attempts == [("t0", 1, "lost"), ("t0", 2, "done"), ("t1", 1, "done")]
    assert story.detail is not None
    assert [row.reason for row in story.detail.attempts if row.outcome == "lost"] == [
        "its worker has not answered for 1.5 s"
    ]
    wait(lambda: is_gone(frozen[0]))


def test_a_worker_that_was_frozen_for_a_moment_goes_on(tmp_path: Path) -> None:
    def freeze(story: Story) -> None:
        worker = worker_of(story, "t0")
        worker.suspend()
        (story.folder / "go").touch()
        wait((story.folder / "ended").exists)
        worker.resume()

    command = f"echo $PPID; while ! test -e {tmp_path}/go; do sleep 0.05; done; touch {tmp_path}/ended"
    story = live(tmp_path, [command], freeze, silence=10.0)
    assert story.attempts == [("t0", 1, "done")]


def test_all_that_ran_under_a_killed_keeper_runs_again(tmp_path: Path) -> None:
    def kill(story: Story) -> None:
        worker_of(story, "t0")
        worker_of(story, "t1")
        keeper().kill()

    story = live(tmp_path, [SLOW_ONCE, SLOW_ONCE, "true"], kill)
    once(story)
    assert [each for each in story.attempts if each[2] == "lost"] == [("t0", 1, "lost"), ("t1", 1, "lost")]


def test_work_goes_on_under_a_frozen_keeper(tmp_path: Path) -> None:
    """It can neither start nor kill workers: another one takes its place, and takes it along in the end."""
    frozen: list[psutil.Process] = []

    def freeze(story: Story) -> None:
        worker = worker_of(story, "t0")
        frozen.append(keeper())
        frozen[0].suspend()
        worker.kill()

    story = live(tmp_path, [SLOW_ONCE, "true"], freeze, silence=1.0, machines=1)
    once(story)
    assert ("t0", 1, "lost") in story.attempts
    wait(lambda: is_gone(frozen[0]))


def test_what_costs_one_machine_after_the_other_is_given_up(tmp_path: Path) -> None:
    story = live(tmp_path, ["kill -9 $PPID; sleep 100"], retry=lost(2))
    assert story.status == "failed"
    assert story.attempts == [("t0", number, "lost") for number in (1, 2, 3)]
