"""The variables of a Steep workflow or macro: their values, their scope, and which of them are files."""

import re
from collections.abc import Container, Mapping, Sequence
from typing import Any

from tradewind.formats.errors import Place, did_you_mean, quoted
from tradewind.formats.steep_commands import Value
from tradewind.formats.steep_fields import Fields
from tradewind.formats.steep_services import FILES, Catalogue, Macro
from tradewind.model.action import Json
from tradewind.model.parameters import located
from tradewind.model.program import Kind, Parameter

_KINDS: Mapping[type, Kind] = {bool: Kind.BOOL, int: Kind.INT, float: Kind.NUMBER, str: Kind.TEXT, list: Kind.LIST}


class Variables:
    """The values of all variables."""

    def __init__(self, fields: Fields, folder: str, files: Container[str]) -> None:
        self.values: dict[str, Value] = {}
        self._fields = fields
        self._folder = folder
        self._files = files

    def parameters(
        self, place: Place, value: Any, macro: Macro | None, actions: Container[str]
    ) -> dict[str, Parameter]:
        """Return variables that have a value, and the inputs of a macro, as parameters; no action has their ids."""
        found: dict[str, Parameter] = {}
        names: set[str] = set()
        for name, default in macro.inputs.items() if macro is not None else ():
            key = identifier(name, found)
            found[key] = Parameter(default, required=macro is not None and name in macro.required)
            self.values[name] = Value(f"params.{key}")
        for spot, row in self._fields.rows(place, value):
            given = self._fields.mapping(spot, row, ("id", "value"))
            name = self._fields.text((*spot, "id"), given.get("id"))
            if name in self.values or name in names:
                self._fields.problems.add(spot, f"a second variable is named {quoted(name)}")
            elif name in actions:
                self._fields.problems.add(spot, f"an action has the id {quoted(name)}", "rename one of them")
            elif given.get("value") is not None:
                key = identifier(name, found)
                constant = self._at_home(given["value"]) if name in self._files else given["value"]
                kind = _KINDS.get(type(constant), Kind.ANY)
                found[key] = Parameter(constant, kind=Kind.FILE if kind is Kind.TEXT and name in self._files else kind)
                self.values[name] = Value(f"params.{key}", count=_count(constant), is_list=isinstance(constant, list))
            names.add(name)
        return found

    def set(self, place: Place, name: Any, value: Value) -> None:
        """Record the value of a variable that an action sets."""
        name = self._fields.text(place, name)
        if name in self.values:
            self._fields.problems.add(place, f"the variable {quoted(name)} already has a value", "use another one")
        self.values[name] = value

    def known(self, place: Place, name: Any, scope: tuple[str, ...]) -> Value:
        """Return the value of a variable where it is used."""
        name = self._fields.text(place, name)
        value = self.values.get(name)
        if value is None:
            remedy = did_you_mean(name, self.values) or "give it a value in vars, or let an action set it"
            self._fields.problems.add(place, f"no variable {quoted(name)} has a value", remedy)
            return Value()
        if value.scope != scope[: len(value.scope)]:
            remedy = "only what the loop yields to its output is visible here"
            self._fields.problems.add(place, f"the variable {quoted(name)} is only visible inside a loop", remedy)
        return value

    def given(self, place: Place, part: Mapping[str, Any], scope: tuple[str, ...]) -> Value:
        """Return a variable, or an explicit value."""
        if ("var" in part) == ("value" in part):
            self._fields.problems.add(place, "needs either a var or a value")
            return Value()
        if "value" in part:
            value = part["value"]
            return Value(constant=value, count=_count(value), is_list=isinstance(value, list))
        return self.known((*place, "var"), part["var"], scope)

    def _at_home(self, value: Json) -> Json:
        """Resolve file paths against the folder of the workflow."""
        if isinstance(value, list):
            return [self._at_home(item) for item in value]
        return located(value, self._folder) if isinstance(value, str) else value


def _count(constant: Json) -> int:
    """Return the number of values: the length of a list, otherwise one."""
    return len(constant) if isinstance(constant, list) else 1


def identifier(name: str, taken: Container[str]) -> str:
    """Return a name that expressions can use, as close to the given one as possible."""
    key = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
    key = f"_{key}" if key[0].isdigit() else key
    while key in taken:
        key += "_"
    return key


def files_among(actions: Any, catalogue: Catalogue, trail: Sequence[str] = ()) -> frozenset[str]:
    """Return the variables that are only used for files, so that relative paths can be told from other text."""
    uses: dict[str, set[bool]] = {}
    _collect(actions, catalogue, trail, uses)
    return frozenset(name for name, kinds in uses.items() if kinds == {True})


def _collect(actions: Any, catalogue: Catalogue, trail: Sequence[str], uses: dict[str, set[bool]]) -> None:
    for row in _rows(actions):
        match row.get("type"):
            case "execute":
                service = catalogue.services.get(str(row.get("service")))
                kinds = {each.id: each.type in FILES for each in service.parameters} if service is not None else {}
                for part in (*_rows(row.get("inputs")), *_rows(row.get("parameters"))):
                    uses.setdefault(str(part.get("var")), set()).add(kinds.get(str(part.get("id")), False))
            case "for":
                _collect(row.get("actions"), catalogue, trail, uses)
                of_items = uses.get(str(row.get("enumerator")), set())
                uses.setdefault(str(row.get("input")), set()).update(of_items)
            case "include":
                macro = catalogue.macros.get(str(row.get("macro")))
                if macro is not None and macro.id not in trail:
                    inner = files_among(macro.body.get("actions"), catalogue, (*trail, macro.id))
                    for part in _rows(row.get("inputs")):
                        uses.setdefault(str(part.get("var")), set()).add(str(part.get("id")) in inner)


def _rows(value: Any) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
