"""What a store and the folders of runs hold is for nobody else to read."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tradewind.live.folder import RUNS, STORE, alone_in
from tradewind.live.store.open import open_store


@pytest.fixture(autouse=True)
def usual_mask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def exposed(folder: Path) -> list[str]:
    """What others could look into, if they could get there at all."""
    outside = {folder, *folder.glob("store.db*"), folder / RUNS}
    return sorted(path.name for path in outside if path.exists() and path.stat().st_mode & 0o077)


def worked_in(folder: Path) -> list[str]:
    """What is exposed while somebody works in a folder, when the store has a log beside it."""
    with alone_in(folder):
        store = open_store(folder / STORE)
        found = exposed(folder)
        names = {path.name for path in folder.glob("store.db*")}
        store.close()
    assert "store.db-wal" in names
    return found


def test_a_new_folder_and_all_of_its_store_are_for_their_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / ".tradewind"
    assert worked_in(folder) == []
    assert exposed(folder) == []
    assert (tmp_path / "deep").stat().st_mode & 0o055, "only what is ours is closed"


def test_a_folder_of_an_earlier_version_is_closed_when_it_is_opened(tmp_path: Path) -> None:
    folder = tmp_path / ".tradewind"
    worked_in(folder)
    for path, mode in ((folder, 0o755), (folder / RUNS, 0o755), (folder / STORE, 0o644)):
        path.chmod(mode)
    assert len(exposed(folder)) == 3
    assert worked_in(folder) == []


def test_a_log_that_was_left_behind_is_closed_too(tmp_path: Path) -> None:
    folder = tmp_path / ".tradewind"
    worked_in(folder)
    (folder / "store.db-wal").touch(0o644)
    assert worked_in(folder) == []


def test_a_folder_that_is_not_surely_ours_stays_as_it_is_but_not_what_we_keep_there(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir(0o755)
    assert worked_in(folder) == ["home"]
    assert folder.stat().st_mode & 0o777 == 0o755


def test_closing_a_store_to_others_does_not_let_them_fold_its_log_away(tmp_path: Path) -> None:
    """A process loses its locks on a file when it closes that file, opened however often; the log would be removed."""
    first = open_store(tmp_path / STORE)
    second = open_store(tmp_path / STORE)
    look = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM runs'); c.close()"
    subprocess.run([sys.executable, "-c", look, tmp_path / STORE], check=True)
    assert (tmp_path / f"{STORE}-wal").exists(), "what is written from now on would be lost"
    second.close()
    first.close()
