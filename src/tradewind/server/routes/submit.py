"""Submission: work of any format comes in, is checked whole, and answered once it is durable."""

import asyncio
from base64 import b64decode
from dataclasses import replace
from hashlib import sha256
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Header, Query, Request
from pydantic import ValidationError
from starlette.responses import Response

from tradewind.formats.feasible import check_feasible, check_runnable
from tradewind.formats.load import load_text
from tradewind.formats.present import check_present
from tradewind.live.facts import Submit
from tradewind.live.jobs import Document, Job
from tradewind.live.service import Key, Taken
from tradewind.live.uploads import keep
from tradewind.model.errors import TradewindError
from tradewind.model.parameters import ParameterError, bind
from tradewind.model.program import Kind, Program
from tradewind.model.workflow import Workflow
from tradewind.server import schemas
from tradewind.server.auth import ANYBODY, Caller, Role
from tradewind.server.context import Context, answer, met
from tradewind.server.describing import CHANGING
from tradewind.server.problems import Problem
from tradewind.server.routes.runs import deadline_of, detail

router = APIRouter(prefix="/runs", tags=["runs"])

_ENVELOPE = "application/json"
_TEXT = {"schema": {"type": "string"}}
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            _ENVELOPE: {"schema": {"$ref": f"#/components/schemas/{schemas.Submission.__name__}"}},
            "application/yaml": _TEXT,
            "text/plain": _TEXT,
        },
    }
}
OptionalSpan = Annotated[str | None, Query(max_length=40, description="Seconds, or text such as `2h`.")]


@router.post(
    "",
    status_code=201,
    response_model=schemas.RunDetail,
    responses=CHANGING
    | {200: {"model": schemas.RunDetail, "description": "It was handed in before, under the same key."}},
    openapi_extra=_BODY,
)
async def submit(
    request: Request,
    tenant: schemas.Name | None = None,
    name: schemas.Line | None = None,
    file: schemas.Line | None = None,
    priority: Annotated[int | None, Query(ge=-1_000_000, le=1_000_000)] = None,
    deadline: OptionalSpan = None,
    keep_going: bool = False,
    cache: bool = True,
    parameter: Annotated[list[str] | None, Query(description="As `key=value`.", max_length=1000)] = None,
    idempotency_key: Annotated[
        str | None,
        Header(
            min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$", description="Hand in at most once under this key."
        ),
    ] = None,
) -> Response:
    """Hand in a workflow or program: as JSON with what goes with it, or the document itself, in any format.

    Where the document itself is the body, the query says what goes with it.
    """
    context, caller = met(request, Role.USER)
    body = await request.body()
    if _is_envelope(request):
        given = await context.ask(_envelope, body)
    else:
        given = schemas.Submission.model_construct(
            workflow="",
            tenant=tenant,
            name=name,
            file=file,
            priority=priority,
            deadline=deadline,
            keep_going=keep_going,
            cache=cache,
            parameters=dict(_split(text) for text in parameter or ()),
            files={},
            uploads={},
        )
    whose = _tenant(context, caller, given.tenant)
    key = None
    if idempotency_key is not None:
        said = f"{request.url.query}\n".encode() if not _is_envelope(request) else b""
        key = Key(idempotency_key, sha256(said + body).hexdigest())
        earlier = await context.look(context.access.key, whose, idempotency_key)
        if earlier is not None:
            _check_same(earlier.digest, key)
            return await _told(context, earlier.run, 200)
    fact = await context.ask(_checked, context, given, body, whose)
    _check_quota(context, whose, fact)
    taken, is_new = await _hand_in(context, whose, fact, key)
    return await _told(context, taken.number, 201 if is_new else 200)


async def _hand_in(context: Context, tenant: str, fact: Submit, key: Key | None) -> tuple[Taken, bool]:
    """Hand in work, at most once under a key, even if several do so at the same time."""
    if key is None:
        return await context.service.submit(fact), True
    place = (tenant, key.name)
    if place not in context.submissions:
        earlier = await context.look(context.access.key, tenant, key.name)
        if earlier is not None:
            _check_same(earlier.digest, key)
            return Taken(earlier.run, ""), False
    if (running := context.submissions.get(place)) is not None:
        _check_same(running[0], key)
        return await asyncio.shield(running[1]), False
    answered: asyncio.Future[Taken] = asyncio.get_running_loop().create_future()
    context.submissions[place] = (key.digest, answered)
    try:
        taken = await context.service.submit(fact, key)
    except BaseException as error:
        answered.set_exception(error)
        answered.exception()  # whether or not somebody waits for it
        raise
    else:
        answered.set_result(taken)
        return taken, True
    finally:
        del context.submissions[place]


def _check_same(digest: str, key: Key) -> None:
    if digest != key.digest:
        raise Problem(409, f"something else was handed in under the key {key.name!r}", type="/problems/key")


