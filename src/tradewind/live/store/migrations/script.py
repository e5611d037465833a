"""Write the script that makes a new SQLite store: `python -m tradewind.live.store.migrations.script`."""

from pathlib import Path

from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable, DDLElement

from tradewind.live.store.schema import KNOWN, TABLE
from tradewind.live.store.tables import metadata

FILE = Path(__file__).with_name("new_sqlite.sql")


def script() -> str:
    """All tables and indexes at the latest version."""
    dialect = sqlite.dialect()
    statements = [
        f"CREATE TABLE {TABLE} (version_num VARCHAR(32) NOT NULL, CONSTRAINT {TABLE}_pkc PRIMARY KEY (version_num))",
        f"INSERT INTO {TABLE} VALUES ('{KNOWN[-1]}')",  # noqa: S608  a name of our own
    ]
    for table in metadata.sorted_tables:
        if "sqlite" in table.info:  # SQLAlchemy has no words for full-text tables
            statements.append(table.info["sqlite"])
            continue
        made: list[DDLElement] = [
            CreateTable(table),
            *(CreateIndex(index) for index in sorted(table.indexes, key=lambda i: str(i.name))),
        ]
        statements += [str(statement.compile(dialect=dialect)).strip() for statement in made]
    return "".join(f"{' '.join(statement.split())};\n" for statement in statements)


if __name__ == "__main__":
    FILE.write_text(script())
