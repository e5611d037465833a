"""Check that the steps of a program fit together: every name that an expression uses must be defined and visible.

All problems are found before anything runs, each with its place: unknown steps, outputs, parameters and variables,
names that are only visible inside a body, dependency cycles, and missing or unknown inputs of included programs.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tradewind.formats.errors import Place, Problems, did_you_mean, quoted
from tradewind.model.action import Json
from tradewind.model.expression import RESERVED, ExpressionError, Reference, references
from tradewind.model.program import Phase, Program, Step, fields, output_names
from tradewind.model.scope import (
    INDEX,
    OUTPUTS,
    PARAMS,
    ROUND,
    STEPS,
    TAKEN,
    bare,
    loop_names,
    names_in,
    own_names,
    plain,
    unfolded,
)
from tradewind.model.workflow import CycleError, Task, arrange

_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Placed(NamedTuple):
    """A step and its place in the file."""

    step: Step
    place: Place
    inside: "tuple[Placed, ...]"


@dataclass(frozen=True, slots=True)
class _Sight:
    """The scope of an expression: steps by name, variables, and the enclosing steps."""

    steps: Mapping[str, Step]
    variables: frozenset[str]
    around: frozenset[str]

    def within(self, body: Sequence[Placed], variables: frozenset[str], owner: str = "") -> "_Sight":
        """Return the scope inside a body, which includes everything visible around it."""
        steps = {**self.steps, **{placed.step.id: placed.step for placed in body}}
        return _Sight(steps, self.variables | variables, self.around | {owner} if owner else self.around)


def check_program(program: Program, steps: Sequence[Placed], place: Place, problems: Problems) -> None:
    """Report everything that does not fit together in a program."""
    checker = _Checker(program, {}, problems)
    checker.names(steps, frozenset())
    before = problems.count
    sight = _Sight({}, frozenset(), frozenset()).within(steps, frozenset())
    checker.body(steps, sight)
    for name, value in program.outputs.items():
        checker.value((*place, "outputs", name), value, sight, frozenset(), "")
    for name in program.parameters:
        if not _IDENTIFIER.fullmatch(name):
            remedy = "use letters, digits and _"
            problems.add((*place, "params", name), "cannot be used as a name in expressions", remedy)
    if problems.count == before:
        checker.cycles(steps)


@dataclass(slots=True)
class _Checker:
    program: Program
    all: dict[str, Placed]
    """Every step of the program, nested ones included."""
    problems: Problems

    def names(self, steps: Sequence[Placed], variables: frozenset[str]) -> None:
        """Report ids and variables that clash, or that expressions could not use."""
        for placed in steps:
            step, place = placed.step, placed.place
            if not _ID.fullmatch(step.id):
                remedy = "use a letter, then letters, digits, - and _"
                self.problems.add(place, f"{quoted(step.id)} cannot be the id of a step", remedy)
            elif step.id in TAKEN | variables:
                reason = f"the id {quoted(step.id)} has another meaning in expressions"
                self.problems.add(place, reason, "rename the step")
            elif step.id in self.all:
                self.problems.add(place, f"a second step has the id {quoted(step.id)}", "ids are unique in a program")
            self.all.setdefault(step.id, placed)
            if step.loop is not None:
                variable = step.loop.variable
                if not _IDENTIFIER.fullmatch(variable) or variable in TAKEN | RESERVED:
                    self.problems.add((*place, "as"), f"{quoted(variable)} cannot be the name of a variable")
            for name in step.inputs:
                if not _IDENTIFIER.fullmatch(name) or (name in TAKEN | RESERVED and not step.include):
                    self.problems.add((*place, "inputs", name), f"{quoted(name)} cannot be the name of an input")
            self.names(placed.inside, variables | loop_names(step.loop))

    def body(self, steps: Sequence[Placed], sight: _Sight) -> None:
        """Check all steps of a body, and those nested in them."""
        for placed in steps:
            step, place = placed.step, placed.place
            variables = loop_names(step.loop)
            for name in step.needs:
                self.reference((*place, "needs"), Reference(name), sight, step.id, is_need=True)
            inner = sight.within(placed.inside, variables, step.id if placed.inside else "")
            own = sight.within((), variables)
            for field in fields(step):
                if field.phase is Phase.AFTER:
                    seen = inner if placed.inside else own
                    self.value((*place, *field.place), field.value, seen, frozenset(), "")
                else:
                    seen = sight if field.place[0] in ("when", "for_each") else own
                    self.value((*place, *field.place), field.value, seen, own_names(step, field), step.id)
            self.include(placed)
            self.body(placed.inside, inner)

    def value(self, place: Place, value: Json, sight: _Sight, own: frozenset[str], step: str) -> None:
        """Check the expressions of a value."""
        try:
            found = [reference for reference in references(value) if reference.name not in own]
        except ExpressionError as error:
            self.problems.add(place, str(error))
            return
        for reference in dict.fromkeys(found):
            self.reference(place, reference, sight, step)

    def reference(self, place: Place, reference: Reference, sight: _Sight, step: str, *, is_need: bool = False) -> None:
        """Check a reference."""
        if reference.name == STEPS and not is_need:
            if not reference.path or not isinstance(reference.path[0], str):
                self.problems.add(place, "'steps' takes the id of a step", "write steps['some-id']")
                return
        elif reference.name == PARAMS and not is_need:
            self.parameter(place, reference)
            return
        elif reference.name in sight.variables and not is_need:
            if reference.path and reference.name in (INDEX, ROUND):
                remedy = f"for a step of that name, write steps['{reference.name}']"
                self.problems.add(place, f"{quoted(reference.name)} is the position of the item", remedy)
            return
        target = plain(reference)
        if target.name == step or target.name in sight.around:
            inside = f"waits for {quoted(target.name)}, which contains it"
            self.problems.add(place, "waits for itself" if target.name == step else inside)
        elif target.name not in sight.steps:
            self.unknown(place, target, sight, is_need=is_need)
        elif target.path:
            self.output(place, target, sight.steps[target.name])

    def parameter(self, place: Place, reference: Reference) -> None:
        """Check a reference to a parameter."""
        if reference.path and reference.path[0] not in self.program.parameters:
            name = str(reference.path[0])
            remedy = did_you_mean(name, self.program.parameters)
            self.problems.add(place, f"no parameter named {quoted(name)}", remedy or "add it to 'params:'")

    def output(self, place: Place, reference: Reference, step: Step) -> None:
        """Check a reference to an output."""
        known = output_names(step, self.program)
        name = reference.path[0]
        if name not in known and (not step.include or step.include in self.program.includes):
            there = f"it has {', '.join(sorted(known))}" if known else "it declares none; add 'outputs:' to it"
            remedy = did_you_mean(str(name), sorted(known)) or there
            self.problems.add(place, f"the step {quoted(step.id)} has no output {quoted(str(name))}", remedy)

    def unknown(self, place: Place, reference: Reference, sight: _Sight, *, is_need: bool) -> None:
        """Report a name that is not visible."""
        name = reference.name
        what = "no step named" if is_need else "unknown name"
        self.problems.add(place, f"{what} {quoted(name)}", self._remedy(name, sight, is_need=is_need))

    def _remedy(self, name: str, sight: _Sight, *, is_need: bool) -> str:
        if self.problems.full:
            return ""
        if not is_need and name in self.program.parameters:
            return f"write params.{name}"
        if name in self.all:
            return "it is nested in another step; only the outputs of that step are visible here"
        loops = (placed.step.loop for placed in self.all.values())
        if name in (INDEX, ROUND) or any(loop is not None and loop.variable == name for loop in loops):
            return "it is only visible inside its loop"
        if name == OUTPUTS:
            return "it is only visible in the step's own command"
        hyphened = next((each for each in sight.steps if each.split("-")[0] == name), "")
        if hyphened and not is_need:
            return f"write steps['{hyphened}'] for a step with - in its id"
        known = list(sight.steps) if is_need else [*sight.steps, *sorted(sight.variables), PARAMS]
        return did_you_mean(name, known)

    def include(self, placed: Placed) -> None:
        """Check the inputs of an included program."""
        step = placed.step
        included = self.program.includes.get(step.include) if step.include else None
        if included is None:
            return
        for name in step.inputs:
            if name not in included.parameters:
                remedy = did_you_mean(name, included.parameters)
                place = (*placed.place, "inputs", name)
                self.problems.add(place, f"{quoted(step.include)} has no parameter {quoted(name)}", remedy)
        for name, parameter in included.parameters.items():
            if parameter.required and name not in step.inputs:
                reason = f"{quoted(step.include)} requires the parameter {quoted(name)}"
                self.problems.add((*placed.place, "inputs"), reason)

    def cycles(self, steps: Sequence[Placed]) -> None:
        """Report steps of a body that wait for each other."""
        index = {placed.step.id: at for at, placed in enumerate(steps)}
        whole = [unfolded(placed.step, self.program) for placed in steps]
        rows = [sorted({index[bare(name)] for name in names_in(step) if bare(name) in index}) for step in whole]
        try:
            arrange("", [Task(step.id, step.id) for step in whole], rows)
        except CycleError as error:
            place = steps[index[error.cycle[0]]].place
            self.problems.add(place, str(error).replace("tasks wait", "steps wait"))
        for placed in steps:
            self.cycles(placed.inside)
