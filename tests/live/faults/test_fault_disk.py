"""Disks that are full or cannot be written: what is done stays done, and what waits goes on once there is room."""

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from engine_rig import Rig, shell
from faults_rig import Story, commands, live, once, wait

from tradewind.live.engines.local import LocalEngine
from tradewind.live.store.errors import StoreUnavailableError
from tradewind.model.units import SECOND

GO = "echo up; while ! test -e {0}/go; do sleep 0.02; done"
COMMAND = [sys.executable, "-m", "tradewind", "run"]


def _mount(folder: Path, *options: str) -> None:
    folder.mkdir()
    mount = shutil.which("mount") or pytest.skip("there is no mount command")
    done = subprocess.run(
        [mount, "-t", "tmpfs", "-o", ",".join(options), "tmpfs", folder], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("a small disk can be mounted by root only")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    _mount(folder, "size=2m")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture
def sealed(tmp_path: Path) -> Iterator[Path]:
    """A disk that can be read only."""
    folder = tmp_path / "sealed"
    _mount(folder, "size=2m", "ro")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def _fill(disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


def test_a_store_on_a_full_disk_is_waited_for(tmp_path: Path, disk: Path) -> None:
    (tmp_path / "runs").mkdir()
    (disk / "runs").symlink_to(tmp_path / "runs")

    def fill(story: Story) -> None:
        wait(lambda: story.has_said("t0", "up"))
        _fill(disk)
        (tmp_path / "go").touch()
        wait(lambda: story.troubles)
        (disk / "filler").unlink()

    story = live(disk, [GO.format(tmp_path), "true", "true"], fill, after=True)
    once(story)
    assert "the disk is full; free some space" in story.troubles[0]
    assert story.attempts == [("t0", 1, "done"), ("t1", 1, "done"), ("t2", 1, "done")], "nothing is repeated"


def test_a_step_that_has_ended_waits_for_room_to_say_so(tmp_path: Path, disk: Path) -> None:
    (tmp_path / "runs").symlink_to(disk)

    def fill(story: Story) -> None:
        wait(lambda: story.has_said("t0", "up"))
        _fill(disk)
        (tmp_path / "go").touch()
        wait(lambda: not commands())
        assert not story.out("t0").with_name("exitcode").exists()
        (disk / "filler").unlink()

    story = live(tmp_path, [GO.format(tmp_path), "true", "true"], fill, after=True)
    assert story.attempts == [("t0", 1, "done"), ("t1", 1, "done"), ("t2", 1, "done")], "nothing is tried again"
    assert story.out("t0").with_name("exitcode").read_text() == "0\n"


def test_a_step_waits_for_room_to_begin(tmp_path: Path, disk: Path) -> None:
    (tmp_path / "runs").symlink_to(disk)
    _fill(disk)

    def free(story: Story) -> None:
        wait(lambda: story.driver is not None and any(unit.attempt for unit in list(story.driver.state.units.values())))
        time.sleep(0.2)
        assert not (tmp_path / "began").exists()
        (disk / "filler").unlink()

    story = live(tmp_path, [f"touch {tmp_path}/began", "true"], free)
    assert story.attempts == [("t0", 1, "done"), ("t1", 1, "done")]


def test_who_is_killed_while_it_waits_for_room_does_not_begin(tmp_path: Path, disk: Path) -> None:
    _fill(disk)
    rig = Rig(lambda listener: LocalEngine(listener, tmp_path, grace=0.1), disk)
    try:
        machine = rig.machine()
        order = rig.start(machine, shell(f"touch {tmp_path}/began"))
        rig.sleep(0.1)
        rig.engine.kill(order.unit, order.attempt, machine)
        rig.sleep(0.3)
        (disk / "filler").unlink()
        rig.done(machine, shell("true"))
        assert rig.reports == []
        assert not (tmp_path / "began").exists()
    finally:
        rig.close()


def test_steps_that_cannot_write_their_folder_fail_and_say_why(tmp_path: Path, sealed: Path) -> None:
    (tmp_path / "runs").symlink_to(sealed)
    story = live(tmp_path, ["true", "true", "true"], after=True)
    assert story.status == "failed"
    (failure,) = story.failures
    assert failure.report.cause == "start"
    assert failure.report.reason.startswith(f"cannot write to folder {tmp_path}/runs")
    assert failure.report.reason.endswith("Read-only file system")


def test_a_store_that_cannot_be_written_is_told_before_anything_runs(tmp_path: Path, sealed: Path) -> None:
    with pytest.raises(StoreUnavailableError):
        live(sealed, [f"touch {tmp_path}/ran"], patience=SECOND // 10)
    (tmp_path / "flow.yaml").write_text("steps: {one: {run: 'true'}}")
    done = subprocess.run(
        [*COMMAND, "flow.yaml", "--folder", sealed / "here"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "error: " in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "ran").exists()
