"""Calls to the service that outlast its restarts and lost networks."""

import random
import time
from collections.abc import Callable
from typing import Any, TypeVar

import httpx

from tradewind.model.backoff import LONGEST, Backoff
from tradewind.model.units import Duration, in_seconds

T = TypeVar("T")

_PASSING = frozenset({429, 500, 502, 503, 504})


class CallError(Exception):
    """A call that was refused for good."""

    def __init__(self, status: int, detail: str, kind: str = "") -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind

    @property
    def is_stale(self) -> bool:
        """Whether the lease is over: whatever is left to say need not be said."""
        return self.status == 404 or self.kind == "/problems/stale"


class UnreachableError(Exception):
    """The server did not answer within the time allowed."""


class Client:
    """One service and one secret."""

    def __init__(
        self, server: str, secret: str, *, timeout: float = 10.0, transport: httpx.BaseTransport | None = None
    ):
        self._http = httpx.Client(
            base_url=server.rstrip("/"),
            headers={"Authorization": f"Bearer {secret}"},
            timeout=timeout,
            transport=transport,
        )
        self.silence: Duration = 2 * LONGEST
        """How long a call may be overdue: tries follow each other sooner."""

    def once(self, method: str, path: str, body: Any = None, secret: str | None = None) -> Any:
        """Call once; `UnreachableError` if there is no answer, or none that counts."""
        headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
        try:
            answer = self._http.request(method, path, json=body, headers=headers)
        except httpx.HTTPError as error:
            raise UnreachableError(f"{path}: {error}") from error
        if answer.status_code in _PASSING:
            raise UnreachableError(f"{path}: {answer.status_code}")
        if answer.status_code >= 400:
            raise _refusal(answer)
        try:
            return answer.json() if answer.content else None
        except ValueError:
            raise UnreachableError(f"{path}: the answer is not JSON") from None

    def call(
        self, method: str, path: str, body: Any = None, *, patience: float = 3600.0, secret: str | None = None
    ) -> Any:
        """Call until there is an answer, for so many seconds."""
        return _patiently(lambda: self.once(method, path, body, secret), patience, self.silence)

    def transfer(self, method: str, address: str, content: bytes | None = None, *, patience: float = 30.0) -> bytes:
        """Read or write an object by its signed address, which needs no secret of ours; again if nobody answers."""
        url = address if "://" in address else f"{self._http.base_url}".rstrip("/") + address
        return _patiently(lambda: _transfer(method, url, content), patience, self.silence)

    def close(self) -> None:
        """Let go of connections."""
        self._http.close()


def _patiently(work: Callable[[], T], patience: float, silence: Duration) -> T:
    """Try until somebody answers: once more at once, then with growing pauses."""
    backoff = Backoff(random.random, silence)
    until = time.monotonic() + patience
    while True:
        try:
            return work()
        except UnreachableError:
            wait = in_seconds(backoff.pause())
            if time.monotonic() + wait > until:
                raise
            time.sleep(wait)


def _transfer(method: str, url: str, content: bytes | None) -> bytes:
    try:
        answer = httpx.request(method, url, content=content, timeout=60.0)
    except httpx.HTTPError as error:
        raise UnreachableError(f"{method} of an object: {error}") from error
    if answer.status_code in _PASSING:
        raise UnreachableError(f"{method} of an object: {answer.status_code}")
    if answer.status_code >= 400:
        raise CallError(answer.status_code, f"{method} of an object: {answer.status_code}")
    return answer.content


def _refusal(answer: httpx.Response) -> CallError:
    try:
        told = answer.json()
        return CallError(answer.status_code, str(told.get("detail", answer.text)), str(told.get("type", "")))
    except ValueError:
        return CallError(answer.status_code, answer.text[:200])
