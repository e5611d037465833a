"""WfFormat, the JSON format in which WfCommons publishes recorded workflows: https://github.com/wfcommons/WfFormat.

Since version 1.5 a file has `workflow.specification` (tasks, files) and `workflow.execution` (run times, commands);
1.6 adds only optional totals. Before, everything was in `workflow.tasks` (`workflow.jobs` until 1.2), tasks referred to
their parents by name instead of id, and the names of sizes and run times had no unit. Both layouts are read for every
stated version.

Where a recording leaves a choice:

- A run time of exactly 0 was rounded by the recorder; it becomes one millisecond. A missing run time stays undeclared.
- Memory, bytes and processor use record what a task used, not what it needs, and are ignored. Cores are what it was
  given: they become `cpus`, unless no task has more than one, because every slot has one core.
- A name that equals the task's id is shortened to the program it runs, or otherwise loses its number
  (`mProject_ID0000001` is a `mProject`), so that tasks of one kind share a name; other names are kept. A `category`
  takes precedence over both.
- A command is its program and arguments, joined by spaces, as the recorders themselves join and split them.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil, isfinite
from typing import Any

from tradewind.formats.complaints import told
from tradewind.formats.errors import Place, Problems, did_you_mean, quoted
from tradewind.formats.fields import LARGEST_COUNT, fault_of_name, fault_of_text
from tradewind.formats.graph import Step, connect
from tradewind.formats.names import recorded_kind_of
from tradewind.formats.native import name_of
from tradewind.formats.tree import Tree
from tradewind.model.requirement import ANYTHING, Requirement, amounts
from tradewind.model.units import SECOND, Duration
from tradewind.model.workflow import File, Task, Workflow

VERSIONS = ("1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6")
BRIEFEST: Duration = SECOND // 1000
"""The value used for a recorded run time of zero."""

_MOST_SECONDS = 10**12
_MOST_BYTES = 10**18


def workflow_from_wfformat(tree: Tree, *, lenient: bool = False) -> Workflow:
    """Return the workflow in a WfFormat file; `lenient` reads negative run times and sizes as zero."""
    reader = _Reader(tree.problems(), lenient)
    data = tree.data
    version = data.get("schemaVersion")
    if version not in VERSIONS:
        known = f"known are {VERSIONS[0]} to {VERSIONS[-1]}"
        reader.problems.add(("schemaVersion",), f"unknown version {told(version)}", known)
    body = reader.mapping(("workflow",), data.get("workflow"))
    entries = _nested(reader, body) if "specification" in body else _flat(reader, body)
    name = reader.name(("name",), data["name"]) if "name" in data else name_of(tree.file)
    keep_cores = any(entry.cores > 1 for entry in entries)
    steps = [entry.step(keep_cores) for entry in entries]
    return connect(name, steps, reader.problems, needs="parents")


def place_of_task(data: Any, identity: str) -> Place:
    """Return the place of a task in a file that was read without problems."""
    body = data["workflow"]
    if "specification" in body:
        above: Place = ("workflow", "specification", "tasks")
        rows = body["specification"]["tasks"]
    else:
        key = "tasks" if "tasks" in body else "jobs"
        above, rows = ("workflow", key), body[key]
    at = next((at for at, row in enumerate(rows) if identity in (row.get("id"), row.get("name"))), None)
    return above if at is None else (*above, at)


@dataclass(slots=True)
class _Entry:
    """A task as stated in either layout."""

    identity: str
    name: str
    place: Place
    needs: dict[str, None]
    inputs: tuple[File, ...]
    outputs: tuple[File, ...]
    category: str = ""
    runtime: Duration | None = None
    command: str = ""
    cores: int = 0

    def kind(self) -> str:
        if self.category or self.name != self.identity:
            return self.category or self.name
        program = self.command.partition(" ")[0]
        return program if program and self.name.startswith(program + "_") else recorded_kind_of(self.name)

    def step(self, keep_cores: bool) -> Step:
        requirement = Requirement(amounts=amounts(cpus=self.cores)) if keep_cores and self.cores else ANYTHING
        task = Task(
            self.identity,
            self.kind(),
            requirement=requirement,
            runtime=self.runtime,
            inputs=self.inputs,
            outputs=self.outputs,
            command=self.command,
        )
        return Step(task, tuple(self.needs), self.place)


@dataclass(slots=True)
class _Reader:
    """A reader of typed values that reports values of the wrong type."""

    problems: Problems
    lenient: bool
    sound: set[str] = field(default_factory=set)
    """Names that were already checked; most names appear many times."""

    def mapping(self, place: Place, value: Any) -> Mapping[str, Any]:
        if isinstance(value, dict):
            return value
        self.problems.add(place, f"must be an object, not {told(value)}" if value is not None else "is missing")
        return {}

    def rows(self, place: Place, value: Any) -> Sequence[Mapping[str, Any]]:
        """Return a list of objects; report other items and replace them by empty ones, so that positions hold."""
        if not isinstance(value, list):
            self.problems.add(place, "is missing" if value is None else f"must be a list, not {told(value)}")
            return ()
        for at, row in enumerate(value):
            if not isinstance(row, dict):
                self.problems.add((*place, at), f"must be an object, not {told(row)}")
        return [row if isinstance(row, dict) else {} for row in value]

    def names(self, row: Mapping[str, Any], key: str, place: Place) -> Sequence[str]:
        value = row.get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            self.problems.add((*place, key), f"must be a list, not {told(value)}")
            return ()
        with suppress(TypeError):  # an item is an object, which cannot be hashed
            if self.sound.issuperset(value):
                return value
        return [self.name((*place, key), item) for item in value]

    def name(self, place: Place, value: Any) -> str:
        if not isinstance(value, str):
            self.problems.add(place, "is missing" if value is None else f"must be text, not {told(value)}")
            return ""
        if value not in self.sound:
            if fault := fault_of_name(value):
                self.problems.add(place, fault)
            else:
                self.sound.add(value)
        return value

    def category(self, row: Mapping[str, Any], place: Place) -> str:
        return "" if row.get("category") is None else self.name((*place, "category"), row["category"])

    def number(self, row: Mapping[str, Any], keys: Sequence[str], place: Place, most: int) -> float | None:
        """Return the number under the first of several keys that exists; never negative."""
        for key in keys:
            value = row.get(key)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite_number(value):
                self.problems.add((*place, key), f"must be a number, not {told(value)}")
            elif value < 0 and not self.lenient:
                self.problems.add((*place, key), f"{value} is negative", "--lenient reads it as zero")
            elif value > most:
                self.problems.add((*place, key), f"{told(value)} is too large")
            else:
                return max(value, 0)
            return None
        return None

    def runtime(self, row: Mapping[str, Any], place: Place) -> Duration | None:
        value = self.number(row, ("runtimeInSeconds", "runtime"), place, _MOST_SECONDS)
        if value is None:
            return None
        return round(value * SECOND) or BRIEFEST

    def cores(self, row: Mapping[str, Any], place: Place) -> int:
        return ceil(self.number(row, ("coreCount", "cores"), place, LARGEST_COUNT) or 0)

    def command(self, row: Mapping[str, Any], place: Place) -> str:
        value = row.get("command")
        if value is None:
            return ""
        place = (*place, "command")
        if isinstance(value, dict):
            arguments = value.get("arguments") or []
            words = [value.get("program") or "", *(arguments if isinstance(arguments, list) else [arguments])]
        else:
            words = [value]
        if not all(isinstance(word, str) for word in words):
            self.problems.add(place, "its program and arguments must be text")
            return ""
        text = " ".join(words) if words[0] else " ".join(words[1:])
        if not text.isprintable() and (fault := fault_of_text(text)):
            self.problems.add(place, fault)
        return text


def isfinite_number(value: float) -> bool:
    """Return whether a number is finite; integers of any length are."""
    return isinstance(value, int) or isfinite(value)


def _nested(reader: _Reader, body: Mapping[str, Any]) -> list[_Entry]:
    """Return the tasks of versions 1.5 and later."""
    above = ("workflow", "specification")
    specification = reader.mapping(above, body["specification"])
    sizes: dict[str, int] = {}
    if specification.get("files") is not None:
        for at, row in enumerate(reader.rows((*above, "files"), specification["files"])):
            place = (*above, "files", at)
            size = reader.number(row, ("sizeInBytes",), place, _MOST_BYTES)
            sizes[reader.name((*place, "id"), row.get("id"))] = round(size or 0)
    rows = reader.rows((*above, "tasks"), specification.get("tasks"))
    entries: list[_Entry] = []
    for at, row in enumerate(rows):
        place = (*above, "tasks", at)
        identity = reader.name((*place, "id"), row.get("id"))
        name = reader.name((*place, "name"), row.get("name", identity))
        entries.append(
            _Entry(
                identity,
                name,
                place,
                dict.fromkeys(reader.names(row, "parents", place)),
                tuple([File(file, sizes.get(file, 0)) for file in reader.names(row, "inputFiles", place)]),
                tuple([File(file, sizes.get(file, 0)) for file in reader.names(row, "outputFiles", place)]),
                reader.category(row, place),
            )
        )
    by_id = {entry.identity: entry for entry in entries}
    for entry, row in zip(entries, rows, strict=True):
        _add_children(reader, entry, reader.names(row, "children", entry.place), by_id)
    if body.get("execution") is not None:
        _add_execution(reader, reader.mapping(("workflow", "execution"), body["execution"]), by_id)
    return entries


def _add_execution(reader: _Reader, execution: Mapping[str, Any], by_id: Mapping[str, _Entry]) -> None:
    above = ("workflow", "execution", "tasks")
    seen: set[str] = set()
    for at, row in enumerate(reader.rows(above, execution.get("tasks"))):
        place = (*above, at)
        identity = reader.name((*place, "id"), row.get("id"))
        entry = by_id.get(identity)
        if entry is None:
            remedy = "" if reader.problems.full else did_you_mean(identity, by_id)
            reader.problems.add(place, f"no task named {quoted(identity)} in the specification", remedy)
            continue
        if identity in seen:
            reader.problems.add(place, f"a second execution of task {quoted(identity)}")
        seen.add(identity)
        entry.runtime = reader.runtime(row, place)
        entry.cores = reader.cores(row, place)
        entry.command = reader.command(row, place)


def _flat(reader: _Reader, body: Mapping[str, Any]) -> list[_Entry]:
    """Return the tasks of versions before 1.5, which may refer to each other by name or by id."""
    key = "tasks" if "tasks" in body else "jobs"
    above = ("workflow", key)
    if not body:
        return []
    rows = reader.rows(above, body.get(key))
    entries: list[_Entry] = []
    meant: dict[str, str] = {}
    for at, row in enumerate(rows):
        place = (*above, at)
        name = reader.name((*place, "name"), row.get("name"))
        number = reader.name((*place, "id"), row.get("id", name))
        identity = name if number in name else f"{name}_{number}"
        for said in (identity, name, number):
            meant.setdefault(said, identity)
        inputs, outputs = _linked_files(reader, row, place)
        entry = _Entry(identity, name, place, {}, inputs, outputs, reader.category(row, place))
        entry.runtime = reader.runtime(row, place)
        entry.cores = reader.cores(row, place)
        entry.command = reader.command(row, place)
        entries.append(entry)
    by_id = {entry.identity: entry for entry in entries}
    for entry, row in zip(entries, rows, strict=True):
        for parent in reader.names(row, "parents", entry.place):
            entry.needs[meant.get(parent, parent)] = None
        children = [meant.get(child, child) for child in reader.names(row, "children", entry.place)]
        _add_children(reader, entry, children, by_id)
    return entries


def _linked_files(reader: _Reader, row: Mapping[str, Any], place: Place) -> tuple[tuple[File, ...], tuple[File, ...]]:
    inputs: list[File] = []
    outputs: list[File] = []
    if row.get("files") is not None:
        for at, part in enumerate(reader.rows((*place, "files"), row["files"])):
            here = (*place, "files", at)
            size = reader.number(part, ("sizeInBytes", "size"), here, _MOST_BYTES)
            file = File(reader.name((*here, "name"), part.get("name")), round(size or 0))
            match part.get("link"):
                case "input":
                    inputs.append(file)
                case "output":
                    outputs.append(file)
                case other:
                    reader.problems.add((*here, "link"), f"must be input or output, not {told(other)}")
    return tuple(inputs), tuple(outputs)


def _add_children(reader: _Reader, entry: _Entry, children: Sequence[str], by_id: Mapping[str, _Entry]) -> None:
    for child in children:
        if child in by_id:
            by_id[child].needs[entry.identity] = None
        else:
            remedy = "" if reader.problems.full else did_you_mean(child, by_id)
            reader.problems.add((*entry.place, "children"), f"no task named {quoted(child)}", remedy)
