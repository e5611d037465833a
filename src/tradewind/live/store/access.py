"""Who may do what: tenants, tokens and the audit log, as they are kept in the store.

Tokens are kept as digests only. What changes here is written in transactions of its own, between batches of the
driver; keys of submissions are the exception: they are saved with the run (see `port.Changes`) and only read here.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from tradewind.live.store.readers import Readers
from tradewind.live.store.rows import KeyRow
from tradewind.live.store.sql import Session, SqlStore
from tradewind.live.store.statements import Rows, Write
from tradewind.model.tenant import Tenant
from tradewind.model.units import Duration, Money, Time

Row = TypeVar("Row")


class TenantRow(NamedTuple):
    """A tenant, what may be spent for it, and how much it may hand in."""

    name: str
    budget: Money | None
    interval: Duration
    weight: float
    max_active_runs: int | None
    max_tasks: int | None
    """Over all its active runs."""
    created: Time
    max_machines: int | None = None
    """Held at once, of whatever type."""

    @property
    def tenant(self) -> Tenant:
        """The part of it that the core knows."""
        return Tenant(self.name, self.budget, self.interval, self.weight, self.max_machines)


class TokenRow(NamedTuple):
    """A token by its digest; the token itself is nowhere."""

    id: str
    digest: str
    name: str
    tenant: str | None
    """None: of no tenant, as administrators may be."""
    role: str
    created: Time
    expires: Time | None
    used: Time | None


class AuditRow(NamedTuple):
    """Something that somebody changed, or tried to."""

    number: int
    at: Time
    token: str | None
    tenant: str | None
    action: str
    target: str
    outcome: int
    """Status of the answer."""
    address: str


_INT, _TEXT, _FLOAT = "int8", "text", "float8"
_TENANTS = Write(
    "tenants",
    tuple(zip(TenantRow._fields, (_TEXT, _INT, _INT, _FLOAT, _INT, _INT, _INT, _INT), strict=True)),
    key=("name",),
)
_TOKENS = Write(
    "tokens",
    tuple(zip(TokenRow._fields, (_TEXT, _TEXT, _TEXT, _TEXT, _TEXT, _INT, _INT, _INT), strict=True)),
    key=("id",),
)
_AUDIT = Write(
    "audit",
    tuple(zip(AuditRow._fields, (_INT, _INT, _TEXT, _TEXT, _TEXT, _TEXT, _INT, _TEXT), strict=True)),
    key=("number",),
)
WRITES = (_TENANTS, _TOKENS, _AUDIT)


def _all(write: Write, rest: str = "") -> str:
    return f"SELECT {', '.join(write.names)} FROM {write.table} {rest}"  # noqa: S608  names of our own


class Access:
    """Tenants, tokens, keys and the audit log of one store."""

    def __init__(self, store: SqlStore, readers: Readers) -> None:
        self._store = store
        self._readers = readers

    # Tenants

    def tenants(self) -> list[TenantRow]:
        """All tenants, by name."""
        return self._rows(TenantRow._make, _all(_TENANTS, "ORDER BY name"))

    def put_tenant(self, row: TenantRow) -> None:
        """Keep a tenant, new or changed."""
        self._write(_TENANTS, [row])

    def drop_tenant(self, name: str) -> None:
        """Forget a tenant and its tokens."""

        def work(session: Session) -> None:
            session.change("DELETE FROM tokens WHERE tenant = :name", name=name)
            session.change("DELETE FROM tenants WHERE name = :name", name=name)

        self._store.transact(work)

    # Tokens

    def tokens(self) -> list[TokenRow]:
        """All tokens, oldest first."""
        return self._rows(TokenRow._make, _all(_TOKENS, "ORDER BY created, id"))

    def token(self, id: str) -> TokenRow | None:
        """A token by its public id."""
        rows = self._rows(TokenRow._make, _all(_TOKENS, "WHERE id = :id"), id=id)
        return rows[0] if rows else None

    def put_token(self, row: TokenRow) -> None:
        """Keep a token."""
        self._write(_TOKENS, [row])

    def drop_token(self, id: str) -> bool:
        """Revoke a token; whether there was one."""
        return bool(self._store.transact(lambda session: session.change("DELETE FROM tokens WHERE id = :id", id=id)))

    def use_tokens(self, used: dict[str, Time]) -> None:
        """Note when tokens were last used."""

        def work(session: Session) -> None:
            for id, at in used.items():
                session.change("UPDATE tokens SET used = :at WHERE id = :id", at=at, id=id)

        self._store.transact(work)

    # The audit log

    def note(self, rows: Sequence[AuditRow]) -> None:
        """Add to the audit log; numbers are given here."""

        def work(session: Session) -> None:
            ((last,),) = session.fetch("SELECT MAX(number) FROM audit")
            first = 0 if last is None else last + 1
            session.write(_AUDIT, [row._replace(number=first + at) for at, row in enumerate(rows)])

        self._store.transact(work)

    def audit(self, before: int | None, limit: int) -> list[AuditRow]:
        """What was changed, newest first, behind a number."""
        where = "" if before is None else "WHERE number < :before "
        return self._rows(
            AuditRow._make, _all(_AUDIT, f"{where}ORDER BY number DESC LIMIT :limit"), before=before, limit=limit
        )

    def forget_audit(self, before: Time) -> int:
        """Remove what was noted before a time; how much."""
        return self._store.transact(lambda session: session.change("DELETE FROM audit WHERE at < :at", at=before))

    # Keys of submissions

    def key(self, tenant: str, key: str) -> KeyRow | None:
        """What was handed in under a key."""
        statement = "SELECT tenant, key, digest, run, at FROM keys WHERE tenant = :tenant AND key = :key"
        rows = self._rows(KeyRow._make, statement, tenant=tenant, key=key)
        return rows[0] if rows else None

    def _rows(self, make: Callable[[Sequence[object]], Row], statement: str, **values: object) -> list[Row]:
        return [make(row) for row in self._readers.fetch(statement, **values)]

    def _write(self, write: Write, rows: Rows) -> None:
        self._store.transact(lambda session: session.write(write, rows))
