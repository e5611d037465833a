"""What agents send, checked before it is used."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from tradewind.model.machine import Billing, MachineType
from tradewind.model.requirement import amounts_of
from tradewind.model.units import seconds

Number = Annotated[int, Field(ge=0, le=2**62)]
Word = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Line = Annotated[str, StringConstraints(max_length=100, pattern=r"^[^\x00-\x1f]*$")]
MOST_SLOTS = 10_000


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class AgentMachine(_Body):
    """One machine of an agent; all of them are alike."""

    slots: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Attempts at once."""
    amounts: Annotated[dict[Word, Number], Field(max_length=100)] = {}
    """What attempts share besides slots, such as `cpus` and `memory` (bytes)."""
    capabilities: Annotated[list[Line], Field(max_length=100)] = []
    price: Annotated[int, Field(ge=0, le=10**15)] = 0
    """Millionths of the currency, for one machine and period."""
    period: Annotated[float, Field(ge=1, le=10**8)] = 60.0
    """Seconds."""
    speed: Annotated[float, Field(gt=0, le=10**6)] = 1.0

    def type(self, name: str, limit: int) -> MachineType:
        """The machine type that an agent of a name brings."""
        return MachineType(
            name,
            self.price,
            Billing(seconds(self.period)),
            limit=limit,
            capabilities=frozenset(self.capabilities),
            slots=self.slots,
            amounts=amounts_of(self.amounts),
            speed=self.speed,
            joins=True,
        )


class Registration(_Body):
    """What an agent offers."""

    model_config = ConfigDict(extra="ignore")  # so that an agent of another protocol learns that

    protocol: int
    version: Line = ""
    session: Word
    """Differs between two processes of the same agent."""
    slots: Annotated[list[Annotated[int, Field(ge=0, lt=MOST_SLOTS)]], Field(max_length=MOST_SLOTS)]
    """Its machines, by numbers of its own."""
    max_slots: Annotated[int, Field(ge=0, le=MOST_SLOTS)]
    machine: AgentMachine = AgentMachine()
    draining: bool = False
    """Whether it takes no more orders, and leaves once what it has is done."""


class Call(_Body):
    """What an agent holds, and how attempts have ended."""

    session: Word
    serial: Number
    """Larger than that of the call before."""
    held: Annotated[list[tuple[Number, Number]], Field(max_length=100_000)]
    """Units and attempts, running or ended, until they are dropped."""
    ends: Annotated[list[dict[str, Any]], Field(max_length=10_000)] = []
    wait: Annotated[float, Field(ge=0, le=3600)] = 0.0
    """Seconds that the answer may take if there is nothing to do."""


class NewAgentToken(_Body):
    """A token for an agent."""

    agent: Word
    tenants: Annotated[list[Word], Field(max_length=100)] = []
    """Tenants that the agent serves; an administrator may leave it empty for every tenant."""
    expires_in: Annotated[float, Field(gt=0, le=10**9)] | None = None
    """Seconds."""
