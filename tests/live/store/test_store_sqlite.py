"""What can happen to a file."""

import resource
import sqlite3
import sys
from pathlib import Path
from subprocess import PIPE, Popen

import pytest
from store_places import Place
from store_samples import a_run, crash_batch, units_of

from tradewind.live.store.errors import StoreError, StoreUnavailableError
from tradewind.live.store.open import open_store
from tradewind.live.store.port import Changes, Durability
from tradewind.live.store.sql import SqlStore
from tradewind.live.store.sqlite import SqliteSession
from tradewind.model.units import SECOND


def a_store(path: Path, durability: Durability = "relaxed") -> tuple[SqlStore, SqliteSession]:
    session = SqliteSession(path, durability, SECOND // 5)
    return SqlStore(session), session


def test_a_batch_that_found_the_disk_full_can_be_saved_later(tmp_path: Path) -> None:
    store, session = a_store(tmp_path / "store.db")
    store.save(crash_batch(0))
    before = store.load()
    session._open().execute("PRAGMA max_page_count = 1")
    large = Changes(new_runs=[a_run(1)], new_units=units_of(1, 20, 5_000), notes={"large": "x" * 10_000})
    with pytest.raises(StoreUnavailableError, match="the disk is full; free some space"):
        store.save(large)
    assert store.load() == before
    store.save(large)
    assert len(store.load().units) == len(before.units) + 5_000
    store.close()


def test_a_batch_that_the_disk_refuses_midway_can_be_saved_later(tmp_path: Path) -> None:
    store, _ = a_store(tmp_path / "store.db")
    store.save(crash_batch(0))
    before = store.load()
    large = Changes(new_runs=[a_run(1)], new_units=units_of(1, 20, 20_000))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, limits[1]))
    try:
        with pytest.raises(StoreUnavailableError, match="the disk fails; check it"):
            store.save(large)
        assert store.load() == before
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    store.save(large)
    assert len(store.load().units) == len(before.units) + 20_000
    store.close()


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    store, session = a_store(tmp_path / "store.db")
    session._open().execute("PRAGMA query_only = ON")
    with pytest.raises(StoreUnavailableError, match="make the file and its folder writable"):
        store.save(Changes(notes={"a": 1}))
    store.save(Changes(notes={"a": 1}))
    assert store.load().notes == {"a": 1}
    store.close()


def test_a_file_locked_for_too_long_is_told(tmp_path: Path) -> None:
    store, _ = a_store(tmp_path / "store.db")
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailableError, match="another process has been writing for 200ms"):
        store.save(Changes(notes={"a": 1}))
    assert store.load().notes == {}  # readers do not wait
    other.execute("ROLLBACK")
    other.close()
    store.save(Changes(notes={"a": 1}))
    store.close()


def test_a_file_removed_or_replaced_while_in_use_is_noticed(tmp_path: Path) -> None:
    store, _ = a_store(tmp_path / "store.db")
    other, _ = a_store(tmp_path / "other.db")
    other.close()
    (tmp_path / "store.db").unlink()
    with pytest.raises(StoreError, match="removed or replaced while in use"):
        store.save(Changes(notes={"a": 1}))
    store.close()


def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but long enough to be mistaken for one " * 20)
    with pytest.raises(StoreError, match="not a Tradewind store"):
        open_store(text)
    assert text.read_text().startswith("not a database")
    foreign = sqlite3.connect(tmp_path / "foreign.db")
    foreign.execute("CREATE TABLE songs (title)")
    foreign.close()
    before = (tmp_path / "foreign.db").read_bytes()
    with pytest.raises(StoreError, match="a database of something else"):
        open_store(tmp_path / "foreign.db")
    assert (tmp_path / "foreign.db").read_bytes() == before


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailableError, match="check the folder"):
        open_store(tmp_path / "file" / "store.db")
    with pytest.raises(StoreUnavailableError, match="cannot be opened"):
        open_store(tmp_path)


def test_any_character_may_be_in_a_path(tmp_path: Path) -> None:
    place = Place(str(tmp_path / "a?b%20#c" / "é &=.db"))
    place.open().save(crash_batch(0))
    assert len(place.open().runs()) == 1
    assert [file.name for file in (tmp_path / "a?b%20#c").iterdir() if file.suffix == ".db"] == ["é &=.db"]
    place.close()


def test_folders_are_made(tmp_path: Path) -> None:
    open_store(f"sqlite:///{tmp_path}/a/b/store.db").close()
    assert (tmp_path / "a" / "b" / "store.db").exists()


@pytest.mark.parametrize("where", ["mysql://host/database", "sqlite://", "sqlite:", "http://host"])
def test_other_addresses_are_refused(where: str) -> None:
    with pytest.raises(StoreError, match="use a path, sqlite:///FILE or postgresql://HOST/DATABASE"):
        open_store(where)


@pytest.mark.parametrize(("durability", "level"), [("strict", 2), ("relaxed", 1)])
def test_durability_decides_when_the_disk_is_synced(tmp_path: Path, durability: Durability, level: int) -> None:
    store, session = a_store(tmp_path / "store.db", durability)
    assert session.fetch("PRAGMA synchronous") == [(level,)]
    assert session.fetch("PRAGMA journal_mode") == [("wal",)]
    store.close()


def test_opening_loads_neither_sqlalchemy_nor_alembic(tmp_path: Path) -> None:
    program = (
        "import sys; from tradewind.live.store.open import open_store; store = open_store(sys.argv[1]);"
        "store.load(); store.close(); sys.exit('sqlalchemy' in sys.modules or 'alembic' in sys.modules)"
    )
    for _ in ("new", "there already"):
        with Popen([sys.executable, "-c", program, str(tmp_path / "store.db")]) as child:
            assert child.wait() == 0


def test_readers_and_the_writer_do_not_wait_for_each_other(tmp_path: Path) -> None:
    place = Place(str(tmp_path / "store.db"))
    store = place.open()
    for number in range(100):
        store.save(crash_batch(number))
    records = store.log()
    next(records)
    store.save(crash_batch(100))
    assert len(list(records)) == 100
    place.close()


def test_many_processes_may_open_a_new_store_at_once(tmp_path: Path) -> None:
    program = (
        "import sys; from tradewind.live.store.open import open_store; sys.stdin.readline();"
        "store = open_store(sys.argv[1]); print(store.load().next.run); store.close()"
    )
    children = [
        Popen([sys.executable, "-c", program, str(tmp_path / "store.db")], stdin=PIPE, stdout=PIPE, text=True)
        for _ in range(4)
    ]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    assert [child.communicate()[0] for child in children] == ["0\n"] * 4
