"""Write workflows as text: native YAML, and WfFormat 1.5.

YAML is written line by line instead of by a library, which is twenty times faster and keeps short values on one line.
The output reads back as the same workflow. WfFormat has no fields for requirements other than cpus, run times by
machine type, retries, timeouts, checkpoints, priorities and deadlines, and loses them.
"""

import gzip
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from tradewind.formats.errors import FormatError
from tradewind.formats.names import kind_of
from tradewind.model.elastic import Elastic
from tradewind.model.units import HOUR, MINUTE, SECOND, Duration, in_seconds
from tradewind.model.workflow import ONCE, File, Retry, Task, Workflow

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.+@/-]*")
_RESERVED = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_UNPRINTABLE = re.compile("[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_SIZES = (("TiB", 1024**4), ("GiB", 1024**3), ("MiB", 1024**2), ("GB", 10**9), ("MB", 10**6))
_NEVER = "1970-01-01T00:00:00Z"
"""The execution time of a workflow that did not run: WfFormat requires one."""


def write_native(workflow: Workflow) -> str:
    """Return a workflow as native YAML."""
    return "".join(_document(workflow))


def write_wfformat(workflow: Workflow) -> bytes:
    """Return a workflow as WfFormat 1.5."""
    children = workflow.children()
    ids = [task.id for task in workflow.tasks]
    files = _FileIds()
    tasks = []
    for at, task in enumerate(workflow.tasks):
        row: dict[str, Any] = {"name": task.name, "id": task.id}
        if task.name == task.id:
            row["category"] = task.name  # otherwise a reader would strip its number
        row["parents"] = [ids[parent] for parent in workflow.parents[at]]
        row["children"] = [ids[child] for child in children[at]]
        row["inputFiles"] = [files.id_of(file) for file in task.inputs]
        row["outputFiles"] = [files.id_of(file) for file in task.outputs]
        tasks.append(row)
    body: dict[str, Any] = {"specification": {"tasks": tasks, "files": files.rows}}
    if runs := [run for run in map(_execution, workflow.tasks) if len(run) > 1]:
        span = in_seconds(_longest_path(workflow))
        body["execution"] = {"makespanInSeconds": span, "executedAt": _NEVER, "tasks": runs}
    document = {
        "name": workflow.name,
        "description": "Written by Tradewind",
        "schemaVersion": "1.5",
        "workflow": body,
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def write_file(path: Path, data: bytes) -> None:
    """Write a file atomically, compressed if its name ends in `.gz`: on an error the old file is kept."""
    packed = gzip.compress(data, 6, mtime=0) if path.name.endswith(".gz") else data
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
        try:
            with os.fdopen(descriptor, "wb") as opened:
                opened.write(packed)
                os.fchmod(opened.fileno(), _mode(path))
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise FormatError(str(path), f"cannot be written ({error.strerror})") from None


def _mode(path: Path) -> int:
    """Return the permissions of the file, or of a new file."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _document(workflow: Workflow) -> Iterator[str]:
    yield f"name: {quote(workflow.name)}\n"
    if workflow.priority:
        yield f"priority: {workflow.priority}\n"
    if workflow.deadline is not None:
        yield f"deadline: {duration_text(workflow.deadline)}\n"
    yield "tasks:\n" if workflow.tasks else "tasks: {}\n"
    for task, parents in zip(workflow.tasks, workflow.parents, strict=True):
        fields = list(_fields(task, [workflow.tasks[parent].id for parent in parents]))
        yield f"  {quote(task.id)}:\n" if fields else f"  {quote(task.id)}: {{}}\n"
        yield from fields


def _fields(task: Task, needs: Sequence[str]) -> Iterator[str]:
    if task.name != kind_of(task.id):
        yield f"    name: {quote(task.name)}\n"
    if needs:
        yield f"    needs: [{', '.join(map(quote, needs))}]\n"
    if task.runtime is not None:
        yield f"    runtime: {duration_text(task.runtime)}\n"
    if task.runtimes:
        yield f"    runtimes: {_mapping({kind: duration_text(time) for kind, time in sorted(task.runtimes.items())})}\n"
    yield from _requirement(task)
    for word, files in (("inputs", task.inputs), ("outputs", task.outputs)):
        if files:
            yield f"    {word}:\n"
            yield from (f"      - {_file(file)}\n" for file in files)
    if task.retry != ONCE:
        yield f"    retries: {_retry(task.retry)}\n"
    if task.timeout is not None:
        yield f"    timeout: {duration_text(task.timeout)}\n"
    if task.checkpoint is not None:
        saving = {"interval": duration_text(task.checkpoint.interval), "cost": duration_text(task.checkpoint.cost)}
        yield f"    checkpoint: {_mapping(saving)}\n"
    if task.elastic is not None:
        yield f"    divisible: {_mapping(_divisible(task.elastic))}\n"
    if task.command:
        yield f"    run: {_command(task.command)}\n"
    if task.shell:
        yield f"    shell: {task.shell}\n"


def _divisible(elastic: Elastic) -> dict[str, str]:
    found = {"iterations": str(elastic.iterations)}
    if elastic.initial != 1:
        found["initial"] = str(elastic.initial)
    if elastic.maximum != 1_000:
        found["maximum"] = str(elastic.maximum)
    if elastic.within is not None:
        found["within"] = duration_text(elastic.within)
    if elastic.balancer:
        found["balancer"] = quote(elastic.balancer)
    if elastic.weights:
        found["weights"] = f"[{', '.join(map(str, elastic.weights))}]"
    return found


def _requirement(task: Task) -> Iterator[str]:
    if task.requirement.capabilities:
        yield f"    capabilities: [{', '.join(map(quote, sorted(task.requirement.capabilities)))}]\n"
    others: dict[str, str] = {}
    for name, count in task.requirement.amounts:
        if name in ("cpus", "gpus"):
            yield f"    {name}: {count}\n"
        elif name == "memory":
            yield f"    memory: {_size(count)}\n"
        else:
            others[name] = str(count)
    if others:
        yield f"    amounts: {_mapping(others)}\n"


def _mapping(values: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{quote(key)}: {value}" for key, value in values.items()) + "}"


def _file(file: File) -> str:
    return _mapping({"name": quote(file.name), "size": str(file.size)}) if file.size else quote(file.name)


def _retry(retry: Retry) -> str:
    if retry == Retry(attempts=retry.attempts):
        return str(retry.attempts - 1)
    return _mapping(
        {
            "attempts": str(retry.attempts),
            "by_cause": _mapping({cause: str(count) for cause, count in sorted(retry.by_cause.items())}),
            "lost": str(retry.lost),
            "preempted": str(retry.preempted),
            "memory_growth": repr(retry.memory_growth),
            "delay": duration_text(retry.delay),
            "factor": repr(retry.factor),
            "max_delay": duration_text(retry.max_delay),
        }
    )


def duration_text(duration: Duration) -> str:
    """Format a duration without loss, in the largest unit without a fraction: `2h`, `90s`, `13.39s`."""
    for unit, length in (("h", HOUR), ("m", MINUTE)):
        if duration and duration % length == 0:
            return f"{duration // length}{unit}"
    whole, rest = divmod(duration, SECOND)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".") + "s"


def _size(size: int) -> str:
    return next((f"{size // length}{unit}" for unit, length in _SIZES if size and size % length == 0), str(size))


def _command(command: str) -> str:
    """Format a command, as a block if it has several lines."""
    lines = command.split("\n")
    whole = len(lines) > 1 and lines[0] and not lines[0][0].isspace() and lines[-1]
    if whole and not any(_UNPRINTABLE.search(line) for line in lines):
        return "|-\n" + "\n".join(f"      {line}" if line else "" for line in lines)
    return quote(command)


def quote(text: str) -> str:
    """Format text as YAML: plain if it is unambiguous, otherwise in double quotes."""
    if _PLAIN.fullmatch(text) and text.lower() not in _RESERVED:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return '"' + _UNPRINTABLE.sub(lambda match: f"\\U{ord(match[0]):08X}", escaped) + '"'


class _FileIds:
    """Ids for files: in WfFormat an id stands for one file of one size, while names may repeat."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._ids: dict[File, str] = {}
        self._taken: dict[str, int] = {}
        """Uses of each name, so that no number is tried twice."""

    def id_of(self, file: File) -> str:
        """Return the name of a file, with a number if the name already stands for a file of another size."""
        known = self._ids.get(file)
        if known is not None:
            return known
        identity = file.name
        while identity in self._taken:
            self._taken[file.name] += 1
            identity = f"{file.name}#{self._taken[file.name]}"
        self._taken[identity] = 1
        self._ids[file] = identity
        self.rows.append({"id": identity, "sizeInBytes": file.size})
        return identity


def _execution(task: Task) -> dict[str, Any]:
    row: dict[str, Any] = {"id": task.id}
    if task.runtime is not None:
        row["runtimeInSeconds"] = in_seconds(task.runtime)
    if task.command:
        words = task.command.split(" ")
        row["command"] = (
            {"program": words[0], "arguments": words[1:]} if all(words) else {"program": task.command, "arguments": []}
        )
    cpus = dict(task.requirement.amounts).get("cpus")
    if cpus:
        row["coreCount"] = cpus
    return row


def _longest_path(workflow: Workflow) -> Duration:
    """Return the length of the critical path: how long the workflow takes with unlimited machines."""
    ends: list[Duration] = []
    for task, parents in zip(workflow.tasks, workflow.parents, strict=True):
        ends.append(max((ends[parent] for parent in parents), default=0) + (task.runtime or 0))
    return max(ends, default=0)
