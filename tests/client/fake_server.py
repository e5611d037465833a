"""A server in memory that answers in the shapes of the REST contract, and fails on demand."""

import json
from collections.abc import Callable
from typing import Any

import httpx

RUN = {
    "id": "1abc234-7",
    "number": 7,
    "name": "align",
    "tenant": "lab",
    "status": "active",
    "priority": 0,
    "submitted": 1000.0,
    "ended": None,
    "deadline": None,
    "predicted": None,
    "slack": None,
    "tasks": {"done": 1, "running": 2},
    "failures": [],
}


class FakeServer:
    """Notes what it is asked; `trouble` holds what it does instead of answering, one for each request."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.trouble: list[Exception | httpx.Response] = []
        self.answers: dict[tuple[str, str], Callable[[httpx.Request], httpx.Response]] = {}

    def on(self, method: str, path: str, value: Any, status: int = 200) -> None:
        """Answer a path so."""
        self.answers[method, path] = lambda _: httpx.Response(status, json=value)

    def handle(self, request: httpx.Request) -> httpx.Response:
        """What the transport calls."""
        request.read()
        self.requests.append(request)
        if self.trouble:
            trouble = self.trouble.pop(0)
            if isinstance(trouble, Exception):
                raise trouble
            return trouble
        answer = self.answers.get((request.method, request.url.path.removeprefix("/api/v1")))
        return answer(request) if answer is not None else problem(404, "Not found", "no such thing")

    @property
    def transport(self) -> httpx.MockTransport:
        """For a client."""
        return httpx.MockTransport(self.handle)

    def bodies(self) -> list[Any]:
        """What was sent, as values."""
        return [json.loads(request.content) for request in self.requests if request.content]


def problem(status: int, title: str, detail: str, **more: Any) -> httpx.Response:
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}
    return httpx.Response(status, json=body, headers={"Content-Type": "application/problem+json"})
