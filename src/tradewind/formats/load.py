"""Load any file that Tradewind reads; the format is detected from its content.

    document = load("montage.yaml")          # a workflow, a program, machines or a scenario
    workflow = load_workflow("Montage_25.xml.gz")

Every error in a file, from a missing file to a cycle of tasks, is a `FormatError`.
"""

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from tradewind.formats.errors import FormatError, Locate, nowhere
from tradewind.formats.feasible import check_feasible
from tradewind.formats.json_text import read_json
from tradewind.formats.native import machines_from, workflow_from
from tradewind.formats.source import LARGEST, Source, most_unpacked, read_source, source_of
from tradewind.formats.tree import Tree
from tradewind.formats.yaml_text import read_yaml
from tradewind.model.machine import MachineType
from tradewind.model.program import Program
from tradewind.model.workflow import Workflow

if TYPE_CHECKING:
    from tradewind.formats.scenario import Neighbours
    from tradewind.model.scenario import Scenario

_A_WORKFLOW, _A_PROGRAM, _MACHINE_TYPES, _A_SCENARIO = "a workflow", "a program", "machine types", "a scenario"
_MARKS = {
    _A_WORKFLOW: "a workflow has 'tasks'",
    _A_PROGRAM: "a program has 'steps'",
    _MACHINE_TYPES: "a file of machine types has 'machines'",
    _A_SCENARIO: "a scenario has 'workload' and 'machines'",
}
"""The fields that identify each kind of native file."""

Content: TypeAlias = "Workflow | Program | Scenario | tuple[MachineType, ...]"

Include: TypeAlias = Callable[[Path], Program]
"""Finds a program that another program includes."""


def _no_line(_: str) -> int | None:
    return None


@dataclass(frozen=True, slots=True)
class Document:
    """The content of a file."""

    file: str
    format: str
    """`native`, `wfformat`, `dax` or `steep`."""
    content: Content
    line_of: Callable[[str], int | None] = field(default=_no_line, compare=False)
    """Returns the line on which a task or step begins."""
    locate: Locate = field(default=nowhere, compare=False)
    """Returns the lines of places in a program."""

    @property
    def kind(self) -> str:
        """Describe the content in words."""
        if isinstance(self.content, Workflow):
            return "workflow"
        if isinstance(self.content, Program):
            return "program"
        return "machines" if isinstance(self.content, tuple) else "scenario"


def load(path: str | Path, *, lenient: bool = False, services: Sequence[Path] | None = None) -> Document:
    """Load a file of any format; `lenient` reads negative run times and sizes of foreign formats as zero.

    `services` are files and folders with the services and macros that a Steep workflow uses; None: those next to it.
    """
    with _no_collection():
        source = read_source(path)
        return _recognise(source, lenient=lenient, services=lambda: _services(Path(path).parent, services))


