"""A proxy that sends each request to the next of some servers."""

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import cycle

import httpx
import uvicorn
from running import free_port, wait_for
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

METHODS = ["GET", "PUT", "POST", "DELETE"]


@contextmanager
def round_robin(*servers: str) -> Iterator[str]:
    """Its address; it keeps nothing between two requests but whose turn it is."""
    turn = cycle(servers)

    async def forward(request: Request) -> Response:
        url = f"{next(turn)}{request.url.path}?{request.url.query}"
        kept = ("authorization", "accept", "content-type")
        headers = {name: value for name, value in request.headers.items() if name in kept}
        client = request.app.state.client
        try:
            answer = await client.request(request.method, url, content=await request.body(), headers=headers)
        except httpx.TransportError:
            return Response(status_code=502)
        return Response(answer.content, answer.status_code, {"content-type": answer.headers.get("content-type", "")})

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        async with httpx.AsyncClient(timeout=10) as client:
            app.state.client = client
            yield

    port = free_port()
    app = Starlette(routes=[Route("/{path:path}", forward, methods=METHODS)], lifespan=life)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", access_log=False))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_for(lambda: server.started)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
