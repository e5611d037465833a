"""Open the part of a store that divisible jobs need, on a connection of its own."""

from pathlib import Path

from tradewind.core.divisible.settings import Settings
from tradewind.live.divisible.desk import Desk
from tradewind.live.store.errors import StoreError
from tradewind.live.store.port import Durability
from tradewind.live.store.sql import Session
from tradewind.live.store.sqlite import SqliteSession
from tradewind.model.units import SECOND, Duration

_PATIENCE = 10 * SECOND


def open_desk(
    where: str | Path,
    settings: Settings | None = None,
    *,
    durability: Durability = "strict",
    patience: Duration = _PATIENCE,
) -> Desk:
    """A desk over a store in a file or in PostgreSQL; see `tradewind.live.store.open`."""
    return Desk(open_session(str(where), durability, patience), settings or Settings())


def open_session(where: str, durability: Durability, patience: Duration) -> Session:
    """A connection that writes."""
    scheme, _, rest = where.partition(":")
    if scheme in ("postgresql", "postgres", "postgresql+psycopg"):
        from tradewind.live.store.postgres import PostgresSession  # noqa: PLC0415  not everybody has psycopg

        return PostgresSession(f"postgresql:{rest}", durability, patience)
    if scheme == "memory":
        raise StoreError("divisible jobs need a store in a file or in PostgreSQL; name one")
    return SqliteSession(Path(where.removeprefix("sqlite:///")), durability, patience)
