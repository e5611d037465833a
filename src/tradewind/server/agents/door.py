"""The door that every call of an agent passes: its token, how often it calls, and how large the call is.

The token is checked before the body is read. Refusals and what changes an agent are noted in the audit log; routine
calls are not.
"""

import re

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tradewind.live.loop import wall_clock
from tradewind.live.store.agent_tokens import AgentToken, token_id
from tradewind.live.store.errors import StoreUnavailableError
from tradewind.server import problems
from tradewind.server.auth import Caller, Role
from tradewind.server.buckets import Buckets
from tradewind.server.context import Context
from tradewind.server.limits import too_many
from tradewind.server.problems import Problem

PREFIX = "/agent/v1"
LARGEST = 20 << 20
"""Bytes of a call; files have a limit of their own."""
_AGENT = re.compile(rf"{PREFIX}/agents/([^/]+)(/.*)?")
_FILES = re.compile(rf"{PREFIX}/agents/[^/]+/attempts/[^/]+/files/.*")
_LONGEST = 200
"""Characters of a token."""
_MOST_FAMILIAR = 10_000
_NOTED = frozenset({401, 403, 404, 409, 413})
_UNKNOWN = "the token is not known, has expired, or is another agent's"


class Door:
    """Lets the calls of agents in."""

    def __init__(self, inside: ASGIApp, context: Context) -> None:
        settings = context.settings
        self._inside = inside
        self._context = context
        self._rates = Buckets(settings.server.rate, settings.server.burst)
        self._failures = Buckets(settings.server.failed_rate, 10 * settings.server.failed_rate)
        self._most = settings.server.most_pending
        self._strangers = 0
        """Calls on their way whose token is being looked up for the first time."""
        self._familiar: dict[str, None] = {}
        """Tokens that were valid when last seen: guesses from the same address do not hold them up."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a call on, or refuse it."""
        answered = _Answered(send)
        row: AgentToken | None = None
        try:
            row = await self._admitted(scope)
            state = scope.setdefault("state", {})
            state["agent"], state["caller"] = row, Caller(Role.VIEWER, None, row.id)
            await self._inside(scope, self._limited(scope, receive), answered)
        except ClientDisconnect:
            return  # there is nobody to answer
        except (Problem, StoreUnavailableError) as error:
            await _refusal(scope, error)(scope, receive, answered)
        method = scope["method"]
        if answered.status in _NOTED or (method in ("PUT", "DELETE") and not _FILES.fullmatch(scope["path"])):
            caller = None if row is None else Caller(Role.VIEWER, None, row.id)
            self._context.audit.note(caller, method, scope["path"], answered.status, _address(scope))

    async def _admitted(self, scope: Scope) -> AgentToken:
        """The token of a call; refused before anything of its body is read."""
        kind, _, shown = dict(scope["headers"]).get(b"authorization", b"").partition(b" ")
        token = shown.strip().decode("latin-1") if kind.lower() == b"bearer" else ""
        address = _address(scope)
        if not token or len(token) > _LONGEST or token_id(token) is None:
            if self._failures.take(address):
                raise too_many(1.0)
            reason = _UNKNOWN if token else "a token is needed: Authorization: Bearer twa_…"
            raise Problem(401, reason, headers={"WWW-Authenticate": "Bearer"})
        is_familiar = token in self._familiar
        if not is_familiar and (self._strangers >= self._most or self._failures.is_empty(address)):
            raise too_many(1.0)
        self._strangers += not is_familiar
        try:
            row = await self._context.look(self._context.agent_tokens.known, token, wall_clock())
        finally:
            self._strangers -= not is_familiar
        place = _AGENT.fullmatch(scope["path"])
        if row is None or (place is not None and place[1] != row.agent):
            self._familiar.pop(token, None)
            self._failures.take(address)
            raise Problem(401, _UNKNOWN, headers={"WWW-Authenticate": "Bearer"})
        if not is_familiar:
            if len(self._familiar) >= _MOST_FAMILIAR:
                del self._familiar[next(iter(self._familiar))]
            self._familiar[token] = None
        if wait := self._rates.take(row.id):  # only now: the id alone is no secret
            raise too_many(wait)
        return row

    def _limited(self, scope: Scope, receive: Receive) -> Receive:
        """The body of a call, as far as it is not too large."""
        most = self._context.settings.agents.largest_file if _FILES.fullmatch(scope["path"]) else LARGEST
        length = dict(scope["headers"]).get(b"content-length", b"")
        if length.isdigit() and int(length) > most:
            raise _too_large(most)
        left = most

        async def counting() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise _too_large(most)
            return message

        return counting


class _Answered:
    """Passes an answer on, and knows its status."""

    __slots__ = ("_send", "status")

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 499

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self._send(message)


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


def _refusal(scope: Scope, error: Problem | StoreUnavailableError) -> Response:
    if isinstance(error, StoreUnavailableError):
        return problems.response(503, str(error), scope["path"], headers={"Retry-After": "1"})
    return problems.response(error.status_code, error.detail, scope["path"], headers=error.headers, type=error.type)


def _too_large(most: int) -> Problem:
    return Problem(413, f"at most {most:,} bytes are accepted", headers={"Connection": "close"})