@contextmanager
def _no_collection() -> Iterator[None]:
    """Suspend the garbage collector, which would repeatedly walk the millions of values of a large file."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _load(path: str | Path, *, lenient: bool, instead_of_scenario: str = "") -> Document:
    """Load a file; `instead_of_scenario` rejects a scenario unread, because it might refer back to the file."""
    return _recognise(read_source(path), lenient=lenient, instead_of_scenario=instead_of_scenario)


def _recognise(
    source: Source,
    *,
    lenient: bool = False,
    instead_of_scenario: str = "",
    include: Include | None = None,
    services: Callable[[], Sequence[Source]] = tuple,
) -> Document:
    """Detect the format of a text and read it; `include` finds included programs, by default next to the file."""
    if source.text.lstrip()[:1] == "<":
        from tradewind.formats.dax import workflow_from_dax  # noqa: PLC0415 - not every run needs every format

        workflow, lines = workflow_from_dax(source, lenient=lenient)
        return Document(source.file, "dax", workflow, lines.get)
    tree = _read_tree(source)
    if "schemaVersion" in tree.data or isinstance(tree.data.get("workflow"), dict):
        from tradewind.formats.wfformat import place_of_task, workflow_from_wfformat  # noqa: PLC0415

        workflow = workflow_from_wfformat(tree, lenient=lenient)
        return Document(
            source.file, "wfformat", workflow, lambda identity: _line(tree, place_of_task(tree.data, identity))
        )
    if "api" in tree.data and "actions" in tree.data:
        return _steep(tree, services())
    if "workload" in tree.data and instead_of_scenario:
        reason = f"contains a scenario, not {instead_of_scenario}"
        raise FormatError(source.file, reason, remedy=_MARKS[instead_of_scenario])
    return _native(tree, lenient=lenient, include=include)


def load_text(
    raw: bytes, name: str, *, files: Mapping[str, bytes] = MappingProxyType({}), largest: int = LARGEST
) -> Document:
    """Load bytes from elsewhere, such as a request, without reading any file of this host.

    Included programs are looked up in `files` by name. A scenario is rejected, because it refers to files and runs
    nothing. Compressed bytes may expand to at most `largest` bytes, and to a limited multiple of their size.
    """
    texts = {each: source_of(data, each) for each, data in files.items()}

    def include(path: Path, trail: tuple[str, ...] = ()) -> Program:
        at = path.as_posix()
        if at not in texts:
            raise FormatError(at, "no such file", remedy="upload it with the program")
        if at in trail:
            raise FormatError(at, "includes itself", remedy=" -> ".join((*trail, at)))
        return _included(texts[at], lambda inner: include(inner, (*trail, at)), at_home=False)

    with _no_collection():
        source = source_of(raw, name, largest=most_unpacked(len(raw), largest))
        services = tuple(texts.values())
        return _recognise(source, instead_of_scenario=_A_WORKFLOW, include=include, services=lambda: services)


def load_workflow(path: str | Path, *, lenient: bool = False) -> Workflow:
    """Load a workflow in any format."""
    return workflow_of(load(path, lenient=lenient))


def load_program(path: str | Path) -> Program:
    """Load a program and the files it includes."""
    return _program_of(load(path))


def load_scenario(path: str | Path) -> "Scenario":
    """Load a scenario and the files it refers to."""
    from tradewind.model.scenario import Scenario  # noqa: PLC0415 - slow

    document = load(path)
    if isinstance(document.content, Scenario):
        return document.content
    raise _wrong_kind(document, _A_SCENARIO)


def load_machines(path: str | Path) -> tuple[MachineType, ...]:
    """Load machine types, from their own file or from a scenario."""
    from tradewind.model.scenario import Scenario  # noqa: PLC0415 - slow

    document = load(path)
    return document.content.machines if isinstance(document.content, Scenario) else _machines_of(document)


def workflow_of(document: Document) -> Workflow:
    """Return the workflow in a document, or raise an error if it contains something else."""
    if isinstance(document.content, Workflow):
        return document.content
    raise _wrong_kind(document, _A_WORKFLOW)


def _program_of(document: Document) -> Program:
    if isinstance(document.content, Program):
        return document.content
    raise _wrong_kind(document, _A_PROGRAM)


def _machines_of(document: Document) -> tuple[MachineType, ...]:
    if isinstance(document.content, tuple):
        return document.content
    raise _wrong_kind(document, _MACHINE_TYPES)


def _wrong_kind(document: Document, wanted: str) -> FormatError:
    kinds = {"workflow": _A_WORKFLOW, "program": _A_PROGRAM, "machines": _MACHINE_TYPES, "scenario": _A_SCENARIO}
    found = kinds[document.kind]
    return FormatError(document.file, f"contains {found}, not {wanted}", remedy=_MARKS[wanted])


def _any_tree(source: Source) -> Tree:
    return read_json(source) if source.text.lstrip()[:1] in ("{", "[") else read_yaml(source)


def _read_tree(source: Source) -> Tree:
    tree = _any_tree(source)
    if not isinstance(tree.data, dict):
        found = "a list" if isinstance(tree.data, list) else "no fields"
        raise FormatError(source.file, f"contains {found} at the top level", remedy="expected fields such as 'tasks:'")
    return tree


def _native(tree: Tree, *, lenient: bool, include: Include | None = None) -> Document:
    if "workload" in tree.data:
        from tradewind.formats.scenario import scenario_from  # noqa: PLC0415

        return Document(tree.file, "native", scenario_from(tree, _neighbours(lenient=lenient)))
    if "tasks" in tree.data:
        workflow = workflow_from(tree)
        return Document(tree.file, "native", workflow, lambda identity: _line(tree, _place_of_task(tree, identity)))
    if "steps" in tree.data:
        return _program(tree, include)
    if "machines" in tree.data:
        return Document(tree.file, "native", machines_from(tree))
    reason = "is not a workflow, a program, machine types or a scenario"
    raise FormatError(tree.file, reason, remedy="; ".join(_MARKS.values()))


def _services(folder: Path, given: Sequence[Path] | None) -> Sequence[Source]:
    from tradewind.formats.steep_services import files_of_services  # noqa: PLC0415

    return [read_source(file) for file in files_of_services(folder, given)]


def _steep(tree: Tree, services: Sequence[Source]) -> Document:
    """Read a Steep workflow with the services and macros it uses."""
    from tradewind.formats.steep import place_of_action, program_from_steep  # noqa: PLC0415
    from tradewind.formats.steep_services import catalogue_from  # noqa: PLC0415

    program = program_from_steep(tree, catalogue_from(map(_any_tree, services)))
    return Document(tree.file, "steep", program, lambda identity: _line(tree, place_of_action(tree.data, identity)))


def _program(tree: Tree, include: Include | None) -> Document:
    from tradewind.formats.program import place_of_step, program_from  # noqa: PLC0415 - slow

    program = program_from(
        tree, include or (lambda path: _include(path, (Path(tree.file).resolve(),))), at_home=include is None
    )

    def line_of(identity: str) -> int | None:
        return _line(tree, place_of_step(tree.data, identity))

    return Document(tree.file, "native", program, line_of, tree.locate)


def _include(path: Path, trail: tuple[Path, ...]) -> Program:
    """Load an included program; `trail` is the chain of files that leads to it."""
    here = path.resolve()
    if here in trail:
        raise FormatError(str(path), "includes itself", remedy=" -> ".join(each.name for each in (*trail, here)))
    return _included(read_source(path), lambda inner: _include(inner, (*trail, here)))


def _included(source: Source, include: Include, *, at_home: bool = True) -> Program:
    from tradewind.formats.program import program_from  # noqa: PLC0415 - slow

    tree = _read_tree(source)
    if "steps" not in tree.data:
        raise FormatError(source.file, f"is included, but is not {_A_PROGRAM}", remedy=_MARKS[_A_PROGRAM])
    return program_from(tree, include, at_home=at_home)


def _neighbours(*, lenient: bool) -> "Neighbours":
    from tradewind.formats.scenario import Neighbours  # noqa: PLC0415

    def workflow(path: Path, machines: Sequence[MachineType]) -> Workflow:
        document = _load(path, lenient=lenient, instead_of_scenario=_A_WORKFLOW)
        found = workflow_of(document)
        check_feasible(found, machines, file=document.file, line_of=document.line_of)
        return found

    def machines(path: Path) -> tuple[MachineType, ...]:
        return _machines_of(_load(path, lenient=lenient, instead_of_scenario=_MACHINE_TYPES))

    return Neighbours(workflow, machines)


def _place_of_task(tree: Tree, identity: str) -> tuple[str | int, ...]:
    tasks = tree.data["tasks"]
    if isinstance(tasks, dict):
        return ("tasks", identity)
    return ("tasks", next(at for at, task in enumerate(tasks) if task["id"] == identity))


def _line(tree: Tree, place: tuple[str | int, ...]) -> int | None:
    return tree.locate([place])[0]
