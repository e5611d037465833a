"""Tokens of sites: each lets one site in, and nobody else; only digests are kept."""

import secrets
from hashlib import sha256
from hmac import compare_digest
from typing import NamedTuple

import orjson

from tradewind.core.divisible.turn import Turn
from tradewind.live.divisible import statements as sql
from tradewind.live.divisible.book import SqlBook
from tradewind.model.units import Time

_MARK = "tws"


class SiteToken(NamedTuple):
    """What is kept of a token."""

    id: str
    digest: str
    site: str
    tenants: tuple[str, ...]
    owner: str | None
    """The tenant who made it; None: an administrator."""
    created: Time
    expires: Time | None


def make(
    turn: Turn, site: str, tenants: tuple[str, ...], owner: str | None, expires: Time | None
) -> tuple[str, SiteToken]:
    """A token, to be shown once, and what is kept of it."""
    id = secrets.token_hex(6)
    token = f"{_MARK}_{id}_{secrets.token_urlsafe(32)}"
    row = SiteToken(id, _digest(token), site, tenants, owner, turn.now, expires)
    values = row._asdict() | {"tenants": orjson.dumps(tenants).decode()}
    _book(turn).session.change(sql.NEW_SITE_TOKEN, **values)
    return token, row


def known(turn: Turn, token: str) -> SiteToken | None:
    """What a token stands for, if it is ours and has not expired."""
    parts = token.split("_", 2)
    if len(parts) != 3 or parts[0] != _MARK or len(token) > 200 or not parts[1].isascii() or not parts[1].isalnum():
        return None
    rows = _book(turn).session.fetch(sql.SITE_TOKEN, id=parts[1])
    if not rows or not compare_digest(rows[0][1], _digest(token)):
        return None
    row = _row(rows[0])
    return row if row.expires is None or row.expires > turn.now else None


def every(turn: Turn) -> list[SiteToken]:
    """All tokens, oldest first."""
    return [_row(row) for row in _book(turn).session.fetch(sql.SITE_TOKENS)]


def drop(turn: Turn, id: str) -> None:
    """Let a site in no longer."""
    _book(turn).session.change(sql.DROP_SITE_TOKEN, id=id)


def _row(row: tuple[object, ...]) -> SiteToken:
    id, digest, site, tenants, owner, created, expires = row
    return SiteToken(id, digest, site, tuple(orjson.loads(str(tenants))), owner, created, expires)  # type: ignore[arg-type]


def _digest(token: str) -> str:
    return sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def _book(turn: Turn) -> SqlBook:
    assert isinstance(turn.book, SqlBook)  # noqa: S101  a desk has no other
    return turn.book
