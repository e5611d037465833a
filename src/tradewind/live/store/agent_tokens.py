"""Tokens of agents, as they are kept in the store: digests only. A token lets one agent in, for some tenants.

The name of an agent stays reserved for the tenant who made its first token, even after all of them are revoked.
"""

import secrets
from collections.abc import Sequence
from hashlib import sha256
from hmac import compare_digest
from typing import NamedTuple

from tradewind.live.store import coding
from tradewind.live.store.readers import Readers
from tradewind.live.store.sql import Session, SqlStore
from tradewind.model.units import Time

_MARK = "twa"
_MARKS = (_MARK, "tws")
"""The second one was that of tokens for sites."""
_LONGEST = 200
_COLUMNS = "id, digest, agent, tenants, owner, created, expires"


class AgentToken(NamedTuple):
    """What is kept of a token."""

    id: str
    digest: str
    """Empty: it is revoked, and keeps the name of its agent reserved."""
    agent: str
    tenants: tuple[str, ...]
    """Tenants that the agent serves; none: every tenant."""
    owner: str | None
    """The tenant who made it; None: an administrator."""
    created: Time
    expires: Time | None


class NameTakenError(Exception):
    """The name of an agent belongs to another tenant."""


class AgentTokens:
    """The tokens of one store."""

    def __init__(self, store: SqlStore, readers: Readers) -> None:
        self._store = store
        self._readers = readers

    def known(self, token: str, now: Time) -> AgentToken | None:
        """What a token stands for, if it is one of ours, not revoked and not expired."""
        id = token_id(token)
        if id is None:
            return None
        rows = self._readers.fetch(f"SELECT {_COLUMNS} FROM agent_tokens WHERE id = :id", id=id)  # noqa: S608 - ours
        row = _row(rows[0]) if rows else None
        if row is None or not compare_digest(row.digest, _digest(token)):
            return None
        return None if row.expires is not None and row.expires <= now else row

    def every(self) -> list[AgentToken]:
        """All tokens that are not revoked, oldest first."""
        statement = f"SELECT {_COLUMNS} FROM agent_tokens WHERE digest <> '' ORDER BY created, id"  # noqa: S608 - ours
        return [_row(row) for row in self._readers.fetch(statement)]

    def make(
        self, agent: str, tenants: Sequence[str], owner: str | None, now: Time, expires: Time | None
    ) -> tuple[str, AgentToken]:
        """A token, to be shown once, and what is kept of it."""
        id = secrets.token_hex(6)
        token = f"{_MARK}_{id}_{secrets.token_urlsafe(32)}"
        row = AgentToken(id, _digest(token), agent, tuple(tenants), owner, now, expires)

        def work(session: Session) -> None:
            owners = session.fetch("SELECT owner FROM agent_tokens WHERE agent = :agent", agent=agent)
            if any(other != owner for (other,) in owners):
                raise NameTakenError(f"another agent is or was called {agent!r}; choose another name")
            session.change(
                f"INSERT INTO agent_tokens ({_COLUMNS}) "  # noqa: S608 - ours
                "VALUES (:id, :digest, :agent, :tenants, :owner, :created, :expires)",
                **row._asdict() | {"tenants": coding.to_text(list(tenants))},
            )

        self._store.transact(work)
        return token, row

    def revoke(self, token: AgentToken) -> None:
        """Let an agent in no longer by a token."""

        def work(session: Session) -> None:
            session.change("UPDATE agent_tokens SET digest = '' WHERE id = :id", id=token.id)
            session.change(  # one row is enough to keep a name
                "DELETE FROM agent_tokens WHERE agent = :agent AND digest = '' AND id <> :id",
                agent=token.agent,
                id=token.id,
            )

        self._store.transact(work)


def token_id(token: str) -> str | None:
    """The public part of what looks like the token of an agent."""
    parts = token.split("_", 2)
    if len(parts) != 3 or parts[0] not in _MARKS or len(token) > _LONGEST:
        return None
    return parts[1] if parts[1].isascii() and parts[1].isalnum() else None


def _row(row: Sequence[object]) -> AgentToken:
    id, digest, agent, tenants, owner, created, expires = row
    return AgentToken(id, digest, agent, tuple(coding.from_text(str(tenants))), owner, created, expires)  # type: ignore[arg-type]


def _digest(token: str) -> str:
    return sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
