"""Find policies by name.

Policies register through the entry-point group `tradewind.policies`, so that another package can ship its own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, replace
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from tradewind.model.errors import TradewindError
from tradewind.model.units import Duration
from tradewind.policies import compose
from tradewind.policies.divisible.protocol import Balancer
from tradewind.policies.divisible.registry import BALANCERS
from tradewind.policies.protocol import Offer, Policy

GROUP = "tradewind.policies"


class PolicyError(TradewindError):
    """An unknown policy or a parameter that it cannot take."""


@cache
def _points() -> Mapping[str, EntryPoint]:
    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}


def names() -> Sequence[str]:
    """Return the names of all installed policies."""
    return tuple(_points())


def offer(name: str) -> Offer:
    """Return the offer of a policy by name."""
    point = _points().get(name)
    if point is None:
        raise PolicyError(f"no policy named {name!r}; {_suggest(name, names()) or 'use one of ' + ', '.join(names())}")
    found = point.load()
    if not isinstance(found, Offer):
        raise PolicyError(f"policy {name!r} ({point.value}) is not a tradewind.policies.protocol.Offer")
    return found


def build(name: str, parameters: Mapping[str, Any] | None = None) -> Policy:
    """Build a policy by name with checked parameters; text is converted to the type of each parameter.

    The parameters may also name a placer and a balancer to use instead of its own (see `compose`).
    """
    own, roles = compose.split(parameters or {})
    policy = _build(name, own)
    if roles.placer and roles.placer != name:
        policy = compose.with_placer(policy, _build(roles.placer, roles.placer_parameters or {}))
    elif roles.placer_parameters:
        remedy = "name the placer, too" if not roles.placer else "drop the prefix `placer.`"
        raise PolicyError(f"policy {name!r}: placer parameters are given, but no other placer; {remedy}")
    return replace(policy, balancer=balancer(roles.balancer)) if roles.balancer else policy


def balancer(name: str) -> Callable[[Duration], Balancer]:
    """Return the factory of a balancer by name."""
    found = BALANCERS.get(name)
    if found is None:
        there = "use one of " + ", ".join(BALANCERS)
        raise PolicyError(f"no balancer named {name!r}; {_suggest(name, BALANCERS) or there}")
    return found


def _build(name: str, given: Mapping[str, Any]) -> Policy:
    found = offer(name)
    known = [field.name for field in fields(found.parameters)]
    for parameter in given:
        if parameter not in known:
            takes = _suggest(parameter, known) or (f"it takes {', '.join(known)}" if known else "it takes none")
            raise PolicyError(f"policy {name!r} has no parameter {parameter!r}; {takes}")
    try:
        return found.build(TypeAdapter(found.parameters).validate_python(given))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "parameters"
        raise PolicyError(f"policy {name!r}: {place}: {first['msg']}") from None


def describe(found: Offer) -> list[tuple[str, str, str, str]]:
    """Return each parameter of a policy: name, type, default and description."""
    hints = get_type_hints(found.parameters)
    return [
        (field.name, _type_name(hints[field.name]), _default(field), field.metadata.get("help", ""))
        for field in fields(found.parameters)
    ]


def _default(field: Field[Any]) -> str:
    return "" if field.default is MISSING else str(field.default)


def _type_name(hint: Any) -> str:
    options = getattr(hint, "__args__", None)
    if options:
        return " | ".join(_type_name(option) if isinstance(option, type) else str(option) for option in options)
    return hint.__name__ if isinstance(hint, type) else str(hint)


def _suggest(word: str, known: Iterable[str]) -> str:
    close = get_close_matches(word, list(known), n=1)
    return f"did you mean {close[0]!r}?" if close else ""
