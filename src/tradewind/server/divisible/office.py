"""What the routes of divisible jobs share: the desk, the objects, and how refusals look from outside."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from fastapi import Request

from tradewind.core.divisible.errors import Refused
from tradewind.core.divisible.settings import Settings
from tradewind.core.divisible.turn import Turn
from tradewind.live.divisible.book import SqlBook
from tradewind.live.divisible.desk import Desk
from tradewind.live.divisible.objects import Objects, open_objects
from tradewind.live.divisible.open import open_desk
from tradewind.live.store.port import Durability
from tradewind.server.auth import Caller, Role
from tradewind.server.problems import Problem

T = TypeVar("T")

_STATUSES = {"unknown": 404, "stale": 409, "invalid": 422, "conflict": 409, "denied": 401}


@dataclass(slots=True)
class Office:
    """The service of divisible jobs in this process."""

    desk: Desk
    objects: Objects

    async def ask(self, work: Callable[[Turn], T]) -> T:
        """Have something done; what is refused becomes a problem document."""
        try:
            return await self.desk.ask(work)
        except Refused as refused:
            kind = "/problems/stale" if refused.why == "stale" else "about:blank"
            raise Problem(_STATUSES[refused.why], str(refused), type=kind) from refused

    def close(self) -> None:
        """Let go of the store."""
        self.desk.close()


def open_office(
    store: str | Path,
    folder: Path,
    settings: Settings | None = None,
    *,
    objects: str = "",
    durability: Durability = "strict",
) -> Office:
    """The service over a store; objects lie in a folder, or where `objects` says (`s3://…`)."""
    desk = open_desk(store, settings, durability=durability)
    secret = desk.do(_secret)
    return Office(desk, open_objects(objects, folder / "objects", secret))


def _secret(turn: Turn) -> str:
    assert isinstance(turn.book, SqlBook)  # noqa: S101  a desk has no other
    return turn.book.secret


def office_of(request: Request) -> Office:
    """The service behind a request."""
    office = request.app.state.office
    assert isinstance(office, Office)  # noqa: S101  put there when the application was made
    return office


def asked(request: Request, role: Role = Role.VIEWER) -> tuple[Office, Caller]:
    """The service, and who asks; refused if the role is too small."""
    caller = request.state.caller
    assert isinstance(caller, Caller)  # noqa: S101  put there by the gate
    caller.must_be(role)
    return office_of(request), caller


def bearer(request: Request) -> str:
    """The secret that a request shows."""
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not secret:
        raise Problem(401, "a token is needed: Authorization: Bearer …", headers={"WWW-Authenticate": "Bearer"})
    return secret.strip()
