"""Bind parameters to a program: check them, convert them from text if necessary, and add defaults."""

import json
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import PurePath

from tradewind.model.action import Json
from tradewind.model.bounds import flaw
from tradewind.model.program import Kind, Parameter, Program
from tradewind.model.values import kind_of


class ParameterError(ValueError):
    """Parameters that a program cannot be started with."""


def bind(program: Program, given: Mapping[str, Json], *, folder: str = "") -> dict[str, Json]:
    """Return the value of every parameter; relative paths of files are resolved against the folder."""
    known = program.parameters
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            there = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known) or 'none'}"
            raise ParameterError(f"{program.name} has no parameter {name!r}; {there}")
    values: dict[str, Json] = {}
    for name, parameter in known.items():
        if name in given:
            values[name] = _checked(name, parameter, given[name], folder)
        elif parameter.required:
            described = f" ({parameter.description})" if parameter.description else ""
            raise ParameterError(f"the parameter {name!r}{described} is required")
        else:
            values[name] = parameter.default
    return values


def located(path: str, folder: str) -> str:
    """Resolve a path against a folder; absolute paths and URLs stay as they are."""
    return path if not folder or "://" in path or not path else str(PurePath(folder, path))


def _checked(name: str, parameter: Parameter, value: Json, folder: str) -> Json:
    if isinstance(value, str) and parameter.kind is Kind.ANY:
        value = _read_like(parameter.default, value)
    elif isinstance(value, str) and parameter.kind not in (Kind.TEXT, Kind.FILE):
        value = _read(name, parameter.kind, value)
    if reason := flaw(value):
        raise ParameterError(f"the parameter {name!r} {reason}")
    if not fits(parameter.kind, value):
        raise ParameterError(f"the parameter {name!r} must be {WANTED[parameter.kind]}, not {kind_of(value)}")
    return located(value, folder) if parameter.kind is Kind.FILE else value


def fits(kind: Kind, value: Json) -> bool:
    """Return whether a value is of a kind; null always is, because it means that there is none."""
    return value is None or kind is Kind.ANY or type(value) in _TYPES[kind]


_TYPES: Mapping[Kind, tuple[type, ...]] = {
    Kind.TEXT: (str,),
    Kind.INT: (int,),
    Kind.NUMBER: (int, float),
    Kind.BOOL: (bool,),
    Kind.LIST: (list,),
    Kind.MAPPING: (dict,),
    Kind.FILE: (str,),
}

WANTED: Mapping[Kind, str] = {
    Kind.ANY: "anything",
    Kind.TEXT: "text",
    Kind.INT: "a whole number",
    Kind.NUMBER: "a number",
    Kind.BOOL: "true or false",
    Kind.LIST: "a list",
    Kind.MAPPING: "a mapping",
    Kind.FILE: "a path",
}


def _read_like(default: Json, text: str) -> Json:
    """Convert text for a parameter of any type as its default suggests, if possible."""
    for kind in (Kind.LIST, Kind.BOOL, Kind.INT, Kind.NUMBER, Kind.MAPPING):
        if default is not None and fits(kind, default):
            try:
                value = _read("", kind, text)
            except ParameterError:
                return text
            is_like = fits(kind, value) or (kind is Kind.INT and fits(Kind.NUMBER, value))
            return value if is_like and value is not None else text
    return text


def _read(name: str, kind: Kind, text: str) -> Json:
    """Convert text from a command line to the type of a parameter; a list may be written with commas."""
    if kind is Kind.LIST and not text.lstrip().startswith("["):
        return [part.strip() for part in text.split(",")] if text.strip() else []
    try:
        return json.loads(text.strip())
    except ValueError:
        raise ParameterError(f"the parameter {name!r} must be {WANTED[kind]}, not {text!r}") from None
