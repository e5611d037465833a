"""The application that agents call, beside the gate that tenants pass."""

from fastapi import FastAPI, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

import tradewind
from tradewind.server import problems
from tradewind.server.agents import calls
from tradewind.server.agents.door import PREFIX, Door
from tradewind.server.context import Context


def agent_application(context: Context) -> FastAPI:
    """What agents call."""
    app = FastAPI(title="Tradewind for agents", version=tradewind.__version__, redoc_url=None, redirect_slashes=False)
    app.state.context = context
    problems.install(app)
    app.add_exception_handler(Exception, _unexpected)
    app.include_router(calls.router, prefix=PREFIX)
    return app


async def _unexpected(request: Request, error: Exception) -> Response:
    return problems.unexpected(request.url.path, error, "agent")


class ToAgents:
    """Passes what agents call to their own application."""

    def __init__(self, app: ASGIApp, agents: FastAPI) -> None:
        self._app = app
        self._door = Door(agents, agents.state.context)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """By the beginning of the path."""
        if scope["type"] == "http" and scope["path"].startswith(f"{PREFIX}/"):
            await self._door(scope, receive, send)
        else:
            await self._app(scope, receive, send)
