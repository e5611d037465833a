"""Open a store, making or upgrading its tables where needed."""

from pathlib import Path

from tradewind.live.store.errors import StoreError
from tradewind.live.store.port import Durability, Store
from tradewind.live.store.sql import Session, SqlStore
from tradewind.live.store.sqlite import SqliteSession
from tradewind.model.units import SECOND, Duration


def open_store(where: str | Path, *, durability: Durability = "strict", patience: Duration = 30 * SECOND) -> Store:
    """The store in a file (a path, `sqlite:///FILE`), in PostgreSQL (`postgresql://…`) or in `memory:`.

    `patience` is how long each verb keeps trying while another process writes or the database cannot be reached.
    """
    if isinstance(where, str) and ":" in where:
        scheme, _, rest = where.partition(":")
        if scheme == "memory":
            from tradewind.live.store.memory import MemoryStore  # noqa: PLC0415  for tests, mostly

            return MemoryStore()
        if scheme in ("postgresql", "postgres", "postgresql+psycopg"):
            return SqlStore(_postgres(f"postgresql:{rest}", durability, patience))
        if scheme == "sqlite" and rest.startswith("///") and len(rest) > 3:
            return SqlStore(SqliteSession(Path(rest[3:]), durability, patience))
        if rest.startswith("//") or scheme == "sqlite":
            raise StoreError(f"{where}: not a store; use a path, sqlite:///FILE or postgresql://HOST/DATABASE")
    return SqlStore(SqliteSession(Path(where), durability, patience))


def _postgres(url: str, durability: Durability, patience: Duration) -> Session:
    try:
        from tradewind.live.store.postgres import PostgresSession  # noqa: PLC0415  not everybody has psycopg
    except ImportError as error:
        raise StoreError(f"PostgreSQL needs another package ({error}); pip install 'tradewind[postgres]'") from error
    return PostgresSession(url, durability, patience)
