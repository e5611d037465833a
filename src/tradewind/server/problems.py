"""Problem documents (RFC 9457): what every answer with a status from 400 on consists of."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from tradewind.formats.errors import FormatError, FormatErrors
from tradewind.live.service import RefusedError, StoppedError
from tradewind.live.store.coding import to_bytes
from tradewind.live.store.errors import StoreUnavailableError

TYPE = "application/problem+json"
_TITLES = {
    400: "Bad request",
    401: "Not known",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    406: "Not acceptable",
    409: "Conflict",
    410: "Gone",
    413: "Too large",
    415: "Unsupported media type",
    416: "Range not satisfiable",
    422: "Not usable",
    429: "Too many requests",
    500: "Internal error",
    503: "Not available",
}
_log = logging.getLogger("tradewind.server")


class Problem(HTTPException):
    """An answer that says what is wrong."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        type: str = "about:blank",
        problems: Sequence[Mapping[str, Any]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, detail, headers)
        self.type = type
        self.problems = problems


def not_found(what: str) -> Problem:
    """The same answer whether something is not there or not for the one who asks."""
    return Problem(404, f"there is no {what}")


def of_file(error: FormatError) -> Problem:
    """What is wrong with a document, place by place."""
    several = error.problems if isinstance(error, FormatErrors) else (error,)
    return Problem(
        422,
        str(error),
        type="/problems/document",
        problems=[
            {"place": each.place, "line": each.line, "reason": each.reason, "remedy": each.remedy} for each in several
        ],
    )


def response(
    status: int,
    detail: str,
    path: str,
    *,
    headers: Mapping[str, str] | None = None,
    type: str = "about:blank",
    **more: Any,
) -> Response:
    """A problem document as a response."""
    body = {"type": type, "title": _TITLES.get(status, "Error"), "status": status, "detail": detail, "instance": path}
    return Response(to_bytes(body | more), status, dict(headers or {}), TYPE)


def install(app: FastAPI) -> None:
    """Let every error of an application become a problem document."""
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(StoreUnavailableError, _unavailable)
    app.add_exception_handler(StoppedError, _unavailable)
    app.add_exception_handler(RefusedError, _impossible)
    app.add_exception_handler(FormatError, _format)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101  by registration
    path = request.url.path
    if isinstance(error, Problem):
        more = {"problems": list(error.problems)} if error.problems else {}
        return response(error.status_code, error.detail, path, headers=error.headers, type=error.type, **more)
    status = 422 if error.status_code == 400 else error.status_code  # a body that is no JSON
    return response(status, error.detail, path, headers=error.headers)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    problems = [
        {
            "place": ".".join(map(str, each["loc"])),
            "line": None,
            "reason": _clean(each["msg"]),
            "remedy": "",
        }
        for each in error.errors()[:20]
    ]
    detail = "; ".join(f"{each['place']}: {each['reason']}" for each in problems)
    return response(422, detail, request.url.path, type="/problems/request", problems=problems)


async def _unavailable(request: Request, error: Exception) -> Response:
    return response(503, str(error), request.url.path, headers={"Retry-After": "1"})


async def _impossible(request: Request, error: Exception) -> Response:
    return response(422, str(error), request.url.path, type="/problems/impossible")


async def _format(request: Request, error: Exception) -> Response:
    assert isinstance(error, FormatError)  # noqa: S101
    return await _http(request, of_file(error))


def unexpected(path: str, error: Exception, request_id: str) -> Response:
    """What an error that nobody thought of looks like from outside: nothing of it is told, all of it is logged."""
    _log.error("request %s on %s failed", request_id, path, exc_info=error)
    return response(500, f"something went wrong; the server's log has more under {request_id}", path)


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
