"""The gate that every request passes: who it is, how often, how large; and what becomes of its errors.

Plain ASGI, for it runs thousands of times a second. A body is counted while it comes in, whatever its length was said
to be.
"""

import secrets
import time
from collections.abc import Mapping
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tradewind.live.store.errors import StoreUnavailableError
from tradewind.server import browsers, problems
from tradewind.server.auth import ANYBODY, Caller
from tradewind.server.buckets import Buckets
from tradewind.server.context import Context
from tradewind.server.problems import Problem

_OPEN = frozenset({"/healthz", "/readyz", "/openapi.json", "/docs", "/"})
"""What anybody may see."""
_SUBMISSION = "/api/v1/runs"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]
_LONGEST = 8192
"""Characters of a path with its query."""


class Gate:
    """Lets requests in."""

    def __init__(self, app: ASGIApp, context: Context) -> None:
        self._app = app
        self._context = context
        settings = context.settings.server
        self._is_open = not settings.auth
        self._largest = settings.largest_request
        self._largest_submission = settings.largest_submission
        self._rates = Buckets(settings.rate, settings.burst)
        self._failures = Buckets(settings.failed_rate, 10 * settings.failed_rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        visit = _Visit(scope, send)
        try:
            refusal = await self._refusal(visit)
            if refusal is not None:
                await refusal(scope, receive, visit.send)
            else:
                await self._app(scope, self._counted(scope, visit, receive), visit.send)
        except ClientDisconnect:
            pass  # there is nobody to answer
        except Exception as error:
            if visit.status:
                raise
            await self._answer(error, visit)(scope, receive, visit.send)
        finally:
            self._note(visit)

    def _answer(self, error: Exception, visit: "_Visit") -> Response:
        if isinstance(error, Problem):
            return problems.response(error.status_code, error.detail, visit.path, headers=error.headers)
        if isinstance(error, StoreUnavailableError):
            return problems.response(503, str(error), visit.path, headers={"Retry-After": "1"})
        return problems.unexpected(visit.path, error, visit.id)

    async def _refusal(self, visit: "_Visit") -> Response | None:
        """Why a request is not let in, or None."""
        scope = visit.scope
        if len(scope["raw_path"] or b"") + len(scope["query_string"]) > _LONGEST:
            return problems.response(422, f"the address has more than {_LONGEST} characters", visit.path[:200])
        if visit.path in _OPEN:
            return None
        if self._is_open:
            browsers.check(scope["scheme"], scope["method"], visit.headers)
        caller = ANYBODY if self._is_open else await self._known_caller(visit)
        if isinstance(caller, Response):
            return caller
        visit.caller = scope.setdefault("state", {})["caller"] = caller
        wait = self._rates.take(caller.token or visit.address)
        if wait:
            raise too_many(wait)
        length = visit.headers.get(b"content-length")
        if length is not None and length.isdigit() and int(length) > self._limit(visit):
            return problems.response(413, f"at most {self._limit(visit):,} bytes are taken", visit.path)
        return None

    async def _known_caller(self, visit: "_Visit") -> Caller | Response:
        tokens = self._context.tokens
        kind, _, token = visit.headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        caller = tokens.cached(token) if kind.lower() == "bearer" else False
        if not isinstance(caller, Caller) and self._failures.is_empty(visit.address) and not tokens.is_familiar(token):
            raise too_many(1.0)  # whoever guesses from the same address as others does them no harm
        if caller is True:
            await self._context.look(tokens.look_up, token)
            caller = tokens.cached(token)
        if isinstance(caller, Caller):
            return caller
        self._failures.take(visit.address)
        reason = "the token is not known, or has expired" if token else "a token is needed: Authorization: Bearer tw_…"
        return problems.response(401, reason, visit.path, headers={"WWW-Authenticate": "Bearer"})

    def _limit(self, visit: "_Visit") -> int:
        return self._largest_submission if visit.path == _SUBMISSION else self._largest

    def _counted(self, scope: Scope, visit: "_Visit", receive: Receive) -> Receive:
        if scope["method"] in _SAFE:
            return receive
        left = self._limit(visit)

        async def counting() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise Problem(413, f"at most {self._limit(visit):,} bytes are taken")
            return message

        return counting

    def _note(self, visit: "_Visit") -> None:
        method, context = visit.scope["method"], self._context
        context.metrics.answered(method, visit.status or 499, time.perf_counter() - visit.began)
        if method not in _SAFE or visit.status in (401, 403):
            context.audit.note(visit.caller, method, visit.path, visit.status or 499, visit.address)


class _Visit:
    """A request on its way through."""

    __slots__ = ("_send", "began", "caller", "headers", "id", "path", "scope", "status")

    def __init__(self, scope: Scope, send: Send) -> None:
        self.scope = scope
        self.path: str = scope["path"]
        self.headers: Mapping[bytes, bytes] = dict(scope["headers"])
        self.id = secrets.token_hex(8)
        self.status = 0
        self.caller: Caller | None = None
        self.began = time.perf_counter()
        self._send = send

    @property
    def address(self) -> str:
        """Where it comes from."""
        client = self.scope.get("client")
        return str(client[0]) if client else ""

    async def send(self, message: Any) -> None:
        """Pass an answer on, with what every answer carries."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), (b"x-request-id", self.id.encode()), *_HEADERS]
            if self.status == 413:
                message["headers"].append((b"connection", b"close"))  # or the rest would still be read
        await self._send(message)


def too_many(wait: float) -> Problem:
    """Refuse somebody for so many seconds."""
    seconds = max(1, round(wait + 0.5))
    return Problem(429, f"too many requests; try again in {seconds} s", headers={"Retry-After": str(seconds)})
