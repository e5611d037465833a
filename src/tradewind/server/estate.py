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
    joined: str | None = Field(None, description="The name under which it joined; null: it was rented.")
    running: list[int] | None = Field(description="Numbers of the tasks on it; null: it is no longer held.")


class Billing(BaseModel):
    """How the use of a machine is charged."""

    period: float
    rounding: float | None
    minimum: float


class Setup(BaseModel):
    """A machine type that may be rented, or whose machines join by themselves."""

    name: str
    price: float
    billing: Billing
    boot: float
    limit: int | None
    held: int
    joins: bool = Field(default=False, description="Whether it cannot be rented: its machines join by themselves.")
    present: int = Field(0, description="Machines that have joined and not left, those included that nobody uses.")
    wanted: int = Field(0, description="Machines that their owner is asked to let join: the scaling hint.")
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
