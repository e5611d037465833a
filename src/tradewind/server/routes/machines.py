"""Machines, the setups they are made from, and the policies that decide about them."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from tradewind.core.transitions import MachineState
from tradewind.live.facts import Drain, Remove
from tradewind.live.standing import machine_row
from tradewind.live.store.rows import MachineRow
from tradewind.policies.registry import describe, names, offer
from tradewind.server import estate, schemas, shapes
from tradewind.server.auth import Caller, Role
from tradewind.server.context import Context, answer, met
from tradewind.server.describing import CHANGING, READING, MachineNumber
from tradewind.server.paging import Cursor, Limit, cursor, numbers_of, page
from tradewind.server.problems import Problem, not_found

router = APIRouter(tags=["machines"])

Status = Literal["held", "booting", "idle", "busy", "draining", "spare", "released", "lost", "all"]


@router.get("/machines", response_model=schemas.Page[estate.Machine], responses=READING)
async def list_machines(
    request: Request,
    status: Status = "held",
    machine_type: Annotated[schemas.Line | None, Query()] = None,
    tenant: schemas.Name | None = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Machines, newest first."""
    context, caller = met(request)
    before = numbers_of("machines", cursor)
    whose = caller.chooses(tenant)
    state = context.service.state
    if status in ("released", "lost", "all"):
        rows = await context.ask(
            context.pages.machines,
            tenant=whose,
            kind=machine_type,
            states=[] if status == "all" else [MachineState.RELEASED, MachineState.LOST],
            before=before[0] if before else None,
            limit=limit + 1,
        )
    else:
        rows = _held(context, whose, machine_type, status, before[0] if before else None, limit + 1)
    shown = page(rows, limit, lambda row: shapes.machine(row, state), _mark)
    if status in ("released", "lost"):
        shown["items"] = [each for each in shown["items"] if each["status"] == status]
    return answer(shown)


def _mark(row: MachineRow) -> str:
    return cursor("machines", row.number)


def _held(
    context: Context, tenant: str | None, kind: str | None, status: str, before: int | None, limit: int
) -> list[MachineRow]:
    """Machines that are held, as the core has them."""
    found = []
    for machine in context.service.state.machines.values():
        now = MachineState(machine.state)
        if (
            tenant in (None, "" if machine.is_spare else machine.pool.tenant.name)
            and kind in (None, machine.kind.type.name)
            and (before is None or machine.id < before)
            and (status == "held" or now.name.lower() == status)
        ):
            found.append(machine)
    newest = sorted(found, key=lambda machine: machine.id, reverse=True)
    return [machine_row(machine, None, "") for machine in newest[:limit]]


@router.get("/machines/{machine}", response_model=estate.Machine, responses=READING)
async def get_machine(request: Request, machine: MachineNumber) -> Response:
    """A machine."""
    context, caller = met(request)
    return answer(shapes.machine(await _machine(context, caller, machine), context.service.state))


@router.post("/machines/{machine}/drain", status_code=202, response_model=estate.Machine, responses=CHANGING)
async def drain_machine(request: Request, machine: MachineNumber) -> Response:
    """Give a machine back once what runs on it has ended."""
    return await _let_go(request, machine, Drain(machine))


@router.post("/machines/{machine}/remove", status_code=202, response_model=estate.Machine, responses=CHANGING)
async def remove_machine(request: Request, machine: MachineNumber) -> Response:
    """Give a machine back at once; what runs on it will run elsewhere."""
    return await _let_go(request, machine, Remove(machine))


async def _let_go(request: Request, number: int, fact: Drain | Remove) -> Response:
    context, caller = met(request, Role.USER)
    await _machine(context, caller, number)
    if number not in context.service.state.machines:
        raise Problem(409, f"machine {number} is no longer held")
    await context.service.tell(fact)
    return answer(shapes.machine(await _machine(context, caller, number), context.service.state), 202)


async def _machine(context: Context, caller: Caller, number: int) -> MachineRow:
    row = await context.look(context.pages.machine, number)
    if row is None or not caller.sees(row.tenant):
        raise not_found(f"machine {number}")
    return row


@router.get("/setups", response_model=schemas.Page[estate.Setup], responses=READING)
async def list_setups(request: Request) -> Response:
    """The machine types that may be rented, and those of machines that have joined."""
    context, _ = met(request)
    return answer({"items": [shapes.setup(kind) for kind in context.service.state.kinds], "next": None})


@router.get("/setups/{name}", response_model=estate.Setup, responses=READING)
async def get_setup(request: Request, name: Annotated[str, Path(max_length=200)]) -> Response:
    """A machine type."""
    context, _ = met(request)
    for kind in context.service.state.kinds:
        if kind.type.name == name:
            return answer(shapes.setup(kind))
    raise not_found(f"setup {name!r}")


@router.get("/policies", response_model=schemas.Page[estate.Policy], responses=READING)
async def list_policies(request: Request) -> Response:
    """The policies that are installed, and which of them decides here."""
    context, _ = met(request)
    return answer({"items": await context.ask(_policies, context.policy), "next": None})


def _policies(active: str) -> list[shapes.Plain]:
    return [
        {
            "name": found.name,
            "summary": found.summary,
            "parameters": [
                {"name": name, "default": default, "help": text} for name, _, default, text in describe(found)
            ],
            "active": found.name == active,
        }
        for found in map(offer, names())
    ]
