"""JSON Schemas of the native files, for editors and for programs that write such files.

To have an editor check a file, save the schema and start the file with a line such as
`# yaml-language-server: $schema=workflow.schema.json`.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from tradewind.formats.documents import MachinesDocument, ScenarioDocument, WorkflowDocument
from tradewind.formats.fields import DURATION
from tradewind.formats.program_parts import ProgramDocument
from tradewind.formats.write import duration_text

_WORKFLOW = {
    "name": "reads",
    "deadline": "2h",
    "tasks": {
        "trim": {"runtime": "5m", "outputs": [{"name": "trimmed.fq", "size": "2GB"}], "run": "trim reads.fq"},
        "align": {"needs": ["trim"], "runtime": "1h30m", "cpus": 8, "memory": "16GiB", "retries": 2},
        "call": {"needs": ["align"], "runtimes": {"small": "40m", "large": "15m"}, "capabilities": ["highmem"]},
    },
}
_MACHINES = {
    "machines": {
        "small": {"price": "0.085/h", "billing": "hour", "boot": "90s", "cpus": 2, "memory": "4GiB", "limit": 20},
        "large": {
            "price": 5,
            "billing": {"period": "hour", "rounding": "minute", "minimum": "10m"},
            "boot": {"mean": "2m", "deviation": "20s"},
            "cpus": 16,
            "capabilities": ["highmem"],
            "market": "spot",
        },
    }
}
_PROGRAM = {
    "params": {"paths": 1_000_000},
    "steps": {
        "price": {
            "divisible": {"iterations": "params.paths", "python": "pricing:paths", "within": "3h", "reduce": "sum"},
            "cpus": 4,
            "outputs": {"total": "return"},
        },
        "report": {"run": "echo {{ price.total }} > {{ outputs.text }}", "outputs": {"text": "price.txt"}},
    },
}
_SCENARIO = {
    "workload": [
        {"generate": "montage", "count": 20, "tasks": 50, "arrivals": {"process": "poisson", "rate": 6}},
        {"files": ["reads.yaml", "Montage_25.xml.gz"], "tenants": ["lab"]},
    ],
    "machines": _MACHINES["machines"],
    "tenants": {"lab": {"budget": 100, "interval": "1h"}, "clinic": {"budget": "12.50", "weight": 2}},
    "policy": {"name": "pfa"},
    "seed": 7,
    "faults": {"task_failure": 0.01},
    "estimates": "noisy",
}

KINDS: Mapping[str, tuple[type[BaseModel], Mapping[str, Any]]] = {
    "workflow": (WorkflowDocument, _WORKFLOW),
    "program": (ProgramDocument, _PROGRAM),
    "machines": (MachinesDocument, _MACHINES),
    "scenario": (ScenarioDocument, _SCENARIO),
}
"""The kinds of native files, each with an example."""


def schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of a kind of native file: `workflow`, `program`, `machines` or `scenario`."""
    document, example = KINDS[kind]
    made = document.model_json_schema()
    made["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    made["title"] = f"Tradewind {kind}"
    made["examples"] = [example]
    _show_durations(made)
    for part in made.get("$defs", {}).values():
        part["title"] = part["title"].removesuffix("Part").removeprefix("Listed")
    return made


def _show_durations(node: Any) -> None:
    """Format default durations as users write them: ours are microseconds, but a bare number means seconds."""
    if isinstance(node, dict):
        choices = [node, *node.get("oneOf", ()), *node.get("anyOf", ())]
        if isinstance(node.get("default"), int) and any(choice.get(DURATION) for choice in choices):
            node["default"] = duration_text(node["default"])
        node.pop(DURATION, None)
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        _show_durations(inner)
