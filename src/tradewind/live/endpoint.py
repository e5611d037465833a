"""The calls of shares on loopback, for one session: no server, no extra packages.

It speaks as much HTTP/1.1 as shares need: requests with a length, one after the other on a connection.
"""

import asyncio
import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

import orjson
from pydantic import ValidationError

from tradewind.core.state import State
from tradewind.live.acting import SHARES
from tradewind.live.loop import wall_clock
from tradewind.live.objects import PREFIX, LocalObjects, ObjectError
from tradewind.live.shares import (
    LARGEST_OBJECT,
    FinishBody,
    ReportBody,
    ShareCallError,
    Shares,
    Tell,
    UploadBody,
    answer_lines,
    secret_of,
)
from tradewind.live.store.port import Lease, Store

_CALL = re.compile(rf"{SHARES}/(\d+\.\d+)/(start|report|uploads|finish|results)")
_REASONS = {200: "OK", 204: "No Content", 401: "Unauthorized", 404: "Not Found", 409: "Conflict", 413: "Too Large"}
_HEAD = 64 << 10
"""Bytes of the head of a request."""


class _Request(NamedTuple):
    method: str
    target: str
    headers: dict[str, str]
    content: bytes


class _Response(NamedTuple):
    status: int
    content: bytes = b""
    kind: str = "application/json"


class Endpoint:
    """Answers shares on this host until it is closed."""

    def __init__(self) -> None:
        self.shares: Shares | None = None
        """Who answers, once there is a driver."""
        self.address = ""
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Listen on a port of its own."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_HEAD)
        self.address = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def answer(self, state: State, store: Store, lease: Lease | None, folder: Path, tell: Tell) -> None:
        """Answer for a driver from now on."""
        secret = secret_of(store, lease)
        objects = LocalObjects(folder / "objects", secret)
        self.shares = Shares(state, store, objects, secret, wall_clock, tell)

    def secret(self, unit: int, attempt: int) -> str:
        """Return the lease of an attempt."""
        return "" if self.shares is None else self.shares.lease(unit, attempt)

    def close(self) -> None:
        """Listen no more."""
        if self.shares is not None:
            self.shares.close()
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = (asyncio.CancelledError, asyncio.IncompleteReadError)  # asyncio logs a handler that was cancelled
        with suppress(OSError, ValueError, asyncio.LimitOverrunError, *ends):
            while True:
                request = await _read(reader)
                response = await self._answer(request)
                head = f"HTTP/1.1 {response.status} {_REASONS.get(response.status, 'Refused')}\r\n"
                head += f"Content-Type: {response.kind}\r\nContent-Length: {len(response.content)}\r\n\r\n"
                writer.write(head.encode() + response.content)
                await writer.drain()
        writer.close()

    async def _answer(self, request: _Request) -> _Response:
        try:
            return await self._called(request)
        except ShareCallError as error:
            return _problem(error.status, str(error), error.type)
        except (ValidationError, ValueError) as error:
            return _problem(422, str(error))

    async def _called(self, request: _Request) -> _Response:
        address = urlsplit(request.target)
        asked = {name: values[0] for name, values in parse_qs(address.query).items()}
        shares = self.shares
        if shares is None:
            return _problem(503, "not ready yet; try again")
        if address.path.startswith(f"{PREFIX}/"):
            return await asyncio.to_thread(_object, shares, request, address.path.removeprefix(f"{PREFIX}/"), asked)
        call = _CALL.fullmatch(address.path)
        lease = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
        if call is None or not shares.is_lease(call[1], lease):
            return _problem(404, "there is no such share, or the lease is not this one")
        told = await _call(shares, call[1], call[2], request.content or b"{}", asked)
        if request.headers.get("accept") == "text/plain" and "ranges" in told:
            return _Response(200, answer_lines(told).encode(), "text/plain")
        return _Response(200, orjson.dumps(told))


async def _call(shares: Shares, name: str, verb: str, content: bytes, asked: dict[str, str]) -> dict[str, object]:
    match verb:
        case "start":
            return await shares.start(name)
        case "report":
            return await shares.report(name, ReportBody.model_validate_json(content))
        case "uploads":
            return shares.upload(name, UploadBody.model_validate_json(content))
        case "finish":
            return shares.finish(name, FinishBody.model_validate_json(content))
        case _:
            return await shares.results(name, asked.get("after", ""))


def _object(shares: Shares, request: _Request, key: str, asked: dict[str, str]) -> _Response:
    """Read or write an object by its signed address."""
    objects = shares.objects
    expires, signature = int(asked.get("expires", "0")), asked.get("signature", "")
    if not isinstance(objects, LocalObjects) or not objects.is_signed(
        request.method, key, expires, signature, shares.clock()
    ):
        return _problem(401, "the address is not signed for this, or has expired; ask for a new one")
    try:
        if request.method == "GET":
            return _Response(200, objects.read(key), "application/octet-stream")
        is_written = objects.write_once(key, request.content)
    except ObjectError as error:
        return _problem(404, str(error))
    return _Response(204) if is_written else _problem(409, "another object was written there")


async def _read(reader: asyncio.StreamReader) -> _Request:
    """The next request of a connection."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ", 2)
    pairs = (line.partition(":") for line in head[1:] if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    length = int(headers.get("content-length", "0"))
    if not 0 <= length <= LARGEST_OBJECT:
        raise ValueError("too large")
    return _Request(method, target, headers, await reader.readexactly(length) if length else b"")


def _problem(status: int, detail: str, type: str = "about:blank") -> _Response:
    told = {"type": type, "status": status, "detail": detail}
    return _Response(status, orjson.dumps(told), "application/problem+json")
