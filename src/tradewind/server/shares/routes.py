"""The calls of shares as routes: what they take and answer."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, FastAPI, Path, Query, Request
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, Response

import tradewind
from tradewind.live.acting import SHARES
from tradewind.live.objects import PREFIX, LocalObjects, ObjectError
from tradewind.live.shares import (
    LARGEST_OBJECT,
    FinishBody,
    Plain,
    ReportBody,
    ShareCallError,
    Shares,
    UploadBody,
    answer_lines,
)
from tradewind.server import problems
from tradewind.server.context import Context, answer, context_of
from tradewind.server.describing import SHARING
from tradewind.server.problems import Problem

Name = Annotated[str, Path(pattern=r"^[0-9]{1,12}\.[0-9]{1,9}$", description="Unit and attempt.")]
Key = Annotated[str, Path(max_length=300)]
Expires = Annotated[int, Query(ge=0, le=10**12)]
Signature = Annotated[str, Query(max_length=100)]
After = Annotated[str, Query(pattern=r"^([0-9]{1,15}\.[0-9]{1,15}\.[0-9]{1,15})?$", description="`next` of a page.")]

router = APIRouter(responses=SHARING)


class Assigned(BaseModel):
    """What a share is to do."""

    next: Literal["go", "wait", "end"]
    ranges: list[tuple[int, int]]
    interval: float
    deliveries: int
    silence: float


class ResultPage(BaseModel):
    """A page of the results of an elastic unit."""

    results: list[dict[str, Any]]
    next: str | None


@router.post(f"{SHARES}/{{name}}/start", response_model=Assigned, tags=["shares"])
async def start(request: Request, name: Name) -> Response:
    """Begin a share, or ask again what it is to do."""
    return _told(request, await shares_of(request).start(name))


@router.post(f"{SHARES}/{{name}}/report", response_model=Assigned, tags=["shares"])
async def report(request: Request, name: Name, body: ReportBody) -> Response:
    """Report how far a share is, and deliver results."""
    return _told(request, await shares_of(request).report(name, body))


@router.post(f"{SHARES}/{{name}}/uploads", tags=["shares"])
async def upload(request: Request, name: Name, body: UploadBody) -> Response:
    """Return an address to which the result of a delivery can be uploaded, and the key by which it is delivered."""
    return answer(shares_of(request).upload(name, body))


@router.post(f"{SHARES}/{{name}}/finish", tags=["shares"])
async def finish(request: Request, name: Name, body: FinishBody | None = None) -> Response:
    """End a share; what it holds goes back once its process has ended."""
    return answer(shares_of(request).finish(name, body or FinishBody()))


@router.get(f"{SHARES}/{{name}}/results", response_model=ResultPage, tags=["shares"])
async def results(request: Request, name: Name, after: After = "") -> Response:
    """Return a page of the results of an elastic unit, for the process that reduces them."""
    return answer(await shares_of(request).results(name, after))


@router.get(f"{PREFIX}/{{key:path}}", response_class=FileResponse, tags=["objects"])
async def read(request: Request, key: Key, expires: Expires, signature: Signature) -> Response:
    """Return an object by its signed address."""
    objects = _signed(request, "GET", key, expires, signature)
    if not objects.has(key):
        raise Problem(404, "there is no such object")
    return FileResponse(objects.path(key), media_type="application/octet-stream")


@router.put(f"{PREFIX}/{{key:path}}", status_code=204, tags=["objects"])
async def write(request: Request, key: Key, expires: Expires, signature: Signature) -> Response:
    """Write an object once, by its signed address; the same content again is fine, other content is not."""
    objects = _signed(request, "PUT", key, expires, signature)
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > LARGEST_OBJECT:
            raise Problem(413, f"at most {LARGEST_OBJECT >> 20} MB are taken")
    try:
        is_written = await run_in_threadpool(objects.write_once, key, bytes(content))
    except ObjectError as error:
        raise Problem(404, str(error)) from error
    if not is_written:
        raise Problem(409, "another object was written there")
    return Response(status_code=204)


def _signed(request: Request, method: str, key: str, expires: int, signature: str) -> LocalObjects:
    shares = shares_of(request)
    objects = shares.objects
    if not isinstance(objects, LocalObjects):
        raise Problem(404, "objects lie elsewhere")
    if not objects.is_signed(method, key, expires, signature, shares.clock()):
        raise Problem(401, "the address is not signed for this, or has expired; ask for a new one")
    return objects


def _told(request: Request, told: Plain) -> Response:
    """What a share is to do: as JSON, or line by line for shells."""
    if request.headers.get("accept") != "text/plain":
        return answer(told)
    return Response(answer_lines(told), media_type="text/plain")


def shares_of(request: Request) -> Shares:
    """What answers shares, once the server leads."""
    return context_of(request).service.answering


def application(context: Context) -> FastAPI:
    """The application that shares call."""
    app = FastAPI(title="Tradewind for shares", version=tradewind.__version__, redoc_url=None)
    app.state.context = context
    problems.install(app)
    app.add_exception_handler(ShareCallError, _refused)
    app.add_exception_handler(Exception, _unexpected)
    app.include_router(router)
    return app


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, ShareCallError)  # noqa: S101  by registration
    return problems.response(error.status, str(error), request.url.path, type=error.type)


async def _unexpected(request: Request, error: Exception) -> Response:
    return problems.unexpected(request.url.path, error, "share")
