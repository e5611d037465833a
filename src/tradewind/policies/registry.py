"""Finding policies by name.

Policies register through the entry-point group `tradewind.policies`, so that another package can ship its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from tradewind.model.errors import TradewindError
from tradewind.policies.protocol import Offer, Policy

GROUP = "tradewind.policies"


class PolicyError(TradewindError):
    """An unknown policy or a parameter that it cannot take."""


@cache
def _points() -> Mapping[str, EntryPoint]:
    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}


def names() -> Sequence[str]:
    """All policies that are installed."""
    return tuple(_points())


def offer(name: str) -> Offer:
    """The policy of a name."""
    point = _points().get(name)
    if point is None:
        raise PolicyError(f"no policy named {name!r}; {_suggest(name, names()) or 'there are ' + ', '.join(names())}")
    found = point.load()
    if not isinstance(found, Offer):
        raise PolicyError(f"policy {name!r} ({point.value}) is not a tradewind.policies.protocol.Offer")
    return found


def build(name: str, parameters: Mapping[str, Any] | None = None) -> Policy:
    """The policy of a name, with its parameters checked; text is read as the type a parameter wants."""
    found = offer(name)
    given = dict(parameters or {})
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
    """Each parameter of a policy: name, type, default, and what it means."""
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
