"""Server-sent events: what happens, as it happens, and all of it to whoever comes back."""

from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response, StreamingResponse

from tradewind.live.store.pages import Head
from tradewind.server import schemas
from tradewind.server.context import Context, met
from tradewind.server.describing import READING, Run
from tradewind.server.problems import Problem
from tradewind.server.stream import BEGINNING, HEARTBEAT, Event, Position, position_of, told

router = APIRouter(tags=["events"])

_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"description": "Events, for ever.", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
}
_HEADERS = {"X-Accel-Buffering": "no"}
LastEventId = Annotated[str | None, Header(max_length=40, description="The last event that was seen.")]
After = Annotated[str | None, Query(max_length=40, description="The same; `start`: all there is.")]


@router.get("/events", response_class=Response, responses=READING | _STREAM)
async def all_events(
    request: Request, tenant: schemas.Name | None = None, last_event_id: LastEventId = None, after: After = None
) -> Response:
    """All that happens, from now on or from behind an event; tenants hear of their own."""
    context, caller = met(request)
    whose = caller.chooses(tenant)
    begin = _position(last_event_id or after) or context.stream.last
    return _streamed(_told(context, begin, lambda event: whose is None or event.tenant == whose))


@router.get("/runs/{run}/events", response_class=Response, responses=READING | _STREAM)
async def run_events(request: Request, run: Run, last_event_id: LastEventId = None, after: After = None) -> Response:
    """All that happens to a run, from its beginning or from behind an event, until it has ended."""
    context, caller = met(request)
    head = await context.run(caller, run)
    begin = _position(last_event_id or after)
    if begin is None or begin == BEGINNING:
        first = await context.ask(context.pages.batch_since, head.submitted)
        begin = BEGINNING if first is None else Position(first, -1)
    return _streamed(_of_run(context, head, begin))


def _position(text: str | None) -> Position | None:
    if text is None:
        return None
    found = position_of(text)
    if found is None:
        raise Problem(422, "this is not the id of an event", type="/problems/request")
    return found


def _streamed(parts: AsyncIterator[bytes]) -> Response:
    return StreamingResponse(parts, media_type="text/event-stream", headers=_HEADERS)


async def _gap(context: Context, begin: Position) -> bytes:
    """What is told first: that events are missing, if they are."""
    first = await context.ask(context.pages.first_batch)
    if begin.first < 0 or first is None or first <= begin.first + 1:
        return b""
    earlier = await context.ask(context.pages.batches, begin.first, 1)
    return (
        b""
        if earlier and earlier[0].first == begin.first
        else told("gap", {"after": str(begin), "first": f"{first}-0"})
    )


async def _told(context: Context, begin: Position, is_wanted: Callable[[Event], bool]) -> AsyncIterator[bytes]:
    yield HEARTBEAT + await _gap(context, begin)
    async for events in context.stream.events(begin, context.settings.server.heartbeat):
        if events is None:
            yield HEARTBEAT
        elif texts := [event.text for event in events if is_wanted(event)]:
            yield b"".join(texts)


async def _of_run(context: Context, head: Head, begin: Position) -> AsyncIterator[bytes]:
    yield HEARTBEAT
    ended: tuple[Position, str] | None = None
    if head.ended is not None:
        last = await context.ask(context.pages.last_batch)
        ended = (Position(last, 1 << 40), head.status)
        if begin >= ended[0] or last < 0:
            yield told("end", {"status": head.status})
            return
    units: dict[int, bool] = {}
    async for events in context.stream.events(begin, context.settings.server.heartbeat):
        texts = [event.text for event in events or () if await _concerns(context, head, event, units)]
        if events is None:
            texts.append(HEARTBEAT)
        if texts:
            yield b"".join(texts)
        now = await context.ask(context.pages.head, head.id) if _may_have_ended(events, head) else None
        if now is not None and now.ended is not None and ended is None:
            ended = (context.stream.last, now.status)
        if ended is not None and events and events[-1].at.first >= ended[0].first:
            yield told("end", {"status": ended[1]})
            return


def _may_have_ended(events: list[Event] | None, head: Head) -> bool:
    return events is None or any(event.name == "ended" and event.run == head.number for event in events)


async def _concerns(context: Context, head: Head, event: Event, units: dict[int, bool]) -> bool:
    """Whether an event is of a run: by its number, or by that of a unit; what was looked up is kept."""
    if event.run is not None or event.unit is None:
        return event.run == head.number
    if event.unit not in units:
        units[event.unit] = await context.ask(context.pages.unit, head.number, event.unit) is not None
    return units[event.unit]
