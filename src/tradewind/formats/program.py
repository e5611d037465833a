"""Convert native programs into the model.

`docs/workflows.md` describes the format. `program_checks` checks whether the parts fit together.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import ValidationError

from tradewind.formats.complaints import check, told
from tradewind.formats.documents import RetryPart
from tradewind.formats.errors import FormatError, Place, Problems, did_you_mean, quoted
from tradewind.formats.names import kind_of
from tradewind.formats.native import name_of
from tradewind.formats.program_checks import Placed, check_program
from tradewind.formats.program_parts import (
    PARTS,
    DivisiblePart,
    LimitsPart,
    OutputPart,
    ParameterPart,
    ProgramDocument,
    ProgramPart,
    ReducePart,
    RepeatPart,
    RetriesPart,
    StepPart,
    StepsField,
)
from tradewind.formats.tree import Tree
from tradewind.model.action import Action, Container, Divisible, Function, Limits, Lot, Output, Shell
from tradewind.model.bounds import flaw
from tradewind.model.expression import OPEN
from tradewind.model.parameters import WANTED, fits, located
from tradewind.model.program import NO_RETRIES, Kind, Loop, Parameter, Program, Retries, Step
from tradewind.model.requirement import ANYTHING, Requirement, amounts_of
from tradewind.model.units import Duration
from tradewind.model.workflow import ONCE, Retry

LoadProgram: TypeAlias = Callable[[Path], Program]
"""Loads a program from another file."""

_VALUES = frozenset({"stdout", "json", "return"})
_WAYS = ("run", "python", "container", "divisible", "steps", "include")
_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_WILD = re.compile(r"[*?\[]")


def program_from(tree: Tree, load: LoadProgram, *, at_home: bool = True) -> Program:
    """Return the program in a native file with its includes; `at_home`: paths are relative to the file's folder."""
    document = check(ProgramDocument, tree, PARTS)
    problems = tree.problems()
    reader = _Reader(document, Path(tree.file).parent, load, problems, at_home=at_home)
    program = reader.program(document.name or name_of(tree.file), document, (), document.priority, document.deadline)
    for name in document.programs:
        reader.local(name)
    problems.settle()
    return program