async def _told(context: Context, number: int, status: int) -> Response:
    heads = await context.look(context.pages.heads, [number])
    if number not in heads:
        raise Problem(404, "the run is no longer there")
    shown = await detail(context, ANYBODY, heads[number].id)
    return answer(shown, status, {"Location": f"/api/v1/runs/{heads[number].id}"})


def _is_envelope(request: Request) -> bool:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == _ENVELOPE


def _envelope(body: bytes) -> schemas.Submission:
    try:
        orjson.loads(body)  # stricter about text
        return schemas.Submission.model_validate_json(body)  # does not round numbers of more than 64 bits
    except orjson.JSONDecodeError as error:
        raise Problem(422, f"the body is not JSON: {error}", type="/problems/request") from None
    except ValidationError as error:
        told = [
            {"place": ".".join(map(str, each["loc"])), "line": None, "reason": each["msg"], "remedy": ""}
            for each in error.errors(include_url=False, include_input=False)[:20]
        ]
        text = "; ".join(f"{each['place']}: {each['reason']}" for each in told)
        raise Problem(422, text, type="/problems/request", problems=told) from None


def _tenant(context: Context, caller: Caller, wanted: str | None) -> str:
    whose = caller.chooses(wanted) or "default"
    if whose not in context.tenants:
        raise Problem(404, f"there is no tenant {whose!r}")
    return whose


def _checked(context: Context, given: schemas.Submission, body: bytes, tenant: str) -> Submit:
    """What is handed in, read and checked as far as that can be done before the driver sees it."""
    raw = body
    if given.workflow:
        raw = given.workflow.encode() if isinstance(given.workflow, str) else orjson.dumps(given.workflow)
    called = given.file or given.name or "workflow"
    files = {each: text.encode() for each, text in given.files.items()}
    found = load_text(raw, called, files=files, largest=context.settings.server.largest_submission)
    document = found.content
    if not isinstance(document, Workflow | Program):
        raise Problem(422, f"the document holds {found.kind}, not a workflow", type="/problems/document")
    document = _changed(document, given)
    if isinstance(document, Workflow) and given.parameters:
        raise Problem(422, "this workflow takes no parameters", type="/problems/parameters")
    state = context.service.state
    machines = [kind.configured for kind in state.kinds if kind.serves(tenant)]
    try:
        check_runnable(document, file=found.file, line_of=found.line_of)
        if not state.accepts_unknown:
            check_feasible(document, machines, file=found.file, line_of=found.line_of, only_certain=True)
    except TradewindError as error:
        raise Problem(422, str(error), type="/problems/impossible") from None
    if isinstance(document, Workflow):
        return Submit(document, {}, tenant, given.keep_going, given.cache)
    try:
        parameters = dict(bind(document, given.parameters | _uploaded(context, document, given, tenant)))
        check_present(document, parameters, file=found.file, locate=found.locate)
        Job("check", document, parameters, context.artefacts.root).begin()
    except (TradewindError, ValueError) as error:
        raise Problem(422, str(error), type="/problems/parameters") from None
    return Submit(document, parameters, tenant, given.keep_going, given.cache)


def _uploaded(context: Context, program: Program, given: schemas.Submission, tenant: str) -> dict[str, str]:
    """The paths of the files that came along, by parameter."""
    paths: dict[str, str] = {}
    for name, upload in given.uploads.items():
        if name not in program.parameters or program.parameters[name].kind is not Kind.FILE:
            raise ParameterError(f"uploads: {program.name} has no parameter {name!r} of type file")
        try:
            data = b64decode(upload.data, validate=True)
        except ValueError as error:
            raise ParameterError(f"uploads: {name}: {error}") from None
        paths[name] = keep(context.artefacts.root.parent, tenant, upload.name, data)
    return paths


def _changed(document: Document, given: schemas.Submission) -> Document:
    changes: dict[str, Any] = {}
    if given.name is not None:
        changes["name"] = given.name
    if given.priority is not None:
        changes["priority"] = given.priority
    if given.deadline is not None:
        changes["deadline"] = deadline_of(given.deadline)
    return replace(document, **changes) if changes else document


def _check_quota(context: Context, tenant: str, fact: Submit) -> None:
    row, load = context.tenants[tenant], context.service.loads.get(tenant)
    runs, units = (load.runs, load.units) if load else (0, 0)
    if row.max_active_runs is not None and runs >= row.max_active_runs:
        raise Problem(
            429, f"tenant {tenant!r} has {runs} active runs and may have {row.max_active_runs}", type="/problems/quota"
        )
    more = len(fact.document.tasks) if isinstance(fact.document, Workflow) else 1
    if row.max_tasks is not None and units + more > row.max_tasks:
        raise Problem(
            429, f"tenant {tenant!r} has {units} active tasks and may have {row.max_tasks}", type="/problems/quota"
        )


def _split(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise Problem(422, f"parameter: {text[:100]!r} is not of the form key=value", type="/problems/request")
    return key, value
