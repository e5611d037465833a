"""Machines that joined, as the store keeps them: what they offer, under which name, and for whom.

The types of such machines are declared nowhere. They are kept with each machine, and noted together in the order in
which they were first seen, so that work which waits for one to come back is still known to be possible after a restart.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from tradewind.core.machines import Kind, Machine
from tradewind.core.state import State
from tradewind.live.store.rows import MachineRow
from tradewind.model.action import Json
from tradewind.model.machine import Billing, BootLag, MachineType, Market
from tradewind.model.requirement import amounts_of

MOST_KINDS = 1_000
"""How many types are remembered; those first seen are forgotten first."""

_PLAIN = ("name", "limit", "keep", "idle", "slots", "speed")


def joined_as(machine: Machine) -> Json | None:
    """What is kept with a machine that joined; None: it was rented."""
    return {"name": machine.joined, **_plain_kind(machine.kind)} if machine.joined else None


def kinds_note(kinds: Iterable[Kind]) -> Json:
    """What is noted of types that joined."""
    return [_plain_kind(kind) for kind in kinds][-MOST_KINDS:]


def recall_kinds(state: State, noted: Json | None) -> None:
    """Know the types again that have joined before."""
    for plain in noted if isinstance(noted, list) else ():
        state.add_kind(_type(plain["type"]), plain["tenants"])


def name_type_tenants(row: MachineRow) -> tuple[str, MachineType | None, tuple[str, ...]]:
    """Name, type and tenants of a machine that joined; of a rented one, nothing."""
    plain: Any = row.joined
    return ("", None, ()) if plain is None else (plain["name"], _type(plain["type"]), tuple(plain["tenants"]))


def _plain_kind(kind: Kind) -> dict[str, Any]:
    return {"type": _plain(kind.configured), "tenants": sorted(kind.tenants)}


def _plain(type: MachineType) -> dict[str, Any]:
    return {name: getattr(type, name) for name in _PLAIN} | {
        "price": _ratio(type.price),
        "core_price": _ratio(type.core_price),
        "billing": [type.billing.period, type.billing.rounding, type.billing.minimum],
        "boot": [type.boot.mean, type.boot.deviation, type.boot.declared],
        "capabilities": sorted(type.capabilities),
        "amounts": dict(type.amounts),
        "minimum": dict(type.minimum),
        "market": type.market.value,
    }


def _type(plain: dict[str, Any]) -> MachineType:
    return MachineType(
        **{name: plain[name] for name in _PLAIN},
        price=_price(plain["price"]),
        core_price=_price(plain["core_price"]),
        billing=Billing(*plain["billing"]),
        boot=BootLag(*plain["boot"]),
        capabilities=frozenset(plain["capabilities"]),
        amounts=amounts_of(plain["amounts"]),
        minimum=amounts_of(plain["minimum"]),
        market=Market(plain["market"]),
        joins=True,
    )


def _ratio(price: int | Fraction) -> list[int]:
    return [price.numerator, price.denominator]


def _price(ratio: list[int]) -> int | Fraction:
    over, under = ratio
    return over if under == 1 else Fraction(over, under)
