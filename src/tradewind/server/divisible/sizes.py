"""How much workers may send at once; objects have a limit of their own."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tradewind.server import problems
from tradewind.server.problems import Problem

LARGEST = 20 << 20
"""Bytes: a report with as many results as may come with it."""
_OBJECTS = "/worker/v1/objects/"


class Sized:
    """Refuses bodies that are too large, told or found to be so."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http" or scope["path"].startswith(_OBJECTS):
            await self._app(scope, receive, send)
        elif is_too_large(dict(scope["headers"])):
            await refusal(scope)(scope, receive, send)
        else:
            await self._app(scope, _counted(receive), send)


def is_too_large(headers: dict[bytes, bytes]) -> bool:
    """Whether a request says that it is."""
    length = headers.get(b"content-length", b"")
    return length.isdigit() and int(length) > LARGEST


def refusal(scope: Scope) -> ASGIApp:
    """The answer to a body that is too large; the rest of it is not read."""
    return problems.response(413, _words(), scope["path"], headers={"Connection": "close"})


def _words() -> str:
    return f"at most {LARGEST >> 20} MB are taken; upload larger results"


def _counted(receive: Receive) -> Receive:
    left = LARGEST

    async def counting() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise Problem(413, _words(), headers={"Connection": "close"})
        return message

    return counting