class _Reader:
    """A reader of the programs in one file; an included program is read at its first use."""

    def __init__(
        self, document: ProgramDocument, folder: Path, load: LoadProgram, problems: Problems, *, at_home: bool
    ) -> None:
        self.home = str(folder.absolute()) if at_home else ""
        self.parts = document.programs
        self.shell = document.shell or ""
        self.folder = folder
        self.load = load
        self.problems = problems
        self.done: dict[str, Program | None] = {}

    def program(
        self, name: str, part: ProgramPart, place: Place, priority: int = 0, deadline: Duration | None = None
    ) -> Program:
        """Read and check a program with its includes."""
        includes: dict[str, Program] = {}
        placed = self.steps(part.steps, (*place, "steps"), includes)
        parameters = {key: self.parameter((*place, "params", key), value) for key, value in part.params.items()}
        steps = tuple(each.step for each in placed)
        program = Program(name, steps, parameters, dict(part.outputs), includes, priority, deadline)
        check_program(program, placed, place, self.problems)
        return program

    def local(self, name: str) -> Program | None:
        """Return a program of this file; None while it is being read, because it then includes itself."""
        if name not in self.done:
            self.done[name] = None
            self.done[name] = self.program(name, self.parts[name], ("programs", name))
        return self.done[name]

    def include(self, name: str, place: Place, includes: dict[str, Program]) -> None:
        """Find an included program: in this file, or by its path."""
        if name in includes:
            return
        found: Program | None = None
        if name in self.parts:
            found = self.local(name)
            if found is None:
                self.problems.add(place, f"the program {quoted(name)} includes itself")
        else:
            try:
                found = self.load(self.folder / name)
            except FormatError as error:
                if error.line is not None or error.reason != "no such file":
                    raise
                remedy = did_you_mean(name, self.parts)
                self.problems.add(place, f"no program and no file named {quoted(name)}", remedy)
        if found is not None:
            includes[name] = found

    def steps(self, parts: StepsField, place: Place, includes: dict[str, Program]) -> list[Placed]:
        """Read steps with their places in the file."""
        if not parts:
            self.problems.add(place, "has no steps")
        if isinstance(parts, list):
            return [self.step((*place, at), part.id, part, includes) for at, part in enumerate(parts)]
        return [self.step((*place, identity), identity, part, includes) for identity, part in parts.items()]

    def step(self, place: Place, identity: str, part: StepPart, includes: dict[str, Program]) -> Placed:
        """Read a step with its nested steps."""
        inside = () if part.steps is None else tuple(self.steps(part.steps, (*place, "steps"), includes))
        if part.include is not None:
            self.include(part.include, (*place, "include"), includes)
        self.kinds(place, part)
        acts = part.steps is None and part.include is None
        limits, total = _limits(part.timeout)
        step = Step(
            id=identity,
            name=part.name or kind_of(identity),
            action=_action(part, part.shell or self.shell),
            steps=tuple(each.step for each in inside),
            include=part.include or "",
            needs=tuple(dict.fromkeys(part.needs)),
            inputs=part.inputs,
            outputs=self.outputs((*place, "outputs"), part) if acts else {},
            gives=self.gives((*place, "outputs"), part) if part.steps is not None else {},
            requirement=self.requirement(place, part),
            runtime=part.runtime,
            runtimes=part.runtimes,
            retries=_retries(part.retries),
            limits=limits,
            total=total,
            environment={name: value if isinstance(value, str) else told(value) for name, value in part.env.items()},
            checkpoint=part.checkpoint,
            alone=part.alone or part.divisible is not None,
            cache=part.cache,
            when=part.when if isinstance(part.when, bool) else expression(part.when),
            loop=self.loop(part),
        )
        return Placed(step, place, inside)

    def kinds(self, place: Place, part: StepPart) -> None:
        """Report a step that does not have exactly one action, or has fields that do not apply to it."""
        ways = [way for way in _WAYS if getattr(part, way) is not None]
        if not ways:
            remedy = "add run:, python:, container:, divisible:, steps: or include:"
            self.problems.add(place, "has no action", remedy)
        elif len(ways) > 1:
            self.problems.add(place, f"has {' and '.join(ways)}", "a step has one action; split it into two steps")
        elif ways[0] in ("steps", "include"):
            for field in sorted(part.model_fields_set & _OF_ACTIONS):
                self.problems.add((*place, field), "has no effect here", "set it on the nested steps")
            if ways[0] == "steps" and part.inputs:
                self.problems.add((*place, "inputs"), "has no effect here", "nested steps see all enclosing names")
            if ways[0] == "include" and part.outputs:
                remedy = "the step has the outputs of the included program"
                self.problems.add((*place, "outputs"), "has no effect here", remedy)
        elif part.shell is not None and ways[0] == "python":
            self.problems.add((*place, "shell"), "has no effect here", "a Python function runs without a shell")
        self.function((*place, "python"), part.python)
        if part.divisible is not None:
            self.divisible((*place, "divisible"), part.divisible)
        if part.for_each is None:
            for field in ("as", "repeat", "expect"):
                if ("as_" if field == "as" else field) in part.model_fields_set:
                    self.problems.add((*place, field), "has no effect without for_each")

    def function(self, place: Place, name: str | None) -> None:
        """Report text that is not the name of a function."""
        if name is not None and not _FUNCTION.fullmatch(name):
            self.problems.add(place, f"{quoted(name)} is not a function", "write module:function")

    def divisible(self, place: Place, part: DivisiblePart) -> None:
        """Report a divisible step that does not have exactly one action and one reducer."""
        ways: list[tuple[Place, DivisiblePart | ReducePart]] = [(place, part)]
        if isinstance(part.reduce, ReducePart):
            ways.append(((*place, "reduce"), part.reduce))
        for where, each in ways:
            if (each.run is None) == (each.python is None):
                self.problems.add(where, "needs either run: or python:")
            self.function((*where, "python"), each.python)
        if isinstance(part.iterations, int) and part.iterations < 1:
            self.problems.add((*place, "iterations"), f"must be greater than 0, not {part.iterations}")
        if part.partitions is not None and part.partitions > part.most:
            self.problems.add((*place, "partitions"), f"exceeds the maximum of {part.most}")

    def outputs(self, place: Place, part: StepPart) -> dict[str, Output]:
        """Read the outputs of an action."""
        if isinstance(part.outputs, list):
            if part.python is None and part.divisible is None and part.outputs:
                self.problems.add(place, "cannot be a list", "give the source of each output, as in 'bam: out.bam'")
            return {name: Output(value="return") for name in part.outputs}
        found: dict[str, Output] = {}
        for name, given in part.outputs.items():
            output = self.output((*place, name), given)
            if output is not None and output.value == "return" and part.python is None and part.divisible is None:
                remedy = "use stdout, json or a file"
                self.problems.add((*place, name), "only a python or divisible step returns a value", remedy)
            if output is not None:
                found[name] = output
        return found

    def output(self, place: Place, given: Any) -> Output | None:
        """Read one output of an action."""
        if isinstance(given, str):
            given = {"value": given} if given in _VALUES else {"path": given}
        if not isinstance(given, dict):
            self.problems.add(place, f"must be a path, stdout, json, return or a mapping, not {told(given)}")
            return None
        try:
            part = OutputPart.model_validate(given)
        except ValidationError as error:
            known = "known are many, optional, path, value"
            for detail in error.errors(include_url=False):
                self.problems.add((*place, *detail["loc"]), detail["msg"].lower(), known)
            return None
        if (part.path is None) == (part.value is None):
            self.problems.add(place, "needs either a path or a value")
            return None
        path = part.path or ""
        wild = bool(_WILD.search(re.sub(r"\{\{.*?\}\}", "", path)))
        return Output(path, wild if part.many is None else part.many, part.value or "", part.optional)

    def gives(self, place: Place, part: StepPart) -> dict[str, Any]:
        """Read the outputs of a step with nested steps."""
        if isinstance(part.outputs, list):
            if part.outputs:
                self.problems.add(
                    place, "cannot be a list", "give the value of each output, as in 'bam: \"{{ sort.bam }}\"'"
                )
            return {}
        return dict(part.outputs)

    @staticmethod
    def loop(part: StepPart) -> Loop | None:
        """Read the loop of a step, if it has one."""
        if part.for_each is None:
            return None
        over = expression(part.for_each) if isinstance(part.for_each, str) else part.for_each
        match part.repeat:
            case RepeatPart():
                return Loop(over, part.as_, expression(part.repeat.add), part.repeat.most, part.expect)
            case str():
                return Loop(over, part.as_, expression(part.repeat), expected=part.expect)
            case _:
                return Loop(over, part.as_, expected=part.expect)

    def requirement(self, place: Place, part: StepPart) -> Requirement:
        """Read the requirement of a step."""
        counts = dict(part.amounts)
        for name, count in (("cpus", part.cpus), ("memory", part.memory), ("gpus", part.gpus)):
            if count is not None and name in counts:
                self.problems.add((*place, "amounts", name), f"{name} is given twice", "give it once")
            if count is not None:
                counts[name] = count
        requirement = Requirement(frozenset(part.capabilities), amounts_of(counts))
        return ANYTHING if requirement == ANYTHING else requirement

    def parameter(self, place: Place, given: Any) -> Parameter:
        """Read a parameter: nothing, a default, or a mapping."""
        if given is None:
            return Parameter(required=True)
        if reason := flaw(given):
            self.problems.add(place, reason)
            return Parameter()
        if not isinstance(given, dict):
            return Parameter(given)
        try:
            part = ParameterPart.model_validate(given)
        except ValidationError as error:
            for detail in error.errors(include_url=False):
                fields = ", ".join(sorted(ParameterPart.model_fields))
                remedy = f"known are {fields}; a mapping is written as default:"
                if "type" in detail["loc"]:
                    remedy = f"choose from {', '.join(Kind)}"
                self.problems.add((*place, *detail["loc"]), "is invalid", remedy)
            return Parameter()
        if not fits(part.type, part.default):
            self.problems.add((*place, "default"), f"must be {WANTED[part.type]}, not {told(part.default)}")
        required = "default" not in part.model_fields_set if part.required is None else part.required
        default = part.default
        if part.type is Kind.FILE and isinstance(default, str):
            default = located(default, self.home)
        return Parameter(default, required, part.type, part.description)


