"""Whether the server is well, and figures for Prometheus."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from tradewind.server import metrics, schemas
from tradewind.server.context import answer, context_of, met
from tradewind.server.describing import READING
from tradewind.server.problems import Problem

router = APIRouter(tags=["health"])


@router.get("/healthz", response_model=schemas.Health)
async def healthy() -> Response:
    """The process is alive."""
    return answer({"status": "ok"})


@router.get(
    "/readyz", response_model=schemas.Health, responses={503: {"model": schemas.Health, "description": "Not ready."}}
)
async def ready(request: Request) -> Response:
    """Work is taken in, and the store can be reached."""
    context = context_of(request)
    if context.stream.is_closed:
        return answer({"status": "stopping"}, 503)
    if not context.service.is_running:
        return answer({"status": "starting"}, 503)
    if context.service.trouble or context.store.trouble:
        return answer({"status": "store unavailable"}, 503)
    return answer({"status": "ready"})


@router.get(
    "/metrics",
    response_class=Response,
    responses=READING
    | {200: {"description": "All series.", "content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def prometheus(request: Request) -> Response:
    """Figures of all tenants; not for tokens of one of them."""
    context, caller = met(request)
    if caller.tenant is not None:
        raise Problem(403, "these figures are of all tenants; the token is of one")
    service = context.service
    return Response(
        context.metrics.text(service.state, service.loads, context.stream.listeners), media_type=metrics.TYPE
    )
