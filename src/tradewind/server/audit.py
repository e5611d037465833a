"""The audit log: who changed what, or tried to; written in batches, so that nobody waits for it."""

from tradewind.live.loop import wall_clock
from tradewind.live.store.access import Access, AuditRow
from tradewind.live.store.coding import clean
from tradewind.server.auth import Caller, Tokens
from tradewind.server.buckets import Buckets

_MOST = 10_000
"""Entries that wait to be written; more are counted only, for whoever floods the log must not fill the memory."""


class Audit:
    """Collects entries until somebody writes them."""

    def __init__(self, access: Access, tokens: Tokens, rate: float) -> None:
        self.dropped = 0
        """Entries that were not written."""
        self._strangers = Buckets(rate, 10 * rate)
        """Entries for callers without a valid token, by address: a flood of requests must not fill the store."""
        self._access = access
        self._tokens = tokens
        self._waiting: list[AuditRow] = []

    def note(self, caller: Caller | None, method: str, path: str, status: int, address: str) -> None:
        """Somebody asked for a change."""
        if len(self._waiting) >= _MOST or (caller is None and self._strangers.take(address)):
            self.dropped += 1
            return
        token, tenant = (None, None) if caller is None else (caller.token, caller.tenant)
        target = clean(path)[:300]
        self._waiting.append(
            AuditRow(-1, wall_clock(), token, tenant, f"{method} {_verb(target)}", target, status, address)
        )

    def write(self) -> None:
        """Write what has come together, and when tokens were used; in a thread."""
        waiting, self._waiting = self._waiting, []
        used, self._tokens.used = self._tokens.used, {}
        try:
            if waiting:
                self._access.note(waiting)
            if used:
                self._access.use_tokens(used)
        except BaseException:
            self._waiting = waiting + self._waiting
            self._tokens.used = used | self._tokens.used
            raise


def _verb(path: str) -> str:
    """What is done, without whom it is done to: `runs/cancel`."""
    for prefix in ("/api/v1/", "/agent/v1/", "/worker/v1/"):
        if path.startswith(prefix):
            return "/".join(path.removeprefix(prefix).split("/")[::2])[:60]
    return path[:60]
