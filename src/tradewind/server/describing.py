"""How OpenAPI describes what all routes have in common: parts of addresses, and what can go wrong."""

from typing import Annotated, Any

from fastapi import Path

from tradewind.server.problems import TYPE
from tradewind.server.schemas import ProblemDocument

_WORDS = {
    401: "No token, or one that is not known or has expired.",
    403: "The token's role does not allow it.",
    404: "It is not there, or not for this token.",
    409: "It cannot be done as things stand.",
    413: "The request is too large.",
    416: "There is no such range.",
    422: "The request cannot be used.",
    429: "Too many requests.",
    500: "Something went wrong in the server.",
    503: "The server starts or stops, or cannot reach its store.",
}

Responses = dict[int | str, dict[str, Any]]


def _described(*statuses: int) -> Responses:
    return {
        status: {
            "description": _WORDS[status],
            "content": {TYPE: {"schema": {"$ref": f"#/components/schemas/{ProblemDocument.__name__}"}}},
        }
        for status in statuses
    }


READING: Responses = _described(401, 403, 404, 422, 429, 500, 503)
CHANGING: Responses = _described(401, 403, 404, 409, 413, 422, 429, 500, 503)
SHARING: Responses = _described(401, 404, 409, 413, 422, 429, 500, 503)
FETCHING: Responses = _described(401, 403, 404, 416, 422, 429, 500, 503)

Run = Annotated[str, Path(max_length=40, pattern=r"^[0-9a-z]{7,12}-[0-9]{1,19}$", description="Id of a run.")]
TaskNumber = Annotated[int, Path(alias="task", ge=0, le=2**62, description="Number of a task.")]
MachineNumber = Annotated[int, Path(alias="machine", ge=0, le=2**62, description="Number of a machine.")]
