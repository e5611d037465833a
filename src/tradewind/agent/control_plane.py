"""Calls of an agent to its server: answers are checked before they are used, and failures are told apart.

An agent trusts a server with the work it runs, not with its own folders: names that a server chooses become names of
files here, so each has to look like one.
"""

import asyncio
import math
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tradewind.live.order_json import is_name

PREFIX = "/agent/v1"
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_TIMEOUT = 15.0
"""Seconds to wait for an answer, beyond those for which the server may let a call wait."""
_CHUNK = 1 << 18
_LONGEST_PAUSE = 15.0
_FIRST_PAUSE = 0.5
_LONGEST = 10**6
"""Seconds that a server may ask for."""


PROTOCOL, REPLACED, NAME = "/problems/protocol", "/problems/replaced", "/problems/name"
"""Kinds of refusals."""
GONE = 410
"""The status of a file that is not there, or not for the run."""


class UnreachableError(Exception):
    """The server did not answer, or with nothing that counts; trying again may help."""


class RefusedError(Exception):
    """The server has refused a call for good."""

    def __init__(self, status: int, detail: str, kind: str = "") -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind

    @property
    def is_final(self) -> bool:
        """Whether the agent can do nothing about it but end."""
        return self.status in (401, 403) or self.kind == REPLACED or self.is_mistaken

    @property
    def is_mistaken(self) -> bool:
        """Whether the agent was started in a wrong way, and another process may go on with its work."""
        return self.kind in (PROTOCOL, NAME)


@dataclass(slots=True)
class Backoff:
    """Pauses between tries: none after the first failure, then growing ones with jitter."""

    longest: float = _LONGEST_PAUSE
    _next: float = 0.0

    def pause(self) -> float:
        """Seconds to wait now."""
        wait = min(self._next, self.longest) * (0.5 + random.random() / 2)
        self._next = max(_FIRST_PAUSE, 2 * self._next)
        return wait

    def reset(self) -> None:
        """Begin again: a call was answered."""
        self._next = 0.0


@dataclass(frozen=True, slots=True)
class Terms:
    """What a server says when an agent registers."""

    wait: float
    """Seconds for which it lets a call for orders wait."""
    hint: int | None
    """How many machines it would like to have; None: it does not say."""


@dataclass(frozen=True, slots=True)
class Directions:
    """The answer to a call for orders."""

    orders: list[Any] = field(default_factory=list)
    """Each is yet to be checked."""
    drop: list[tuple[int, int, bool]] = field(default_factory=list)
    hint: int | None = None


class ControlPlane:
    """One server, as one agent calls it."""

    def __init__(self, server: str, token: str, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._http = httpx.AsyncClient(
            base_url=server.rstrip("/"),
            headers={"Authorization": f"Bearer {token}"},
            timeout=_TIMEOUT,
            transport=transport,
        )

    async def close(self) -> None:
        """Let go of connections."""
        await self._http.aclose()

    async def name(self) -> str:
        """The name of the agent that the token is for."""
        told = await self._ask("GET", f"{PREFIX}/agent")
        found = told.get("agent") if isinstance(told, dict) else None
        if not isinstance(found, str) or not is_name(found):
            raise UnreachableError(f"malformed answer: agent is {found!r:.80}")
        return found

    async def register(self, name: str, body: dict[str, Any]) -> Terms:
        """Tell what the agent offers."""
        told = await self._ask("PUT", f"{PREFIX}/agents/{name}", body)
        wait = told.get("wait") if isinstance(told, dict) else None
        if not isinstance(wait, int | float) or not math.isfinite(wait) or not 0 <= wait <= _LONGEST:
            raise UnreachableError(f"malformed answer: wait is {wait!r:.80}")
        return Terms(float(wait), _hint(told))

    async def call(self, name: str, body: dict[str, Any]) -> Directions:
        """Report, and ask for orders."""
        timeout = httpx.Timeout(_TIMEOUT, read=_TIMEOUT + body["wait"])
        told = await self._ask("POST", f"{PREFIX}/agents/{name}/orders", body, timeout)
        orders = told.get("orders") if isinstance(told, dict) else None
        drop = told.get("drop") if isinstance(told, dict) else None
        if not isinstance(orders, list) or not isinstance(drop, list):
            raise UnreachableError(f"malformed answer: {told!r:.80}")
        return Directions(orders, [each for each in map(_dropped, drop) if each is not None], _hint(told))

    async def leave(self, name: str, session: str) -> None:
        """Tell that the agent ends."""
        await self._ask("DELETE", f"{PREFIX}/agents/{name}?session={session}")

    async def fetch(self, address: str, to: Path, size: int) -> None:
        """Download a file of a known size, all of it or nothing."""
        part = to.with_name(f".{random.getrandbits(64):016x}")
        left = size
        try:
            async with self._http.stream("GET", address, timeout=60.0) as answer:
                await _check(answer, address)
                with part.open("xb") as file:
                    async for chunk in answer.aiter_bytes(_CHUNK):
                        left -= len(chunk)
                        if left < 0:
                            break
                        file.write(chunk)
            if left:
                raise UnreachableError(f"{address}: {size - left} of {size} bytes came")
            part.replace(to)
        except httpx.HTTPError as error:
            raise UnreachableError(f"{address}: {error!r}") from error
        finally:
            part.unlink(missing_ok=True)

    async def store(self, address: str, file: Path) -> None:
        """Upload a file."""
        try:
            size = file.stat().st_size
            headers = {"Content-Length": str(size), "Content-Type": "application/octet-stream"}
            answer = await self._http.put(address, content=_content(file, size), headers=headers, timeout=60.0)
        except httpx.HTTPError as error:
            raise UnreachableError(f"{address}: {error!r}") from error
        await _check(answer, address)

    async def _ask(self, method: str, path: str, body: Any = None, timeout: httpx.Timeout | None = None) -> Any:
        try:
            answer = await self._http.request(
                method, path, json=body, timeout=timeout or httpx.USE_CLIENT_DEFAULT, follow_redirects=False
            )
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise UnreachableError(f"{path}: {error!r}") from error
        await _check(answer, path)
        try:
            return answer.json() if answer.content else None
        except ValueError:
            raise UnreachableError(f"{path}: the answer is not JSON") from None


async def _check(answer: httpx.Response, path: str) -> None:
    """Raise what an answer means that is not a good one."""
    if answer.is_success:
        return
    await answer.aread()
    if answer.status_code in _PASSING or answer.status_code < 400:
        raise UnreachableError(f"{path}: {answer.status_code}")
    try:
        told = answer.json()
    except ValueError:
        told = None
    if not isinstance(told, dict):
        told = {"detail": answer.text[:200]}
    detail = str(told.get("detail", ""))[:500]
    raise RefusedError(answer.status_code, "".join(filter(str.isprintable, detail)), str(told.get("type", "")))


async def _content(file: Path, size: int) -> AsyncIterator[bytes]:
    """The first bytes of a file; it may grow meanwhile."""
    with file.open("rb") as opened:
        while size > 0 and (chunk := await asyncio.to_thread(opened.read, min(_CHUNK, size))):
            size -= len(chunk)
            yield chunk


def _hint(told: dict[str, Any]) -> int | None:
    found = told.get("hint")
    if found is not None and (not isinstance(found, int) or isinstance(found, bool) or not 0 <= found <= _LONGEST):
        raise UnreachableError(f"malformed answer: hint is {found!r:.80}")
    return found


def _dropped(data: Any) -> tuple[int, int, bool] | None:
    match data:
        case [int() as unit, int() as attempt, bool() as at_once]:
            return unit, attempt, at_once
    return None
