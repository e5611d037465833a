"""Databases that are locked, restart or vanish under a running control plane."""

import sqlite3
import sys
from pathlib import Path

import pytest
from faults_rig import Story, live, once, wait, worker_of
from store_places import ended_server, new_database, running_server  # noqa: F401

from tradewind.live.store.errors import StoreError
from tradewind.live.store.open import open_store
from tradewind.model.units import SECOND

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
GO = "echo $PPID; while ! test -e {0}/go; do sleep 0.02; done"


def test_a_locked_file_is_waited_for(tmp_path: Path) -> None:
    def lock(story: Story) -> None:
        worker_of(story, "t0")
        other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        (tmp_path / "go").touch()
        wait(lambda: len(story.troubles) > 1)
        other.execute("ROLLBACK")
        other.close()

    story = live(tmp_path, [GO.format(tmp_path), "true", "true"], lock, after=True, patience=SECOND // 10)
    once(story)
    assert "another process has been writing" in story.troubles[0]
    assert story.attempts == [("t0", 1, "done"), ("t1", 1, "done"), ("t2", 1, "done")]


def test_a_server_that_restarts_is_waited_for(tmp_path: Path) -> None:
    server = running_server()

    def restart(story: Story) -> None:
        worker_of(story, "t0")
        server.stop()
        try:
            (tmp_path / "go").touch()
            wait(lambda: story.troubles)
        finally:
            server.start()

    store = open_store(new_database(), patience=SECOND // 10)
    story = live(tmp_path, [GO.format(tmp_path), "true", "true"], restart, after=True, store=store)
    once(story)
    assert "nothing is lost" in story.troubles[0]
    assert story.attempts == [("t0", 1, "done"), ("t1", 1, "done"), ("t2", 1, "done")]


def test_a_store_that_was_removed_ends_everything(tmp_path: Path) -> None:
    """Whatever would be done now could never be found again."""
    pids: list[int] = []

    def remove(story: Story) -> None:
        pids.append(worker_of(story, "t0").pid)
        for file in tmp_path.glob("store.db*"):
            file.unlink()
        (tmp_path / "go").touch()

    with pytest.raises(StoreError, match="removed or replaced"):
        live(tmp_path, [GO.format(tmp_path), f"touch {tmp_path}/ran", "true"], remove, after=True)
    assert not Path(f"/proc/{pids[0]}").exists()
    assert not (tmp_path / "ran").exists()
