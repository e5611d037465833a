"""The version of the tables, and how a store gets there.

A new SQLite store is made by a script, and a current one is recognised by one query, both without loading Alembic,
which takes half a second. Everything else goes through the migrations; a test holds the script and their result
together.
"""

from functools import cache
from importlib.resources import files

from tradewind.live.store.errors import NewerStoreError, StoreError

TABLE = "tradewind_version"
"""Alembic's table under a name of our own, as others may use the same PostgreSQL database."""

VERSION = f"SELECT version_num FROM {TABLE}"  # noqa: S608  a name of our own
"""Where a store stands."""

KNOWN = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009")
"""All versions, oldest first."""

_LOCK = 7_273_018_201
"""Any number, the same in every process, under which PostgreSQL lets one of them migrate."""


def is_current(version: str | None, where: str) -> bool:
    """Whether a store needs no migration; one from the future is refused."""
    if version is not None and version not in KNOWN:
        raise NewerStoreError(where, version, KNOWN[-1])
    return version == KNOWN[-1]


@cache
def sqlite_script() -> tuple[str, ...]:
    """The statements that make a new SQLite store."""
    text = files("tradewind.live.store.migrations").joinpath("new_sqlite.sql").read_text()
    return tuple(statement for statement in text.split(";\n") if statement.strip())


def upgrade(url: str, where: str) -> None:
    """Bring a store to the latest version in one transaction, one process at a time."""
    from alembic import command  # noqa: PLC0415  half a second, for what is seldom needed
    from alembic.config import Config  # noqa: PLC0415
    from sqlalchemy import event, exc, text  # noqa: PLC0415

    from tradewind.live.store.reading import connectable  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", "tradewind.live.store:migrations")
    engine = connectable(url)
    is_sqlite = engine.dialect.name == "sqlite"
    if is_sqlite:
        event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    try:
        with engine.begin() as connection:
            if not is_sqlite:
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except exc.DBAPIError as error:
        raise StoreError(f"{where}: cannot be upgraded ({error.orig}); check that its user may make tables") from error
    finally:
        engine.dispose()
