"""`tradewind run --store`: runs kept in PostgreSQL or another file, found again without being told where."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tradewind.live.folder import ELSEWHERE, STORE, StoreElsewhereError, note_store, store_of
from tradewind.live.leading import NAME
from tradewind.live.loop import wall_clock
from tradewind.live.store.open import open_store
from tradewind.model.units import MINUTE

sys.path.insert(0, str(Path(__file__).parent / "store"))
from store_places import ended_server, new_database  # noqa: F401

COMMAND = [sys.executable, "-m", "tradewind"]
FLOW = "steps: {each: {for_each: [1, 2, 3], run: 'echo {{ item }} >> ../../../../marks; sleep 0.1', cpus: 1}}"
SLOW = "steps: {each: {for_each: [1, 2, 3, 4, 5, 6], run: 'echo {{ item }} >> ../../../../marks; sleep 1', cpus: 1}}"


def command(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, words)], cwd=folder, capture_output=True, text=True, check=False, timeout=90
    )


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store that is not in the folder."""
    return str(tmp_path / "elsewhere.db") if request.param == "sqlite" else new_database()


def test_a_run_is_kept_where_it_was_told_to_be_and_found_again(tmp_path: Path, where: str) -> None:
    (tmp_path / "flow.yaml").write_text(FLOW)
    done = command(tmp_path, "run", "flow.yaml", "--store", where, "--json")
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)["run"]
    store = open_store(where)
    detail = store.run(run)
    store.close()
    assert detail is not None
    assert detail.run.status == "done"
    assert not (tmp_path / ".tradewind" / STORE).exists()
    assert (tmp_path / ".tradewind" / ELSEWHERE).stat().st_mode & 0o077 == 0, "an address may hold a password"
    listed = json.loads(command(tmp_path, "list", "-o", "json").stdout)
    assert [(each["id"], each["status"]) for each in listed] == [(run, "done")]
    assert json.loads(command(tmp_path, "get", "last", "-o", "json").stdout)["id"] == run
    assert command(tmp_path, "cache", "list").returncode == 0
    again = command(tmp_path, "run", "flow.yaml", "--json")
    assert again.returncode == 0, again.stderr
    assert len(json.loads(command(tmp_path, "list", "-o", "json").stdout)) == 2, "both are in the same store"


def test_what_was_killed_is_resumed_from_there(tmp_path: Path, where: str) -> None:
    (tmp_path / "flow.yaml").write_text(SLOW)
    words = [*COMMAND, "run", "flow.yaml", "--store", where]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    marks = tmp_path / "marks"
    deadline = time.monotonic() + 60
    while not marks.exists() or len(marks.read_text().split()) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    resumed = command(tmp_path, "run", "--resume", "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout)["status"] == "done"
    assert set(marks.read_text().split()) == set("123456")


def test_nobody_else_works_with_the_store_at_the_same_time(tmp_path: Path, where: str) -> None:
    (tmp_path / "flow.yaml").write_text(FLOW)
    store = open_store(where)
    now = wall_clock()
    lease = store.take_lease(NAME, "elsewhere:/folder", now + MINUTE, now)
    assert lease is not None
    refused = command(tmp_path, "run", "flow.yaml", "--store", where)
    assert refused.returncode == 2
    assert "works with this store" in refused.stderr
    assert not (tmp_path / ".tradewind" / ELSEWHERE).exists()
    store.drop_lease(lease)
    store.close()
    assert command(tmp_path, "run", "flow.yaml", "--store", where).returncode == 0


@pytest.mark.parametrize(
    ("store", "message"),
    [("memory:", "cannot be resumed"), ("mysql://host/x", "not a store"), ("postgresql://127.0.0.1:1/x", "")],
)
def test_a_store_that_cannot_be_is_refused(tmp_path: Path, store: str, message: str) -> None:
    (tmp_path / "flow.yaml").write_text(FLOW)
    refused = command(tmp_path, "run", "flow.yaml", "--store", f"{store}?connect_timeout=1" if not message else store)
    assert refused.returncode == 2
    assert message in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (tmp_path / ".tradewind" / ELSEWHERE).exists()


def test_a_folder_stays_with_its_store(tmp_path: Path) -> None:
    assert store_of(tmp_path) == tmp_path / STORE
    assert store_of(tmp_path, "postgresql://host/one") == "postgresql://host/one"
    note_store(tmp_path, "postgresql://host/one")
    assert store_of(tmp_path) == store_of(tmp_path, "postgresql://host/one") == "postgresql://host/one"
    with pytest.raises(StoreElsewhereError, match="leave --store out"):
        store_of(tmp_path, "postgresql://host/two")


def test_a_folder_with_a_store_of_its_own_takes_no_other(tmp_path: Path) -> None:
    (tmp_path / STORE).touch()
    assert store_of(tmp_path, str(tmp_path / STORE)) == tmp_path / STORE
    assert store_of(tmp_path, f"sqlite:///{tmp_path / STORE}") == tmp_path / STORE
    with pytest.raises(StoreElsewhereError):
        store_of(tmp_path, str(tmp_path / "other.db"))
    note_store(tmp_path, tmp_path / STORE)
    assert not (tmp_path / ELSEWHERE).exists()
