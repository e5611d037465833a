"""Translate Pydantic's validation errors into our own: the place in the file, a reason and, if possible, a fix."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tradewind.formats import documents as parts
from tradewind.formats.errors import Place, Problems, did_you_mean, quoted
from tradewind.formats.tree import Tree

_PARTS: Mapping[str, type[BaseModel]] = {
    "tasks": parts.TaskPart,
    "inputs": parts.FilePart,
    "outputs": parts.FilePart,
    "retries": parts.RetryPart,
    "machines": parts.MachinePart,
    "billing": parts.BillingPart,
    "boot": parts.BootPart,
    "tenants": parts.TenantPart,
    "joins": parts.JoinsPart,
    "workload": parts.GivenPart,
    "faults": parts.FaultsPart,
    "noise": parts.NoisePart,
    "estimates": parts.EstimatesPart,
}
"""The model below each field, used to suggest known names for an unknown field."""

_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}
_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("more than", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("less than", "lt"),
}

Document = TypeVar("Document", bound=BaseModel)


def check(kind: type[Document], tree: Tree, below: Mapping[str, type[BaseModel]] = _PARTS) -> Document:
    """Validate a tree as a document, or raise all its problems; `below` maps fields to the models below them."""
    problems = tree.problems()
    try:
        return kind.model_validate(tree.data)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            _complain(problems, kind, detail, below)
        problems.settle()
        raise AssertionError("a validation error has at least one detail") from error


def _complain(
    problems: Problems, kind: type[BaseModel], detail: ErrorDetails, below: Mapping[str, type[BaseModel]]
) -> None:
    if problems.full:
        problems.add((), "")
        return
    place = tuple(part for part in detail["loc"] if part not in parts.SHAPES)
    context = detail.get("ctx", {})
    match detail["type"]:
        case "extra_forbidden":
            field = str(place[-1])
            part = _part_at(kind, place[:-1], below)
            known = [name for name in (row.alias or key for key, row in part.model_fields.items()) if name != field]
            remedy = did_you_mean(field, known) or f"known are {', '.join(sorted(known))}"
            problems.add(place[:-1], f"unknown field {quoted(field)}", remedy, at=place)
        case "missing":
            problems.add(place[:-1], f"the field {quoted(str(place[-1]))} is missing")
        case "value_error":
            in_key = place and place[-1] == "[key]"
            problems.add(place[:-1] if in_key else place, str(context["error"]))
        case "literal_error" | "enum":
            choices = str(context["expected"]).replace("'", "").replace(" or ", ", ").split(", ")
            remedy = did_you_mean(str(detail["input"]), choices) or f"choose from {', '.join(choices)}"
            problems.add(place, f"unknown {place[-1]} {told(detail['input'])}", remedy)
        case "shape":
            problems.add(place, f"cannot be {_kind(detail['input'])}")
        case "too_short":
            problems.add(place, "must not be empty")
        case bound if bound in _BOUNDS:
            words, limit = _BOUNDS[bound]
            problems.add(place, f"must be {words} {_number(context[limit])}, not {told(detail['input'])}")
        case other:
            wanted = f"must be {_WANTED[other]}" if other in _WANTED else detail["msg"]
            problems.add(place, f"{wanted}, not {told(detail['input'])}")


def _part_at(kind: type[BaseModel], place: Place, below: Mapping[str, type[BaseModel]]) -> type[BaseModel]:
    """Return the model of the part of a document at a place."""
    return next((below[step] for step in reversed(place) if isinstance(step, str) and step in below), kind)


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,g}"


def told(value: Any) -> str:
    """Format a value for an error: the value itself if it is small, otherwise its kind."""
    if isinstance(value, str):
        return quoted(value)
    if value is None or isinstance(value, dict | list):
        return _kind(value)
    text = str(value)
    return {"True": "true", "False": "false"}.get(text, text if len(text) <= 40 else "a huge number")


def _kind(value: Any) -> str:
    match value:
        case None:
            return "empty"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case bool():
            return "true or false"
        case str():
            return "text"
        case _:
            return "a number"
