"""How tables come to be, and which ones are refused."""

import sqlite3
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from store_places import ended_server, new_database  # noqa: F401
from store_samples import crash_batch

from tradewind.live.store import statements, tables
from tradewind.live.store.errors import NewerStoreError
from tradewind.live.store.migrations import script
from tradewind.live.store.open import open_store
from tradewind.live.store.reading import connectable
from tradewind.live.store.schema import KNOWN, TABLE, sqlite_script, upgrade
from tradewind.live.store.statements import Write


def _shape(path: Path) -> list[Any]:
    connection = sqlite3.connect(path)
    try:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master ORDER BY name")]
        return [
            (name, connection.execute(f"PRAGMA table_xinfo({name})").fetchall(), _index(connection, name))
            for name in names
        ] + connection.execute("PRAGMA table_list").fetchall()
    finally:
        connection.close()


def _index(connection: sqlite3.Connection, name: str) -> list[Any]:
    return [
        sorted(row[1:] for row in connection.execute(f"PRAGMA index_list({name})")),  # in whatever order they were made
        connection.execute(f"PRAGMA index_info({name})").fetchall(),
        *connection.execute("SELECT sql LIKE '%WHERE%' FROM sqlite_master WHERE name = ?", (name,)).fetchall(),
    ]


def test_the_script_for_a_new_file_is_what_the_tables_say() -> None:
    assert script.FILE.read_text() == script.script(), "run python -m tradewind.live.store.migrations.script"
    assert all(statement.startswith(("CREATE ", "INSERT ")) for statement in sqlite_script())


def test_migrations_from_nothing_give_what_the_script_gives(tmp_path: Path) -> None:
    open_store(tmp_path / "scripted.db").close()
    upgrade(f"sqlite:///{tmp_path}/migrated.db", "migrated")
    scripted, migrated = _shape(tmp_path / "scripted.db"), _shape(tmp_path / "migrated.db")
    assert sorted(map(repr, migrated)) == sorted(map(repr, scripted))
    store = open_store(tmp_path / "migrated.db")
    store.save(crash_batch(0))
    store.close()


def test_migrations_on_postgres_give_what_the_tables_say() -> None:
    where = new_database(is_empty=True)
    open_store(where).close()
    engine = connectable(where.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": TABLE, "compare_type": True})
        assert compare_metadata(context, tables.metadata) == []
        options = connection.exec_driver_sql("SELECT reloptions FROM pg_class WHERE relname = 'units'").scalar_one()
        assert options == ["fillfactor=70"]
    engine.dispose()


def test_the_known_versions_are_those_of_the_migrations() -> None:
    scripts = ScriptDirectory(str(script.FILE.parent))
    assert tuple(reversed([step.revision for step in scripts.walk_revisions()])) == KNOWN


def test_a_file_from_the_future_is_refused(tmp_path: Path) -> None:
    open_store(tmp_path / "store.db").close()
    with sqlite3.connect(tmp_path / "store.db") as connection:
        connection.execute("UPDATE tradewind_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(NewerStoreError, match=r"schema 9999; this one knows up to \d+\); upgrade Tradewind"):
        open_store(tmp_path / "store.db")


def test_a_database_from_the_future_is_refused() -> None:
    where = new_database()
    with psycopg.connect(where, autocommit=True) as connection:
        connection.execute("UPDATE tradewind_version SET version_num = '9999'")
    with pytest.raises(NewerStoreError, match="written by a newer Tradewind"):
        open_store(where)


@pytest.mark.parametrize("write", [value for value in vars(statements).values() if isinstance(value, Write)])
def test_rows_and_tables_agree(write: Write) -> None:
    table = tables.metadata.tables[write.table]
    assert tuple(column.name for column in table.primary_key) == write.key
    assert set(write.names) <= set(table.columns.keys())
    if not write.is_update:
        assert write.names == tuple(table.columns.keys())
