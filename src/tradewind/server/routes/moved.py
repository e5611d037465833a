"""Routes of earlier versions: for one version, each answers with the place that took over its work."""

from fastapi import APIRouter, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tradewind.server import problems
from tradewind.server.problems import Problem

MOVED = "/problems/moved"
_WORKERS = "/worker/v1"
_AGENTS = "/agent/v1"
_PLACES = {
    "jobs": ("/api/v1/runs", "a divisible job is a run with a divisible step"),
    "inputs": ("/api/v1/runs", "input files are sent along with a submission, as `uploads`"),
    "sites": ("/api/v1/agents", "sites are agents"),
    "site-tokens": ("/api/v1/agent-tokens", "tokens of sites are tokens of agents, and remain valid"),
}

router = APIRouter(include_in_schema=False)


async def _gone(request: Request) -> Response:
    """Name the place where an old route's work is done now."""
    path = request.url.path
    new, words = _PLACES[path.split("/")[3]]
    raise Problem(410, f"{path} is gone: {words}; see {new}", type=MOVED, headers={"Location": new})


for _name in _PLACES:
    for _path in (f"/{_name}", f"/{_name}/{{rest:path}}"):
        router.add_api_route(_path, _gone, methods=["GET", "POST", "PUT", "DELETE"])


class Moved:
    """Answers workers of earlier versions, whose tokens the gate does not know."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on every other call."""
        path = scope.get("path", "")
        if scope["type"] != "http" or not path.startswith(f"{_WORKERS}/"):
            await self._app(scope, receive, send)
            return
        words = f"{path[:200]} is gone: agents and shares call {_AGENTS}; start `tradewind agent` instead of a worker"
        answer = problems.response(410, words, path[:200], type=MOVED, headers={"Location": _AGENTS})
        await answer(scope, receive, send)
