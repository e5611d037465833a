"""The door that calls of shares pass: the lease is checked before a body is read, and reports go around the routes.

Reports are almost all that ever comes, and finding a route costs more than answering (benchmark `divisible`). They are
checked and answered as the route `report` does it, which describes them; a test compares the two.
"""

import re

import orjson
from fastapi import FastAPI
from pydantic import ValidationError
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tradewind.live.acting import SHARES
from tradewind.live.objects import PREFIX
from tradewind.live.service import StoppedError
from tradewind.live.shares import LARGEST_BODY, ReportBody, ShareCallError
from tradewind.live.store.errors import StoreUnavailableError
from tradewind.server import problems
from tradewind.server.auth import Caller, Role
from tradewind.server.buckets import Buckets
from tradewind.server.context import Context
from tradewind.server.limits import too_many
from tradewind.server.problems import Problem

_CALL = re.compile(rf"{SHARES}/(\d{{1,12}}\.\d{{1,9}})/(\w+)")
_LET_IN = Caller(Role.VIEWER, None)
"""Tells connections that the sender of a body is known."""
_REFUSALS = frozenset({401, 403, 404, 413, 429})
_LONGEST = 200
"""Characters of a lease."""

Headers = dict[bytes, bytes]


class Door:
    """Passes calls of shares to their application, and everything else to another one."""

    def __init__(self, app: ASGIApp, shares: FastAPI, context: Context) -> None:
        settings = context.settings.server
        self._app = app
        self._shares = shares
        self._service = context.service
        self._note = context.audit.note
        self._rates = Buckets(settings.rate, settings.burst, most=100_000)
        self._failures = Buckets(settings.failed_rate, 10 * settings.failed_rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """By the beginning of the path."""
        if scope["type"] != "http" or not scope["path"].startswith((SHARES, PREFIX)):
            await self._app(scope, receive, send)
        elif scope["path"].startswith(PREFIX):  # an address is checked before its body is read
            await self._shares(scope, receive, send)
        else:
            await self._let_in(scope, receive, send)

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            headers = dict(scope["headers"])
            name, verb = self._check(scope, headers)
            scope.setdefault("state", {})["caller"] = _LET_IN
            body = _counted(receive) if b"transfer-encoding" in headers else receive
            if verb == "report" and scope["method"] == "POST" and headers.get(b"accept") != b"text/plain":
                await self._report(name, scope, body, send)
            else:
                await self._shares(scope, body, send)
        except ClientDisconnect:
            return  # there is no one to answer
        except Problem as error:
            if error.status_code in _REFUSALS:
                self._note(None, scope["method"], scope["path"], error.status_code, _address(scope))
            refusal = problems.response(error.status_code, error.detail, scope["path"], headers=error.headers)
            await refusal(scope, receive, send)
        except (StoppedError, StoreUnavailableError) as error:
            refusal = problems.response(503, str(error), scope["path"], headers={"Retry-After": "1"})
            await refusal(scope, receive, send)

    def _check(self, scope: Scope, headers: Headers) -> tuple[str, str]:
        """Refuse wrong leases, calls that come too often and bodies that are too large."""
        address = _address(scope)
        if self._failures.is_empty(address):
            raise too_many(1.0)
        kind, _, shown = headers.get(b"authorization", b"").partition(b" ")
        lease = shown.strip().decode("latin-1") if kind.lower() == b"bearer" else ""
        if not lease or len(lease) > _LONGEST:
            self._failures.take(address)
            raise Problem(401, "a lease is needed: Authorization: Bearer …", headers={"WWW-Authenticate": "Bearer"})
        found = _CALL.fullmatch(scope["path"])
        if found is None or not self._service.answering.is_lease(found[1], lease):
            self._failures.take(address)
            raise Problem(404, "there is no such share, or the lease is not this one")
        if wait := self._rates.take(found[1]):
            raise too_many(wait)
        length = headers.get(b"content-length", b"")
        if length.isdigit() and int(length) > LARGEST_BODY:
            raise _too_large()
        return found[1], found[2]

    async def _report(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        content = await _read(receive)
        try:
            body = ReportBody.model_validate_json(content)
        except ValidationError:  # the route says what is wrong
            await self._shares(scope, _again(content, receive), send)
            return
        try:
            told = orjson.dumps(await self._service.answering.report(name, body))
        except ShareCallError as error:
            refusal = problems.response(error.status, str(error), scope["path"], type=error.type)
            await refusal(scope, receive, send)
            return
        head = [(b"content-type", b"application/json"), (b"content-length", str(len(told)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": told})


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


def _too_large() -> Problem:
    words = f"at most {LARGEST_BODY >> 20} MB are taken; upload larger results"
    return Problem(413, words, headers={"Connection": "close"})  # the rest of it is not read


async def _read(receive: Receive) -> bytes:
    """All of a body."""
    content = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        content += message.get("body", b"")
        if not message.get("more_body", False):
            return bytes(content)


def _again(content: bytes, receive: Receive) -> Receive:
    """A body that was read, to be read once more."""
    is_told = False

    async def told() -> Message:
        nonlocal is_told
        if is_told:
            return await receive()
        is_told = True
        return {"type": "http.request", "body": content, "more_body": False}

    return told


def _counted(receive: Receive) -> Receive:
    left = LARGEST_BODY

    async def counting() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise _too_large()
        return message

    return counting
