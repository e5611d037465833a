"""Read Steep's service metadata and macros, which the actions of its workflows refer to.

https://steep-wms.github.io/docs/#service-metadata describes them. A file contains one of them or a list.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tradewind.formats.complaints import told
from tradewind.formats.errors import Place, Problems, quoted
from tradewind.formats.steep_fields import Fields
from tradewind.formats.tree import Tree
from tradewind.model.action import Json, Limits
from tradewind.model.program import Retries
from tradewind.model.units import Duration

_SERVICE = (
    *("id", "name", "description", "path", "runtime", "parameters", "runtimeArgs", "requiredCapabilities"),
    *("retries", "maxInactivity", "maxRuntime", "deadline"),
)
_PARAMETER = ("id", "name", "description", "type", "cardinality", "dataType", "default", "fileSuffix", "label")
_ARGUMENT = ("id", "name", "description", "dataType", "label", "value")
_MACRO = ("id", "name", "description", "parameters", "vars", "actions")
_CARDINALITY = re.compile(r"(\d+)\.\.(\d+|n)")
_SUFFIXES = frozenset({".yaml", ".yml", ".json"})
MANY = 10**9
"""The value of `n`."""
DIRECTORY, OPTIONAL = "directory", "fileOrEmptyList"
FILES = frozenset({"file", DIRECTORY, OPTIONAL})


@dataclass(frozen=True, slots=True)
class Parameter:
    """An input or output of a service."""

    id: str
    is_output: bool
    least: int
    most: int
    type: str = "string"
    default: Json = None
    suffix: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class Service:
    """A program that actions execute."""

    id: str
    path: str
    """The program, or the container image."""
    is_container: bool
    parameters: tuple[Parameter, ...]
    """Parameters in the order in which they are passed."""
    options: tuple[str, ...]
    capabilities: frozenset[str]
    retries: Retries
    limits: Limits
    total: Duration | None


@dataclass(frozen=True, slots=True)
class Macro:
    """A reusable part of a workflow; its actions are read when it is first included."""

    id: str
    tree: Tree
    place: Place
    inputs: Mapping[str, Any]
    """Defaults by name; required parameters are in `required`."""
    required: frozenset[str]
    outputs: tuple[str, ...]
    body: Mapping[str, Any]


@dataclass(slots=True)
class Catalogue:
    """All services and macros that a workflow may refer to."""

    services: dict[str, Service] = field(default_factory=dict)
    macros: dict[str, Macro] = field(default_factory=dict)
    unfit: dict[str, Problems] = field(default_factory=dict)
    """Problems of services that cannot be run; reported only if an action uses them."""


def files_of_services(folder: Path, given: Sequence[Path] | None) -> list[Path]:
    """Return the files of services and macros: those given, files in given folders, or those next to the workflow."""
    if given is None:
        suffixes = ("", *sorted(_SUFFIXES))
        beside = [folder / f"{name}{suffix}" for name in ("services", "macros") for suffix in suffixes]
        given = [path for path in beside if path.exists()]
    found: list[Path] = []
    for path in given:
        found += sorted(each for each in path.iterdir() if each.suffix in _SUFFIXES) if path.is_dir() else [path]
    return found


def catalogue_from(trees: Iterable[Tree]) -> Catalogue:
    """Read files of services and macros; an entry with `actions` is a macro."""
    found = Catalogue()
    for tree in trees:
        fields = Fields(tree.problems())
        rows = [((), tree.data)] if isinstance(tree.data, dict) else fields.rows((), tree.data)
        for place, row in rows:
            is_macro = isinstance(row, dict) and "actions" in row
            if is_macro:
                entry: Macro | Service = _macro(fields, tree, place, row)
            else:
                own = Fields(tree.problems())
                entry = _service(own, tree, place, row)
                if own.problems.count and not entry.id:
                    own.problems.settle()
                elif own.problems.count:
                    found.unfit[entry.id] = own.problems
            into: dict[str, Any] = found.macros if is_macro else found.services
            if entry.id in into:
                fields.problems.add(place, f"{quoted(entry.id)} is defined twice", "remove one of them")
            into[entry.id] = entry
        fields.problems.settle()
    return found


def _service(fields: Fields, tree: Tree, place: Place, value: Any) -> Service:
    row = fields.mapping(place, value, _SERVICE)
    runtime = fields.choice((*place, "runtime"), row.get("runtime"), ("other", "docker"))
    path = fields.text((*place, "path"), row.get("path"))
    beside = Path(tree.file).parent / path
    if runtime == "other" and "/" in path and beside.is_file():
        path = str(beside.resolve())
    options = [
        word
        for spot, argument in fields.rows((*place, "runtimeArgs"), row.get("runtimeArgs"))
        for word in _option(fields, spot, argument)
    ]
    if options and runtime == "other":
        fields.problems.add((*place, "runtimeArgs"), "are not supported for the runtime 'other'", "use parameters")
    limits, total = fields.limits(place, row)
    return Service(
        fields.text((*place, "id"), row.get("id")),
        path,
        runtime == "docker",
        tuple(_parameter(fields, *each) for each in fields.rows((*place, "parameters"), row.get("parameters"))),
        tuple(options),
        frozenset(fields.words((*place, "requiredCapabilities"), row.get("requiredCapabilities"))),
        fields.retries((*place, "retries"), row.get("retries")),
        limits,
        total,
    )


def _parameter(fields: Fields, place: Place, value: Any) -> Parameter:
    row = fields.mapping(place, value, _PARAMETER)
    cardinality = fields.text((*place, "cardinality"), row.get("cardinality"), default="1..1")
    found = _CARDINALITY.fullmatch(cardinality)
    least, most = (int(found[1]), MANY if found[2] == "n" else int(found[2])) if found else (1, 1)
    if found is None or least > most:
        fields.problems.add(
            (*place, "cardinality"), f"{told(cardinality)} is not a cardinality", "write it like 0..1 or 1..n"
        )
    kind = fields.choice((*place, "type"), row.get("type"), ("input", "output", "argument"))
    if kind == "output" and most > 1:
        fields.problems.add((*place, "cardinality"), "an output with several values is not supported", "use 1..1")
    return Parameter(
        fields.text((*place, "id"), row.get("id")),
        kind == "output",
        least,
        most,
        fields.text((*place, "dataType"), row.get("dataType"), default="string"),
        row.get("default"),
        fields.text((*place, "fileSuffix"), row.get("fileSuffix"), default=""),
        fields.text((*place, "label"), row.get("label"), default=""),
    )


def _option(fields: Fields, place: Place, value: Any) -> list[str]:
    row = fields.mapping(place, value, _ARGUMENT)
    label, given = row.get("label"), row.get("value")
    words = [] if label is None else [fields.text((*place, "label"), label)]
    if row.get("dataType") == "boolean":
        return words if given in (True, "true") else []
    return words if given is None else [*words, str(given)]


def _macro(fields: Fields, tree: Tree, place: Place, value: Any) -> Macro:
    row = fields.mapping(place, value, _MACRO)
    inputs: dict[str, Any] = {}
    required: set[str] = set()
    outputs: list[str] = []
    for spot, given in fields.rows((*place, "parameters"), row.get("parameters")):
        part = fields.mapping(spot, given, ("id", "name", "description", "type", "default"))
        name = fields.text((*spot, "id"), part.get("id"))
        if name in inputs or name in outputs:
            fields.problems.add(spot, f"a second parameter is named {quoted(name)}", "remove one of them")
        if fields.choice((*spot, "type"), part.get("type"), ("input", "output")) == "output":
            outputs.append(name)
        else:
            inputs[name] = part.get("default")
            if "default" not in part:
                required.add(name)
    identity = fields.text((*place, "id"), row.get("id"))
    return Macro(identity, tree, place, inputs, frozenset(required), tuple(outputs), row)
