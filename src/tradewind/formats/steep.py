"""Steep workflows (`api: 4.x`), converted into programs.

https://steep-wms.github.io/docs/#workflows describes the format, section 3 of the Steep paper its purpose. An execute
action becomes a step with the command line of its service, a for-each action a loop, an include action an included
program. Variables with a value become parameters; variables set by an action are outputs of its step.

Differences: files are named after the parameter in the step's own folder, so `store` has no effect; items of a loop are
collected in the order of its input.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tradewind.formats import steep_commands as commands
from tradewind.formats.complaints import told
from tradewind.formats.errors import Place, did_you_mean, quoted
from tradewind.formats.names import kind_of
from tradewind.formats.native import name_of
from tradewind.formats.program_checks import Placed, check_program
from tradewind.formats.steep_commands import UnsupportedError, Value
from tradewind.formats.steep_fields import Fields
from tradewind.formats.steep_services import DIRECTORY, FILES, OPTIONAL, Catalogue, Macro, Service
from tradewind.formats.steep_services import Parameter as ServiceParameter
from tradewind.formats.steep_variables import Variables, files_among, identifier
from tradewind.formats.tree import Tree
from tradewind.model.action import Action, Container, Json, Output, Shell
from tradewind.model.expression import RESERVED
from tradewind.model.parameters import located
from tradewind.model.program import NO_RETRIES, Loop, Program, Retries, Step
from tradewind.model.requirement import ANYTHING, Requirement
from tradewind.model.scope import INDEX, ROUND, TAKEN

_WORKFLOW = ("api", "name", "priority", "retries", "vars", "actions")
_ACTIONS: Mapping[str, tuple[str, ...]] = {
    "execute": (
        *("id", "type", "service", "inputs", "parameters", "outputs", "dependsOn", "retries"),
        *("maxInactivity", "maxRuntime", "deadline"),
    ),
    "for": ("id", "type", "input", "enumerator", "output", "dependsOn", "actions", "yieldToOutput", "yieldToInput"),
    "include": ("id", "type", "macro", "inputs", "outputs", "dependsOn"),
}


def program_from_steep(tree: Tree, catalogue: Catalogue) -> Program:
    """Return the program for a Steep workflow."""
    fields = Fields(tree.problems())
    row = fields.mapping((), tree.data, _WORKFLOW)
    api = fields.text(("api",), row.get("api"))
    if api and not re.fullmatch(r"4(\.\d+)*", api):
        fields.problems.add(("api",), f"unknown version {told(api)}", "known are 4.0.0 to 4.7.0")
    name = fields.text(("name",), row.get("name"), default=name_of(tree.file))
    priority = fields.number(("priority",), row.get("priority"), 0)
    defaults = fields.mapping(("retries",), row.get("retries") or {}, ("processChains",))
    retries = fields.retries(("retries", "processChains"), defaults.get("processChains"))
    reader = _Reader(fields, catalogue, str(Path(tree.file).parent.absolute()), retries)
    program = reader.program(name, (), row, int(priority))
    fields.problems.settle()
    return program


def place_of_action(data: Mapping[str, Any], identity: str) -> Place:
    """Return the place of the action that became a step, if the action has an id of its own."""
    waiting: list[tuple[Place, Any]] = [(("actions",), data.get("actions") or [])]
    while waiting:
        place, rows = waiting.pop()
        for at, row in enumerate(rows):
            if identity in (row.get("id"), row.get("service"), row.get("macro")):
                return (*place, at)
            waiting.append(((*place, at, "actions"), row.get("actions") or []))
    return ("actions",)


@dataclass(slots=True)
class _Plan:
    """An action, checked far enough to know the variables it sets."""

    id: str
    place: Place
    row: Mapping[str, Any]
    scope: tuple[str, ...]
    inside: "list[_Plan]" = field(default_factory=list)
    variable: str = ""
    """The name of the item inside a loop."""


@dataclass(slots=True)
class _Reader:
    """A reader of a workflow or macro, with all macros it includes."""

    fields: Fields
    catalogue: Catalogue
    folder: str
    retries: Retries = NO_RETRIES
    trail: tuple[str, ...] = ()
    """The macros on the path to this one."""
    ids: set[str] = field(default_factory=set)
    steps: dict[str, str] = field(default_factory=dict)
    """Ids of steps by the ids of their actions."""
    includes: dict[str, Program] = field(default_factory=dict)
    variables: Variables = field(init=False)

    def program(
        self, name: str, place: Place, row: Mapping[str, Any], priority: int = 0, macro: Macro | None = None
    ) -> Program:
        """Return the program of a workflow or macro."""
        self.variables = Variables(
            self.fields, self.folder, files_among(row.get("actions"), self.catalogue, self.trail)
        )
        plans = self.plans((*place, "actions"), row.get("actions"), ())
        parameters = self.variables.parameters((*place, "vars"), row.get("vars"), macro, self.steps)
        self.setters(plans)
        placed = self.body(plans)
        values = self.variables.values
        wanted = [key for key, value in values.items() if value.text.startswith("steps[") and not value.scope]
        if macro is not None:
            wanted = [key for key in macro.outputs if self.variables.known((*place, "parameters"), key, ()).text]
        outputs = {key: f"{{{{ {values[key].text} }}}}" for key in wanted}
        if not placed:
            self.fields.problems.add((*place, "actions"), "has no actions")
        steps = tuple(each.step for each in placed)
        program = Program(name, steps, parameters, outputs, dict(self.includes), priority)
        if not self.fields.problems.count:
            check_program(program, placed, place, self.fields.problems)
        return program

    # Ids and variables

    def plans(self, place: Place, value: Any, scope: tuple[str, ...]) -> list[_Plan]:
        """Read the actions of a body, and assign ids to their steps."""
        found = []
        for spot, row in self.fields.rows(place, value):
            kind = row.get("type") if isinstance(row, dict) else None
            kind = self.fields.choice((*spot, "type"), kind, tuple(_ACTIONS))
            if kind not in _ACTIONS:
                continue
            row = self.fields.mapping(spot, row, _ACTIONS[kind])  # noqa: PLW2901
            wanted = row.get("id") or row.get("service") or row.get("macro") or f"for_{row.get('enumerator')}"
            plan = _Plan(self.fresh(str(wanted)), spot, row, scope)
            if row.get("id"):
                if str(row["id"]) in self.steps:
                    self.fields.problems.add((*spot, "id"), f"a second action has the id {quoted(str(row['id']))}")
                self.steps[str(row["id"])] = plan.id
            if kind == "for":
                plan.inside = self.plans((*spot, "actions"), row.get("actions"), (*scope, plan.id))
            found.append(plan)
        return found

    def fresh(self, wanted: str) -> str:
        """Return an unused id for a step, as close to the wanted one as possible."""
        name = re.sub(r"[^A-Za-z0-9_-]", "_", wanted)[:90] or "step"
        name = name if name[0].isalpha() or name[0] == "_" else f"_{name}"
        identity, number = name, 1
        while identity in self.ids or identity in TAKEN:
            number += 1
            identity = f"{name}_{number}"
        self.ids.add(identity)
        return identity

    def setters(self, plans: Sequence[_Plan]) -> None:
        """Record the variables that actions set."""
        for plan in plans:
            match plan.row["type"]:
                case "execute":
                    service = self.catalogue.services.get(str(plan.row.get("service")))
                    for spot, row in self.fields.rows((*plan.place, "outputs"), plan.row.get("outputs")):
                        given = self.fields.mapping(spot, row, ("id", "var", "prefix", "store"))
                        self.variables.set(
                            (*spot, "var"), given.get("var"), _output(plan, service, str(given.get("id")))
                        )
                case "include":
                    for spot, row in self.fields.rows((*plan.place, "outputs"), plan.row.get("outputs")):
                        given = self.fields.mapping(spot, row, ("id", "var"))
                        text = f"steps[{plan.id!r}][{str(given.get('id'))!r}]"
                        self.variables.set((*spot, "var"), given.get("var"), Value(text, scope=plan.scope))
                case _:
                    self.set_by_loop(plan)

    def set_by_loop(self, plan: _Plan) -> None:
        """Record the name of a loop's item, and what it collects."""
        name = self.fields.text((*plan.place, "enumerator"), plan.row.get("enumerator"))
        plan.variable = identifier(name, self.ids | TAKEN | RESERVED | {INDEX, ROUND})
        self.variables.set((*plan.place, "enumerator"), name, Value(plan.variable, scope=(*plan.scope, plan.id)))
        if plan.row.get("output") is not None:
            if plan.row.get("yieldToOutput") is None:
                self.fields.problems.add((*plan.place, "output"), "collects nothing", "add yieldToOutput")
            value = Value(f"steps[{plan.id!r}]['output']", scope=plan.scope, is_list=True)
            self.variables.set((*plan.place, "output"), plan.row["output"], value)
        self.setters(plan.inside)

    # Actions

    def body(self, plans: Sequence[_Plan]) -> list[Placed]:
        """Return the steps of a body."""
        makers = {"execute": self.execute, "for": self.loop, "include": self.include}
        return [makers[plan.row["type"]](plan) for plan in plans]

    def needs(self, plan: _Plan) -> tuple[str, ...]:
        """Return the steps that a step waits for, besides those whose outputs it uses."""
        place = (*plan.place, "dependsOn")
        names = self.fields.words(place, plan.row.get("dependsOn"))
        for name in names:
            if name not in self.steps:
                self.fields.problems.add(place, f"no action has the id {quoted(name)}", did_you_mean(name, self.steps))
        return tuple(dict.fromkeys(self.steps[name] for name in names if name in self.steps))

    def execute(self, plan: _Plan) -> Placed:
        """Return a step that calls a service."""
        name = self.fields.text((*plan.place, "service"), plan.row.get("service"))
        service = self.catalogue.services.get(name)
        if name in self.catalogue.unfit:
            self.catalogue.unfit[name].settle()
        if service is None:
            remedy = did_you_mean(name, self.catalogue.services) or "give its metadata with --services"
            self.fields.problems.add((*plan.place, "service"), f"no service named {quoted(name)}", remedy)
            return Placed(Step(plan.id, action=Shell(":")), plan.place, ())
        action, outputs = self.call(plan, service)
        limits, total = self.fields.limits(plan.place, plan.row)
        own = self.fields.retries((*plan.place, "retries"), plan.row.get("retries"))
        found = Requirement(service.capabilities)
        step = Step(
            plan.id,
            name=service.id,
            action=action,
            needs=self.needs(plan),
            outputs=outputs,
            requirement=ANYTHING if found == ANYTHING else found,
            retries=next((each for each in (own, service.retries) if each != NO_RETRIES), self.retries),
            limits=type(limits)(limits.run or service.limits.run, limits.silence or service.limits.silence),
            total=total or service.total,
        )
        return Placed(step, plan.place, ())

    def call(self, plan: _Plan, service: Service) -> tuple[Action, dict[str, Output]]:
        """Return the command of a step, and its outputs."""
        inputs = self.given(plan, ("inputs", "parameters"), service)
        prefixes = self.prefixes(plan, service)
        words: list[str] = []
        outputs: dict[str, Output] = {}
        for parameter in service.parameters:
            try:
                if parameter.is_output:
                    if parameter.id in prefixes:
                        outputs |= commands.output_of(parameter, prefixes[parameter.id])
                        words += [commands.literal(parameter.label)] if parameter.label else []
                        words.append(commands.output_word(parameter))
                    elif parameter.least:
                        reason = f"{quoted(service.id)} needs a variable for its output {quoted(parameter.id)}"
                        self.fields.problems.add((*plan.place, "outputs"), reason)
                else:
                    values = self.completed(plan, service, parameter, inputs.get(parameter.id, []))
                    words += commands.words(parameter, values)
            except UnsupportedError as error:
                self.fields.problems.add(plan.place, f"{quoted(parameter.id)}: {error}")
        if service.is_container:
            return Container(service.path, " ".join(words), service.options, entrypoint=True), outputs
        return Shell(" ".join([commands.literal(service.path), *words])), outputs

    def completed(
        self, plan: _Plan, service: Service, parameter: ServiceParameter, given: list[Value]
    ) -> Sequence[Value]:
        """Return the values of a parameter with its default, within its cardinality."""
        place = (*plan.place, "inputs")
        if not given and parameter.default is not None and parameter.least:
            return [Value(constant=parameter.default, is_list=isinstance(parameter.default, list))]
        counts = [value.count if value.is_list is not False else 1 for value in given]
        known = sum(count or 0 for count in counts)
        if known < parameter.least and None not in counts:
            reason = f"{quoted(service.id)} needs {'a value' if parameter.least == 1 else f'{parameter.least} values'}"
            self.fields.problems.add(place, f"{reason} for {quoted(parameter.id)}")
        if known > parameter.most and parameter.type != DIRECTORY:
            reason = f"{quoted(service.id)} takes {parameter.most} of {quoted(parameter.id)}, not {known}"
            self.fields.problems.add(place, reason)
        return given

    def given(self, plan: _Plan, keys: Sequence[str], service: Service) -> dict[str, list[Value]]:
        """Return the values that an action passes, by parameter."""
        known = {each.id: each for each in service.parameters if not each.is_output}
        found: dict[str, list[Value]] = {}
        for key in keys:
            for spot, row in self.fields.rows((*plan.place, key), plan.row.get(key)):
                part = self.fields.mapping(spot, row, ("id", "var", "value"))
                name = self.fields.text((*spot, "id"), part.get("id"))
                if name not in known:
                    self.fields.problems.add(
                        (*spot, "id"), f"{quoted(service.id)} has no input {quoted(name)}", did_you_mean(name, known)
                    )
                    continue
                value = self.variables.given(spot, part, plan.scope)
                if not value.text and known[name].type in FILES and isinstance(value.constant, str):
                    value = Value(constant=located(value.constant, self.folder), count=1, is_list=False)
                found.setdefault(name, []).append(value)
        return found

    def prefixes(self, plan: _Plan, service: Service) -> dict[str, str]:
        """Return the outputs that have a variable, with the prefixes of their names."""
        known = {each.id for each in service.parameters if each.is_output}
        found: dict[str, str] = {}
        for spot, row in self.fields.rows((*plan.place, "outputs"), plan.row.get("outputs")):
            part = row if isinstance(row, dict) else {}
            name = self.fields.text((*spot, "id"), part.get("id"))
            if name not in known:
                self.fields.problems.add(
                    (*spot, "id"), f"{quoted(service.id)} has no output {quoted(name)}", did_you_mean(name, known)
                )
            if name in found:
                reason = f"a second variable for the output {quoted(name)} of {quoted(service.id)}"
                self.fields.problems.add(spot, reason, "remove one of them")
            found[name] = self.fields.text((*spot, "prefix"), part.get("prefix"), default="")
        return found

    def loop(self, plan: _Plan) -> Placed:
        """Return a loop over the items of a list."""
        source = self.variables.known((*plan.place, "input"), plan.row.get("input"), plan.scope)
        inside = self.body(plan.inside)
        scope = (*plan.scope, plan.id)
        yields = {
            key: self.variables.known((*plan.place, key), plan.row[key], scope).text
            for key in ("yieldToOutput", "yieldToInput")
            if plan.row.get(key) is not None
        }
        feed = f"{{{{ {yields['yieldToInput']} }}}}" if yields.get("yieldToInput") else ""
        gives = {"output": f"{{{{ {yields['yieldToOutput']} }}}}"} if yields.get("yieldToOutput") else {}
        over = f"{{{{ {source.items} }}}}" if source.text else source.constant
        if not inside:
            self.fields.problems.add((*plan.place, "actions"), "has no actions")
        step = Step(
            plan.id,
            name=kind_of(plan.id),
            steps=tuple(each.step for each in inside),
            needs=self.needs(plan),
            gives=gives,
            loop=Loop(over, plan.variable, feed),
        )
        return Placed(step, plan.place, tuple(inside))

    def include(self, plan: _Plan) -> Placed:
        """Return a step that includes a macro."""
        name = self.fields.text((*plan.place, "macro"), plan.row.get("macro"))
        macro = self.catalogue.macros.get(name)
        if macro is None or name in self.trail:
            loop = " -> ".join((*self.trail, name))
            reason = f"no macro named {quoted(name)}" if macro is None else f"the macro includes itself: {loop}"
            remedy = did_you_mean(name, self.catalogue.macros) or "give it with --services" if macro is None else ""
            self.fields.problems.add((*plan.place, "macro"), reason, remedy)
            return Placed(Step(plan.id, action=Shell(":")), plan.place, ())
        if name not in self.includes:
            self.includes[name] = self.macro(macro)
        keys = dict(zip(macro.inputs, self.includes[name].parameters, strict=False))
        inputs: dict[str, Json] = {}
        for spot, row in self.fields.rows((*plan.place, "inputs"), plan.row.get("inputs")):
            part = self.fields.mapping(spot, row, ("id", "var", "value"))
            key = self.fields.text((*spot, "id"), part.get("id"))
            value = self.variables.given(spot, part, plan.scope)
            if keys.get(key, key) in inputs:
                self.fields.problems.add(spot, f"{quoted(key)} is passed to {quoted(name)} twice", "remove one of them")
            inputs[keys.get(key, key)] = f"{{{{ {value.text} }}}}" if value.text else value.constant
        self.check_outputs(plan, macro)
        return Placed(Step(plan.id, name, include=name, needs=self.needs(plan), inputs=inputs), plan.place, ())

    def check_outputs(self, plan: _Plan, macro: Macro) -> None:
        """Each output of a macro needs exactly one variable."""
        place = (*plan.place, "outputs")
        given: set[str] = set()
        for spot, row in self.fields.rows(place, plan.row.get("outputs")):
            key = str(row.get("id")) if isinstance(row, dict) else ""
            if key in given:
                reason = f"a second variable for the output {quoted(key)} of {quoted(macro.id)}"
                self.fields.problems.add(spot, reason, "remove one of them")
            given.add(key)
        for key in macro.outputs:
            if key not in given:
                self.fields.problems.add(place, f"{quoted(macro.id)} needs a variable for its output {quoted(key)}")

    def macro(self, macro: Macro) -> Program:
        """Return the program of a macro, read from its own file."""
        fields = Fields(macro.tree.problems())
        folder = str(Path(macro.tree.file).parent.absolute())
        inner = _Reader(fields, self.catalogue, folder, self.retries, (*self.trail, macro.id))
        program = inner.program(macro.id, macro.place, macro.body, macro=macro)
        fields.problems.settle()
        return program


def _output(plan: _Plan, service: Service | None, name: str) -> Value:
    """Return the value of a variable set by an execute action."""
    kinds = {each.id: each for each in service.parameters} if service is not None else {}
    text = f"steps[{plan.id!r}][{name!r}]"
    if name not in kinds:
        return Value(text, scope=plan.scope)
    kind = kinds[name].type
    folder = f"steps[{plan.id!r}][{commands.folder_of(kinds[name])!r}]" if kind == DIRECTORY else ""
    return Value(text, scope=plan.scope, is_list=kind in (DIRECTORY, OPTIONAL), folder=folder)
