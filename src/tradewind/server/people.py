"""What goes in and out about tenants, tokens and the audit log; see `schemas`."""

from typing import Annotated

from pydantic import BaseModel, Field

from tradewind.server.schemas import Given, Line, Name, RoleName, Span


class Tenant(BaseModel):
    """Somebody whose work runs here."""

    name: str
    budget: float | None
    interval: float
    weight: float
    max_active_runs: int | None
    max_tasks: int | None
    max_machines: int | None
    created: float
    active_runs: int
    active_tasks: int
    spent_total: float
    remaining: float | None = Field(description="What may still be reserved now; null: no limit.")


class TenantChange(Given):
    """A tenant as it is to be; what is left out stays as it was."""

    budget: Annotated[float, Field(ge=0, le=1e11)] | None = None
    interval: Span | None = None
    weight: Annotated[float, Field(gt=0, le=1e6)] | None = None
    max_active_runs: Annotated[int, Field(ge=0, le=10**9)] | None = None
    max_tasks: Annotated[int, Field(ge=0, le=10**12)] | None = None
    max_machines: Annotated[int, Field(ge=0, le=10**9)] | None = Field(
        None, description="How many machines it may hold at once; what it holds already stays."
    )


class NewToken(Given):
    """A token to be made."""

    name: Line
    role: RoleName
    tenant: Name | None = Field(None, description="Administrators and viewers may be of no tenant, and see all.")
    expires_in: Span | None = None


class Token(BaseModel):
    """A token, without itself."""

    id: str
    name: str
    tenant: str | None
    role: RoleName
    created: float
    expires: float | None
    used: float | None


class MadeToken(Token):
    """A token that was made just now."""

    token: str = Field(description="Shown this once.")


class Who(BaseModel):
    """Who asks."""

    token: str | None
    tenant: str | None
    role: RoleName
    server: str


class AuditEntry(BaseModel):
    """Something that somebody changed, or tried to."""

    number: int
    at: float
    token: str | None
    tenant: str | None
    action: str
    target: str
    outcome: int
    address: str
