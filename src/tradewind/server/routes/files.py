"""Logs and artefacts: the files that attempts leave behind, whole, in part, or as they grow."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from typing import Annotated, Any, BinaryIO
from urllib.parse import quote

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response, StreamingResponse

from tradewind.live.artefacts import File
from tradewind.live.store.rows import AttemptRow
from tradewind.server import schemas
from tradewind.server.auth import Caller
from tradewind.server.context import Context, answer, met
from tradewind.server.describing import FETCHING, READING, Run, TaskNumber
from tradewind.server.problems import Problem, not_found
from tradewind.server.routes.tasks import attempt_of
from tradewind.server.stream import HEARTBEAT, told

router = APIRouter(prefix="/runs/{run}/tasks/{task}/attempts/{attempt}", tags=["files"])

_DIGITS = 19
"""Digits beyond which a number is no place in a file."""
_CHUNK = 1 << 18
_LOOK = 0.3
"""Seconds between two looks at a log that grows."""
_TAIL = 4 << 20
"""Bytes that are looked at for the last lines."""
_BYTES: dict[str, Any] = {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
_TEXT: dict[str, Any] = {
    "content": {"text/plain": {"schema": {"type": "string"}}, "text/event-stream": {"schema": {"type": "string"}}}
}
_PARTIAL = {"description": "A part of it.", **_BYTES}
Tail = Annotated[int | None, Query(ge=0, le=1_000_000, description="Only so many of the last lines.")]


@router.get("/logs", response_model=schemas.Page[schemas.LogFile], responses=READING)
async def list_logs(request: Request, run: Run, task: TaskNumber, attempt: str) -> Response:
    """What the calls of an attempt wrote to their standard output and errors."""
    context, _, row = await _attempt(request, run, task, attempt)
    files = await context.ask(context.artefacts.files, row.folder)
    streams = [{"name": file.path, "bytes": file.bytes} for file in files if file.is_stream]
    return answer({"items": streams, "next": None})


@router.get(
    "/logs/{name:path}",
    response_class=Response,
    responses=FETCHING | {200: {"description": "The log.", **_TEXT}, 206: {"description": "A part of it.", **_TEXT}},
)
async def get_log(
    request: Request,
    run: Run,
    task: TaskNumber,
    attempt: str,
    name: str,
    tail: Tail = None,
    follow: bool = False,
    range: Annotated[str | None, Header(max_length=200)] = None,
    last_event_id: Annotated[str | None, Header(max_length=40)] = None,
) -> Response:
    """A log: all of it, its last lines, a range of its bytes, or as it grows."""
    context, caller, row = await _attempt(request, run, task, attempt)
    if not File(name, 0, None).is_stream:
        raise not_found(f"log {name!r}")
    if follow:
        start = _place(last_event_id)
        return StreamingResponse(_following(context, caller, row, run, name, start), media_type="text/event-stream")
    file = await context.ask(context.artefacts.file, row.folder, name)
    if file is None:
        raise not_found(f"log {name!r}")
    if tail is not None:
        text = await context.ask(_last_lines, context, row.folder, file, tail)
        return Response(text, media_type="text/plain; charset=utf-8")
    return await _sent(context, row.folder, file, range, "text/plain; charset=utf-8")


@router.get("/artefacts", response_model=schemas.Page[schemas.Artefact], responses=READING)
async def list_artefacts(request: Request, run: Run, task: TaskNumber, attempt: str) -> Response:
    """The files of an attempt."""
    context, _, row = await _attempt(request, run, task, attempt)
    files = await context.ask(context.artefacts.files, row.folder)
    shown = [{"path": file.path, "bytes": file.bytes, "modified": file.modified} for file in files]
    return answer({"items": shown, "next": None})


@router.get(
    "/artefacts/{path:path}",
    response_class=Response,
    responses=FETCHING | {200: {"description": "The file.", **_BYTES}, 206: _PARTIAL},
)
async def get_artefact(
    request: Request,
    run: Run,
    task: TaskNumber,
    attempt: str,
    path: str,
    range: Annotated[str | None, Header(max_length=200)] = None,
) -> Response:
    """A file of an attempt, or a range of its bytes."""
    context, _, row = await _attempt(request, run, task, attempt)
    file = await context.ask(context.artefacts.file, row.folder, path)
    if file is None:
        raise not_found(f"file {path!r}")
    return await _sent(context, row.folder, file, range, "application/octet-stream")


def _place(id: str | None) -> int:
    """The byte of a log behind an event."""
    if not id:
        return 0
    if not (id.isascii() and id.isdecimal() and len(id) < _DIGITS):
        raise Problem(422, "this is not the id of an event", type="/problems/request")
    return int(id)


async def _attempt(request: Request, run: str, task: int, attempt: str) -> tuple[Context, Caller, AttemptRow]:
    context, caller = met(request)
    _, row = await attempt_of(context, caller, run, task, attempt)
    return context, caller, row


async def _sent(context: Context, folder: str, file: File, range: str | None, type: str) -> Response:
    start, end = _range(range, file.bytes) if range else (0, file.bytes)
    name = quote(file.path.rpartition("/")[2], safe="")
    tag = hashlib.sha256(f"{file.path}\n{file.bytes}\n{file.modified}".encode()).hexdigest()[:32]
    headers = {
        "Accept-Ranges": "bytes",
        "Content-Length": str(end - start),
        "Content-Disposition": f"attachment; filename*=UTF-8''{name}",
        "ETag": f'"{tag}"',
    }
    if range:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{file.bytes}"
    try:
        opened = await context.ask(context.artefacts.open, folder, file.path)
    except OSError:
        raise not_found(f"file {file.path!r}") from None
    return StreamingResponse(_chunks(context, opened, start, end), 206 if range else 200, headers, type)


def _range(text: str, size: int) -> tuple[int, int]:
    """The one range of bytes that a header asks for, from its first to before another."""
    unit, _, span = text.partition("=")
    first, dash, last = span.strip().partition("-")
    if unit.strip().lower() != "bytes" or not dash or not (first + last).isascii() or not (first + last).isdecimal():
        raise Problem(416, "a range is written bytes=FIRST-LAST", headers={"Content-Range": f"bytes */{size}"})
    if first:
        start, end = int(first), min(size, int(last) + 1) if last else size
    else:
        start, end = max(0, size - int(last)), size
    if start >= end:
        raise Problem(416, f"there are {size} bytes", headers={"Content-Range": f"bytes */{size}"})
    return start, end


async def _chunks(context: Context, opened: BinaryIO, start: int, end: int) -> AsyncIterator[bytes]:
    """Bytes of a file; one that has shrunk meanwhile is filled up, for its length has been promised."""
    try:
        await context.ask(opened.seek, start)
        left = end - start
        while left > 0:
            chunk = await context.ask(opened.read, min(_CHUNK, left))
            chunk = chunk or bytes(min(_CHUNK, left))
            left -= len(chunk)
            yield chunk
    finally:
        opened.close()


def _last_lines(context: Context, folder: str, file: File, lines: int) -> bytes:
    with context.artefacts.open(folder, file.path) as opened:
        opened.seek(max(0, file.bytes - _TAIL))
        text = opened.read(_TAIL)
    return b"".join(text.splitlines(keepends=True)[-lines:]) if lines else b""


async def _following(
    context: Context, caller: Caller, row: AttemptRow, run: str, name: str, start: int
) -> AsyncIterator[bytes]:
    """What a log says from some byte on, until its attempt is over; broken characters wait for their rest."""
    at, quiet, row_now = start, 0.0, row
    while not context.stream.is_closed:
        is_over = row_now.outcome != "running"
        text, at_now = await context.ask(_more, context, row.folder, name, at, is_over)
        if text:
            at, quiet = at_now, 0.0
            yield told("text", text, str(at))
            continue
        if is_over:
            yield told("end", {"outcome": row_now.outcome})
            return
        await asyncio.sleep(_LOOK)
        quiet += _LOOK
        if quiet >= context.settings.server.heartbeat:
            quiet = 0.0
            yield HEARTBEAT
        try:
            _, row_now = await attempt_of(context, caller, run, row.unit, str(row.attempt))
        except Problem:
            return


def _more(context: Context, folder: str, name: str, at: int, is_over: bool) -> tuple[str, int]:
    try:
        with context.artefacts.open(folder, name) as opened:
            opened.seek(at)
            found = opened.read(_CHUNK)
    except OSError:
        return "", at
    whole = found if is_over and len(found) < _CHUNK else _whole(found)
    return whole.decode(errors="replace"), at + len(whole)


def _whole(found: bytes) -> bytes:
    """Bytes without the beginning of a character whose end is missing."""
    for back in (1, 2, 3):
        if len(found) >= back and found[-back] >= 0xC0:
            need = 2 if found[-back] < 0xE0 else 3 if found[-back] < 0xF0 else 4
            return found[:-back] if need > back else found
    return found
