"""Who asks: bearer tokens, of which only digests are kept, and what their roles allow.

A token is 256 random bits, so a plain SHA-256 is as good as any slow hash: there is nothing to guess. Tenants see only
what is their own; anything else looks as if it were not there.
"""

import secrets
from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256
from hmac import compare_digest

from tradewind.live.loop import wall_clock
from tradewind.live.store.access import Access, TokenRow
from tradewind.model.units import SECOND, Time
from tradewind.server.problems import Problem

_MARK = "tw"
_FRESH = 2 * SECOND
"""How long another server may take to notice that a token was revoked."""
_MOST = 10_000


class Role(IntEnum):
    """What somebody may do; each may do what the ones before may."""

    VIEWER = 0
    """See."""
    USER = 1
    """See and change what belongs to the tenant."""
    ADMIN = 2
    """Everything, for everybody."""

    @property
    def word(self) -> str:
        """How people write it."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who was let in."""

    role: Role
    tenant: str | None
    """None: of no tenant; sees all of them."""
    token: str | None = None

    def sees(self, tenant: str) -> bool:
        """Whether something of a tenant is there for this caller."""
        return self.tenant is None or self.tenant == tenant

    def must_be(self, role: Role) -> None:
        """Refuse whose role is too small."""
        if self.role < role:
            raise Problem(403, f"this needs the role {role.word!r}; the token has {self.role.word!r}")

    def chooses(self, tenant: str | None) -> str | None:
        """The tenant whose things are asked for; None: all."""
        if self.tenant is None:
            return tenant
        if tenant not in (None, self.tenant):
            raise Problem(404, f"there is no tenant {tenant!r}")
        return self.tenant


ANYBODY = Caller(Role.ADMIN, None)
"""Whoever asks a server without access control."""


def new_token(
    name: str, role: Role, tenant: str | None, *, now: Time, expires: Time | None = None
) -> tuple[str, TokenRow]:
    """A token, to be shown once, and what is kept of it."""
    id = secrets.token_hex(6)
    token = f"{_MARK}_{id}_{secrets.token_urlsafe(32)}"
    return token, TokenRow(id, digest(token), name, tenant, role.word, now, expires, None)


def digest(token: str) -> str:
    """What is kept of a token."""
    return sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


class Tokens:
    """Recognises tokens; what was looked up is kept for a moment."""

    def __init__(self, access: Access) -> None:
        self.used: dict[str, Time] = {}
        """When tokens were last used, as far as it has not been written down."""
        self._access = access
        self._known: dict[str, tuple[Time, TokenRow | None]] = {}

    def cached(self, token: str) -> Caller | bool:
        """The caller with a token; False: there is none; True: the store has to be asked (`look_up`)."""
        id = _id_of(token)
        if id is None:
            return False
        entry = self._known.get(id)
        now = wall_clock()
        if entry is None or now - entry[0] > _FRESH:
            return True
        return self._judge(entry[1], token, now) or False

    def is_familiar(self, token: str) -> bool:
        """Whether a token was good when it was last seen."""
        entry = self._known.get(_id_of(token) or "")
        return entry is not None and entry[1] is not None and compare_digest(entry[1].digest, digest(token))

    def look_up(self, token: str) -> None:
        """Ask the store about a token; in a thread, for it may take a while."""
        id = _id_of(token) or ""
        row = self._access.token(id)
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[id] = (wall_clock(), row)

    def forget(self, id: str | None = None) -> None:
        """Something about a token, or about all, has changed."""
        if id is None:
            self._known.clear()
        else:
            self._known.pop(id, None)

    def _judge(self, row: TokenRow | None, token: str, now: Time) -> Caller | None:
        if row is None or not compare_digest(row.digest, digest(token)):
            return None
        if row.expires is not None and row.expires <= now:
            return None
        self.used[row.id] = now
        return Caller(Role[row.role.upper()], row.tenant, row.id)


def _id_of(token: str) -> str | None:
    parts = token.split("_", 2)
    if len(parts) != 3 or parts[0] != _MARK or len(parts[1]) != 12 or not parts[1].isalnum() or len(token) > 200:
        return None
    return parts[1] if parts[1].isascii() else None
