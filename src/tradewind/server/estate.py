"""What goes in and out about machines, setups, policies and money; see `schemas`."""

from typing import Any

from pydantic import BaseModel, Field

from tradewind.server.schemas import MachineStatus


class TypeCost(BaseModel):
    """What machines of a type have cost a run."""

    machine_type: str
    cost: float
    busy_time: float


class RunCost(BaseModel):
    """What a run has cost: for each machine, its share of the time that runs kept it busy."""

    run: str
    total: float
    by_machine_type: list[TypeCost]


class CostItem(BaseModel):
    """Money spent for something."""

    key: str
    cost: float
    charged: float
    refunded: float


class Cost(BaseModel):
    """Money spent."""

    by: str
    total: float
    items: list[CostItem]


class Machine(BaseModel):
    """A machine."""

    number: int
    machine_type: str
    tenant: str
    status: MachineStatus
    acquired: float
    expected: float
    paid_until: float
    released: float | None
    because: str
    running: list[int] | None = Field(description="Numbers of the tasks on it; null: it is no longer held.")


class Billing(BaseModel):
    """How the use of a machine is charged."""

    period: float
    rounding: float | None
    minimum: float


class Setup(BaseModel):
    """A machine type that may be rented."""

    name: str
    price: float
    billing: Billing
    boot: float
    limit: int | None
    held: int
    capabilities: list[str]
    slots: int
    amounts: dict[str, int]
    speed: float
    market: str


class PolicyParameter(BaseModel):
    """A parameter of a policy."""

    name: str
    default: Any
    help: str


class Policy(BaseModel):
    """A policy that is installed."""

    name: str
    summary: str
    parameters: list[PolicyParameter]
    active: bool
