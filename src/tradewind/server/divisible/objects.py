"""Objects of a local folder, by signed address; S3 serves its own."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, Response

from tradewind.live.divisible.objects import LocalObjects, ObjectError
from tradewind.server.divisible.bodies import REFUSALS
from tradewind.server.divisible.office import office_of
from tradewind.server.problems import Problem

router = APIRouter(tags=["objects"], responses=REFUSALS)

Key = Annotated[str, Path(max_length=300)]
Expires = Annotated[int, Query(ge=0, le=10**12)]
Signature = Annotated[str, Query(max_length=100)]

LARGEST = 256 << 20
"""Bytes of an object."""


def _signed(request: Request, method: str, key: str, expires: int, signature: str) -> LocalObjects:
    office = office_of(request)
    objects = office.objects
    if not isinstance(objects, LocalObjects):
        raise Problem(404, "objects lie elsewhere")
    if not objects.is_signed(method, key, expires, signature, office.desk.clock()):
        raise Problem(401, "the address is not signed for this, or has expired; ask for a new one")
    return objects


@router.get("/objects/{key:path}", response_class=FileResponse)
async def read(request: Request, key: Key, expires: Expires, signature: Signature) -> Response:
    """An object."""
    objects = _signed(request, "GET", key, expires, signature)
    if not objects.has(key):
        raise Problem(404, "there is no such object")
    return FileResponse(objects.path(key), media_type="application/octet-stream")


@router.put("/objects/{key:path}", status_code=204)
async def write(request: Request, key: Key, expires: Expires, signature: Signature) -> Response:
    """Write an object once; the same content again is fine, other content is not."""
    objects = _signed(request, "PUT", key, expires, signature)
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > LARGEST:
            raise Problem(413, f"at most {LARGEST >> 20} MB are taken")
    try:
        is_written = await run_in_threadpool(objects.write_once, key, bytes(content))
    except ObjectError as error:
        raise Problem(404, str(error)) from error
    if not is_written:
        raise Problem(409, "another object was written there")
    return Response(status_code=204)
