"""The applications: the part for workers, which stands beside the server's gate, and the whole alone.

Alone, it is what a function-as-a-service front would call: one application, nothing in memory between two calls that
the store does not have, an administrator's token from outside.
"""

from hmac import compare_digest

from fastapi import FastAPI, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

import tradewind
from tradewind.server import problems
from tradewind.server.auth import ANYBODY
from tradewind.server.divisible import jobs, objects, reducing, worker
from tradewind.server.divisible.hot import Hot
from tradewind.server.divisible.office import Office
from tradewind.server.divisible.sizes import Sized

PREFIX = "/worker/v1"


def worker_application(office: Office | None = None) -> FastAPI:
    """What sites, workers and holders of signed addresses call; its office may be put in later."""
    app = FastAPI(title="Tradewind for workers", version=tradewind.__version__, redoc_url=None)
    app.state.office = office
    problems.install(app)
    app.add_exception_handler(Exception, _unexpected)
    app.include_router(worker.router, prefix=PREFIX)
    app.include_router(reducing.router, prefix=PREFIX)
    app.include_router(objects.router, prefix=PREFIX)
    return app


async def _unexpected(request: Request, error: Exception) -> Response:
    return problems.unexpected(request.url.path, error, "worker")


class Divert:
    """Passes what workers call to their own application, around the gate that tenants pass."""

    def __init__(self, app: ASGIApp, worker: FastAPI) -> None:
        self._app = app
        self._worker = worker
        self._hot: Hot | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """By the beginning of the path."""
        if scope["type"] != "http" or not scope["path"].startswith(PREFIX):
            await self._app(scope, receive, send)
            return
        if self._hot is None:
            self._hot = Hot(Sized(self._worker), self._worker.state.office)
        await self._hot(scope, receive, send)


class _Guard:
    """Lets in whoever shows the administrator's token; everybody, if there is none."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode() if token else b""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on."""
        if scope["type"] == "http":
            shown = dict(scope["headers"]).get(b"authorization", b"")
            if self._expected and not compare_digest(shown, self._expected):
                refusal = problems.response(401, "the token is not known", scope["path"])
                await refusal(scope, receive, send)
                return
            scope.setdefault("state", {})["caller"] = ANYBODY
        await self._app(scope, receive, send)


def alone(office: Office, token: str = "") -> FastAPI:
    """The whole service of divisible jobs, without the rest of the server."""
    app = FastAPI(title="Tradewind, divisible jobs", version=tradewind.__version__, redoc_url=None)
    app.state.office = office
    problems.install(app)
    app.add_exception_handler(Exception, _unexpected)
    app.include_router(jobs.router, prefix="/api/v1")
    app.add_middleware(_Guard, token=token)
    app.add_middleware(Divert, worker=worker_application(office))
    return app
