"""Pegasus DAX, versions 2 and 3: the XML format of the well-known synthetic workflows.

We use expat directly: it reports the line of every element, fetches nothing, and lets us reject entities.

- File names are not unique: several tasks may write a file of the same name. The writer of an input is looked up among
  the parents of its reader. If several parents wrote it, the reader reads all of them, as Montage's `mConcatFit` does;
  if one did, the size it states is used.
- Negative run times and sizes occur in widely used files. They are rejected, or read as zero in lenient mode.
- A run time of exactly 0 becomes one millisecond, as in WfFormat.
- The generator calls every workflow `test`; such a workflow takes the name of its file.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from xml.parsers import expat

from tradewind.formats.errors import FormatError, Problems, did_you_mean, quoted
from tradewind.formats.fields import fault_of_name, fault_of_text
from tradewind.formats.graph import Step, connect
from tradewind.formats.native import name_of
from tradewind.formats.source import Source
from tradewind.formats.tree import DEEPEST
from tradewind.formats.wfformat import BRIEFEST
from tradewind.model.units import SECOND, Duration
from tradewind.model.workflow import File, Task, Workflow

_MOST = 10**18
_NAMELESS = ("", "test")


def workflow_from_dax(source: Source, *, lenient: bool = False) -> tuple[Workflow, Mapping[str, int]]:
    """Return the workflow in a DAX file and the line of each task; `lenient` reads negative numbers as zero."""
    reader = _Reader(source.file, Problems(source.file), lenient)
    reader.read(source.text)
    parents = reader.parents()
    reader.settle_sizes(parents)
    steps = [Step(job.task(), parents[job.identity], (job.identity,), job.line) for job in reader.jobs.values()]
    name = name_of(source.file) if reader.name in _NAMELESS else reader.name
    workflow = connect(name, steps, reader.problems)
    return workflow, {job.identity: job.line for job in reader.jobs.values()}


@dataclass(slots=True)
class _Job:
    identity: str
    name: str
    line: int
    runtime: Duration | None = None
    inputs: list[File] = field(default_factory=list)
    outputs: list[File] = field(default_factory=list)
    words: str = ""

    def task(self) -> Task:
        arguments = " ".join(self.words.split())
        return Task(
            self.identity,
            self.name,
            runtime=self.runtime,
            inputs=tuple(self.inputs),
            outputs=tuple(self.outputs),
            command=f"{self.name} {arguments}" if arguments else "",
        )


@dataclass(slots=True)
class _Reader:
    """An expat handler that collects the jobs of a DAX file."""

    file: str
    problems: Problems
    lenient: bool
    name: str = ""
    jobs: dict[str, _Job] = field(default_factory=dict)
    edges: list[tuple[str, str, int]] = field(default_factory=list)
    """Child, parent and line."""
    depth: int = 0
    job: _Job | None = None
    child: str = ""
    text: list[str] | None = None
    """Where to collect the text of an argument or a run time; other text is ignored."""
    _parser: expat.XMLParserType = field(default_factory=lambda: expat.ParserCreate("utf-8"))

    def read(self, text: str) -> None:
        parser = self._parser
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = self._refuse_entity
        parser.buffer_text = True
        try:
            parser.Parse(text.encode(), True)  # noqa: FBT003  this is the whole text; expat takes no keyword
        except expat.ExpatError as error:
            reason = f"not XML: {expat.errors.messages.get(error.code, str(error))}"
            raise FormatError(self.file, reason, line=error.lineno) from None

    def parents(self) -> dict[str, list[str]]:
        """Return the parents of each task."""
        parents: dict[str, list[str]] = defaultdict(list)
        for child, parent, line in self.edges:
            for identity in (child, parent):
                if identity not in self.jobs:
                    remedy = "" if self.problems.full else did_you_mean(identity, self.jobs)
                    self.problems.add(("child",), f"no job with the id {quoted(identity)}", remedy, line=line)
            if child in self.jobs and parent in self.jobs:
                parents[child].append(parent)
        return parents

    def settle_sizes(self, parents: Mapping[str, list[str]]) -> None:
        """Give each input the sizes that its writers among the parents state."""
        for job in self.jobs.values():
            written: dict[str, list[File]] = defaultdict(list)
            for parent in dict.fromkeys(parents.get(job.identity, ())):
                for file in self.jobs[parent].outputs:
                    written[file.name].append(file)
            if written:
                job.inputs = [writer for file in job.inputs for writer in written.get(file.name, (file,))]

    def _start(self, tag: str, attributes: Mapping[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        self.depth += 1
        if self.depth > DEEPEST:
            raise self._error(f"elements are nested more than {DEEPEST} deep")
        if self.depth == 1:
            if tag != "adag":
                raise self._error(f"the first element is {quoted(tag)}, expected 'adag'")
            self.name = attributes.get("name", "").strip()
            if self.name and (fault := fault_of_name(self.name)):
                raise self._error(fault)
            return
        match tag:
            case "job":
                self._begin_job(attributes)
            case "uses" if self.job:
                self._add_file(self.job, attributes)
            case "child":
                self.child = attributes.get("ref", "")
            case "parent":
                self.edges.append((self.child, attributes.get("ref", ""), self._line))
            case "argument" if self.job:
                self.text = []
            case "profile" if self.job and attributes.get("key", "").lower() == "runtime":
                self.text = []
            case "file" | "filename" if self.text is not None:
                self.text.append(attributes.get("name", attributes.get("file", "")))
            case "dax" | "dag":
                raise self._error(f"the element {quoted(tag)} contains another workflow, which is not supported")

    def _end(self, tag: str) -> None:
        tag = tag.rpartition(":")[2]
        self.depth -= 1
        if tag == "job":
            self.job = None
        elif tag == "child":
            self.child = ""
        elif self.text is not None and self.job and tag in ("argument", "profile"):
            text = "".join(self.text)
            self.text = None
            if tag == "profile":
                self.job.runtime = self._runtime(self.job.identity, text)
            elif fault := fault_of_text(text):
                self.problems.add((self.job.identity, "argument"), fault, line=self._line)
            else:
                self.job.words = text

    def _characters(self, text: str) -> None:
        if self.text is not None:
            self.text.append(text)

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise self._error(f"declares the entity {quoted(name)}; entities are not supported")

    @property
    def _line(self) -> int:
        return self._parser.CurrentLineNumber

    def _error(self, reason: str) -> FormatError:
        return FormatError(self.file, reason, line=self._line)

    def _begin_job(self, attributes: Mapping[str, str]) -> None:
        identity = attributes.get("id", "")
        name = attributes.get("name", "") or identity
        if fault := fault_of_name(identity) or fault_of_name(name):
            self.problems.add(("job",), fault, line=self._line)
        if identity in self.jobs:
            self.problems.add((identity,), f"a second job has the id {quoted(identity)}", line=self._line)
        self.job = _Job(identity, name, self._line)
        if "runtime" in attributes:
            self.job.runtime = self._runtime(identity, attributes["runtime"])
        self.jobs[identity] = self.job

    def _add_file(self, job: _Job, attributes: Mapping[str, str]) -> None:
        name = attributes.get("file", attributes.get("name", ""))
        if fault := fault_of_name(name):
            self.problems.add((job.identity, "uses"), fault, line=self._line)
        size = self._number(job.identity, "size", attributes["size"]) if "size" in attributes else 0
        file = File(name, round(size))
        link = attributes.get("link", "").lower()
        if link not in ("input", "output", "inout", "none"):
            self.problems.add((job.identity, "uses"), f"unknown link {quoted(link)}", line=self._line)
        if link in ("input", "inout"):
            job.inputs.append(file)
        if link in ("output", "inout"):
            job.outputs.append(file)

    def _runtime(self, identity: str, text: str) -> Duration:
        return round(self._number(identity, "runtime", text, most=_MOST // SECOND) * SECOND) or BRIEFEST

    def _number(self, identity: str, key: str, text: str, *, most: int = _MOST) -> float:
        """Parse a number that must not be negative; on a problem, record it and return zero."""
        fault = remedy = ""
        try:
            value = float(text)
        except ValueError:
            value, fault = 0.0, "is not a number"
        if not isfinite(value) or abs(value) > most:
            value, fault = 0.0, "is too large"
        if value < 0 and not self.lenient:
            fault, remedy = "is negative", "--lenient reads it as zero"
        if fault:
            self.problems.add((identity, key), f"{quoted(text)} {fault}", remedy, line=self._line)
        return max(value, 0.0)
