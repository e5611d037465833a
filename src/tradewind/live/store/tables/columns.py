"""What the tables of all three files are made with."""

from sqlalchemy import BigInteger, Column, MetaData
from sqlalchemy.dialects.sqlite import INTEGER

metadata = MetaData()

Number = BigInteger().with_variant(INTEGER(), "sqlite")
"""In SQLite a key is stored as the row's own number only if its type is spelt INTEGER."""


def number(name: str, *, nullable: bool = False) -> Column[int]:
    """A column of whole numbers that we choose ourselves."""
    return Column(name, Number, nullable=nullable, autoincrement=False)