_OF_ACTIONS = frozenset(
    {"capabilities", "cpus", "memory", "gpus", "amounts", "runtime", "runtimes", "retries", "timeout", "env"}
    | {"checkpoint", "alone", "cache", "shell"}
)
"""Fields that have no effect on a step with nested steps."""


def expression(text: str) -> str:
    """Return the text of an expression as a template."""
    return text if OPEN in text else f"{{{{ {text.strip()} }}}}"


def _action(part: StepPart, shell: str) -> Action | None:
    if part.run is not None:
        return Shell(part.run, shell)
    if part.python is not None:
        return Function(part.python)
    if part.divisible is not None:
        return _divisible(part.divisible, shell)
    given = part.container
    return None if given is None else Container(given.image, given.run, tuple(given.options), given.entrypoint, shell)


def _divisible(part: DivisiblePart, shell: str) -> Divisible:
    reducer, reduce = "concatenate", ""
    if not isinstance(part.reduce, ReducePart):
        reducer = part.reduce
    elif part.reduce.run is not None:
        reducer, reduce = "run", part.reduce.run
    else:
        reducer, reduce = "python", part.reduce.python or ""
    return Divisible(
        iterations=part.iterations if isinstance(part.iterations, int) else expression(part.iterations),
        command=part.run or "",
        target=part.python or "",
        within=part.within,
        initial=part.partitions,
        maximum=part.most,
        balancer=part.balancer or "",
        reducer=reducer,
        reduce=reduce,
        lots={name: Lot(lot.slots, lot.speed) for name, lot in part.sites.items()},
        shell=shell,
    )


