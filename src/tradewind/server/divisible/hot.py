"""Reports around the routes: they are almost all that ever comes, and finding a route costs more than answering.

The same checks, answers and refusals as the route `report` in `worker`, which describes it; a test compares them.
"""

import re

import orjson
from pydantic import TypeAdapter, ValidationError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tradewind.live.divisible import verbs
from tradewind.live.store.errors import StoreUnavailableError
from tradewind.model.units import seconds
from tradewind.server import problems
from tradewind.server.divisible import bodies, sizes, worker
from tradewind.server.divisible.office import Office
from tradewind.server.problems import Problem

_PATH = re.compile(r"/worker/v1/jobs/([A-Za-z0-9][A-Za-z0-9._-]{0,63})/partitions/(\d{1,12})/report")
_BODY = TypeAdapter(bodies.Progress)


class Hot:
    """Answers reports, and passes on everything else, reports that are not in order included."""

    def __init__(self, app: ASGIApp, office: Office) -> None:
        self._app = app
        self._office = office

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """By the path."""
        found = _PATH.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        headers = dict(scope["headers"]) if found else {}
        kind, _, lease = headers.get(b"authorization", b"").partition(b" ")
        if found is None or kind.lower() != b"bearer" or headers.get(b"accept") == b"text/plain":
            await self._app(scope, receive, send)
            return
        content = None if sizes.is_too_large(headers) else await _read(receive)
        if content is None:
            await sizes.refusal(scope)(scope, receive, send)
            return
        try:
            body = _BODY.validate_json(content)
        except ValidationError:
            body = None
        if body is None or worker.has_objects(body):
            await self._app(scope, _again(content, receive), send)
            return
        try:
            answer = await self._answer(found[1], int(found[2]), lease.strip().decode("latin-1"), body)
        except Problem as problem:
            refusal = problems.response(problem.status_code, problem.detail, scope["path"], type=problem.type)
            await refusal(scope, receive, send)
            return
        except StoreUnavailableError as error:
            refusal = problems.response(503, str(error), scope["path"], headers={"Retry-After": "1"})
            await refusal(scope, receive, send)
            return
        length = str(len(answer)).encode()
        head = [(b"content-type", b"application/json"), (b"content-length", length)]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": answer})

    async def _answer(self, job: str, partition: int, lease: str, body: bodies.Progress) -> bytes:
        given = worker.given(body, {})
        elapsed = seconds(body.elapsed)
        told = await self._office.ask(lambda turn: verbs.report(turn, job, partition, lease, body.done, elapsed, given))
        return orjson.dumps(told)


async def _read(receive: Receive) -> bytes | None:
    """The body; None: it is too large."""
    content = bytearray()
    while True:
        message = await receive()
        content += message.get("body", b"")
        if len(content) > sizes.LARGEST:
            return None
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
