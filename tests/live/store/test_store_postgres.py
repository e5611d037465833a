"""What can happen to a server."""

import sys
from pathlib import Path
from subprocess import PIPE, Popen
from threading import Timer
from time import sleep

import psycopg
import pytest
from store_places import ended_server, new_database, running_server  # noqa: F401
from store_samples import crash_batch

from tradewind.live.store.errors import LostLeaseError, StoreError, StoreUnavailableError
from tradewind.live.store.open import open_store
from tradewind.live.store.port import Changes, Durability, Lease
from tradewind.live.store.postgres import PostgresSession
from tradewind.live.store.sql import SqlStore
from tradewind.model.units import SECOND


def a_store(where: str, durability: Durability = "relaxed") -> tuple[SqlStore, PostgresSession]:
    session = PostgresSession(where, durability, 20 * SECOND)
    return SqlStore(session), session


def test_a_save_waits_for_a_server_that_restarts() -> None:
    server = running_server()
    store, _ = a_store(new_database())
    store.save(crash_batch(0))
    assert len(store.runs()) == 1
    server.stop()
    restart = Timer(0.3, server.start)
    restart.start()
    store.save(crash_batch(1))
    restart.join()
    assert [head.number for head in store.runs()] == [1, 0]
    assert store.load().notes == {"batch": 1}
    store.close()


def test_an_outage_is_told_when_it_begins_and_when_it_is_over() -> None:
    server = running_server()
    store, session = a_store(new_database())
    said: list[tuple[str, bool]] = []
    store.watch(lambda words: said.append((words, bool(store.trouble))))
    store.save(crash_batch(0))
    assert said == []
    server.stop()
    restart = Timer(0.5, server.start)
    restart.start()
    store.save(crash_batch(1))
    restart.join()
    assert [is_away for _, is_away in said] == [True, False]
    assert "cannot be reached" in said[0][0]
    assert "can be reached again, after" in said[1][0]
    assert session.trouble == ""
    store.close()


def test_a_server_away_for_too_long_is_told_and_nothing_is_lost() -> None:
    server = running_server()
    where = new_database()
    store = open_store(where, patience=SECOND // 5)
    store.save(crash_batch(0))
    server.stop()
    try:
        with pytest.raises(StoreUnavailableError, match=r"could not be used for 200ms.*nothing is lost"):
            store.save(crash_batch(1))
        with pytest.raises(StoreUnavailableError, match="check the server"):
            open_store(where, patience=SECOND // 5)
        with pytest.raises(StoreUnavailableError, match="try again later"):
            store.runs()
    finally:
        server.start()
    store.save(crash_batch(1))
    assert store.load().notes == {"batch": 1}
    store.close()


def test_a_connection_cut_by_the_server_is_opened_again() -> None:
    where = new_database()
    store, _ = a_store(where)
    for number in range(3):
        store.save(crash_batch(number))
        with psycopg.connect(where, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )
    assert store.load().notes == {"batch": 2}
    store.close()


def test_who_only_reads_may_take_long() -> None:
    store, session = a_store(new_database())
    session._open().execute("SET idle_in_transaction_session_timeout = '50ms'")

    def read() -> int:
        sleep(0.2)
        return len(session.fetch("SELECT 1"))

    assert session.snapshot(read) == 1
    store.close()


def test_a_frozen_leader_does_not_keep_others_from_leading() -> None:
    where = new_database()
    frozen, session = a_store(where)
    other, _ = a_store(where)
    lease = frozen.take_lease("leader", "a", until=10, now=0)
    assert lease is not None
    session._open().execute("SET idle_in_transaction_session_timeout = '200ms'")  # five seconds are long for a test
    taken: list[Lease | None] = []

    def freeze() -> None:
        if not taken:
            session.newest_token("leader")
            taken.append(other.take_lease("leader", "b", until=100, now=10))
        frozen._save([], lease)

    with pytest.raises(LostLeaseError):
        session.transact(freeze)
    assert taken[0] is not None
    frozen.close()
    other.close()


@pytest.mark.parametrize(("durability", "setting"), [("strict", "on"), ("relaxed", "off")])
def test_durability_decides_when_the_server_syncs(durability: Durability, setting: str) -> None:
    store, session = a_store(new_database(), durability)
    assert session.fetch("SHOW synchronous_commit") == [(setting,)]
    store.close()


def test_a_wrong_address_is_told_at_once() -> None:
    uri = running_server().get_uri(database="no_such_database")
    with pytest.raises(StoreError, match=r"no_such_database.* check the address") as told:
        open_store(uri)
    assert not isinstance(told.value, StoreUnavailableError)
    with pytest.raises(StoreError, match="not an address"):
        open_store("postgresql://host:port:port/x?nonsense=1")


def test_large_batches_are_sent_in_parts() -> None:
    store, _ = a_store(new_database())
    changes = crash_batch(0)
    changes.new_units *= 0
    changes.new_units += [unit._replace(number=n) for unit in crash_batch(0).new_units[:1] for n in range(12_345)]
    store.save(changes)
    assert [unit.number for unit in store.load().units] == list(range(12_345))
    store.close()


def test_many_processes_may_open_a_new_store_at_once() -> None:
    where = new_database(is_empty=True)
    program = (
        "import sys; from tradewind.live.store.open import open_store; sys.stdin.readline();"
        "store = open_store(sys.argv[1]); print(store.load().next.run); store.close()"
    )
    children = [
        Popen([sys.executable, "-c", program, where], stdin=PIPE, stdout=PIPE, text=True, cwd=Path(__file__).parent)
        for _ in range(2)
    ]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    assert [child.communicate()[0] for child in children] == ["0\n"] * 2


def test_without_psycopg_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "tradewind.live.store.postgres")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"pip install 'tradewind\[postgres\]'"):
        open_store("postgresql://host/database")


def test_a_change_of_nothing_known_is_a_defect() -> None:
    store, _ = a_store(new_database())
    unit = crash_batch(1).units[0]
    store.save(crash_batch(0))
    with pytest.raises(StoreError, match="or one of them twice"):
        store.save(Changes(units=[unit, unit]))
    store.close()