def _limits(part: int | LimitsPart | None) -> tuple[Limits, Duration | None]:
    if isinstance(part, LimitsPart):
        return Limits(part.run, part.silence), part.total
    return Limits(part), None


def _retries(part: int | RetriesPart) -> Retries:
    if isinstance(part, int):
        if not part:
            return NO_RETRIES
        retry = Retry(attempts=part + 1)
        return Retries(retry, retry, retry, growth=2.0)

    def cause(given: int | RetryPart) -> Retry:
        if isinstance(given, RetryPart):
            return Retry(given.attempts, delay=given.delay, factor=given.factor, max_delay=given.max_delay)
        if not given:
            return ONCE
        return Retry(given + 1, delay=part.delay, factor=part.factor, max_delay=part.max_delay)

    lost = Retry(attempts=part.lost)
    return Retries(cause(part.error), cause(part.memory), cause(part.timeout), lost, part.memory_growth)


def place_of_step(data: Mapping[str, Any], identity: str) -> Place:
    """Return the place of a step in a document."""
    waiting: list[tuple[Place, Any]] = [((), data)]
    while waiting:
        place, holder = waiting.pop()
        steps = holder.get("steps") or {}
        listed = isinstance(steps, list)
        for key, step in enumerate(steps) if listed else steps.items():
            if (step["id"] if listed else key) == identity:
                return (*place, "steps", key)
            waiting.append(((*place, "steps", key), step))
    return ()
