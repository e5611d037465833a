"""Ten thousand damaged files: the loader gives a sound document or a `FormatError`, never anything else."""

import copy
import gzip
import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from paperwork import Write

from tradewind.formats import FormatError, load
from tradewind.formats.native import workflow_from
from tradewind.formats.source import Source
from tradewind.formats.write import write_native
from tradewind.formats.yaml_text import read_yaml
from tradewind.model.workflow import Workflow

WORKFLOW: dict[str, Any] = {
    "name": "w",
    "priority": 1,
    "deadline": "1h",
    "tasks": {
        "a": {"runtime": "5s", "outputs": [{"name": "f", "size": "1GB"}], "run": "x"},
        "b": {"needs": ["a"], "cpus": 2, "memory": "1GiB", "retries": {"attempts": 2, "delay": 1}, "inputs": ["f"]},
        "c": {"needs": ["a", "b"], "runtimes": {"small": 1, "large": 2.5}, "capabilities": ["gpu"], "retries": 1},
    },
}
MACHINES: dict[str, Any] = {
    "machines": {
        "small": {"price": "0.1/h", "billing": "hour", "boot": "90s", "cpus": 2, "limit": 20},
        "large": {"price": 5, "billing": {"period": "hour", "rounding": 60}, "boot": {"mean": 1}, "market": "spot"},
    }
}
SCENARIO: dict[str, Any] = {
    "workload": [
        {"generate": "montage", "count": 2, "arrivals": {"process": "poisson", "every": "10s"}, "tenants": ["lab"]},
        {"file": "good.yaml", "files": ["good.yaml"]},
    ],
    **MACHINES,
    "tenants": {"lab": {"budget": 100, "interval": "1h"}},
    "policy": {"name": "pfa", "x": 1},
    "faults": {"task_failure": 0.1},
    "noise": 0.1,
    "estimates": {"kind": "noisy", "deviation": 0.1},
}
NESTED: dict[str, Any] = {
    "name": "n",
    "schemaVersion": "1.5",
    "workflow": {
        "specification": {
            "tasks": [
                {"name": "a_1", "id": "a_1", "parents": [], "children": ["b_2"], "outputFiles": ["f"]},
                {"name": "b_2", "id": "b_2", "parents": ["a_1"], "children": [], "inputFiles": ["f"]},
            ],
            "files": [{"id": "f", "sizeInBytes": 5}],
        },
        "execution": {
            "makespanInSeconds": 1,
            "executedAt": "x",
            "tasks": [
                {"id": "a_1", "runtimeInSeconds": 1.5, "command": {"program": "a", "arguments": ["b"]}, "coreCount": 2},
                {"id": "b_2", "runtimeInSeconds": 0},
            ],
        },
    },
}
FLAT: dict[str, Any] = {
    "name": "f",
    "schemaVersion": "1.3",
    "workflow": {
        "tasks": [
            {"name": "a", "id": "1", "runtime": 1, "files": [{"name": "f", "size": 1, "link": "output"}]},
            {"name": "b", "id": "2", "runtime": 2, "parents": ["a"], "category": "k", "cores": 1},
        ]
    },
}
DAX = """\
<?xml version="1.0" encoding="UTF-8"?>
<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="2.1" name="test">
  <job id="ID1" name="x" runtime="13.39">
    <argument>-a <filename file="f"/></argument>
    <uses file="f" link="output" size="5"/>
  </job>
  <job id="ID2" name="y"><profile key="runtime">5</profile><uses name="f" link="input" size="7"/></job>
  <child ref="ID2"><parent ref="ID1"/></child>
</adag>
"""
YAML = """\
name: y
tasks:
  a: &base {cpus: 1, run: "a b"}
  b:
    <<: *base
    needs: [a]
    run: |
      several
      lines
  'c': {needs: [a, b], runtime: 1h30m, memory: 1.5GB}
  d: *base
"""

STRANGE: list[Any] = [
    None, True, False, 0, -1, 1.5, -0.0, 1e308, 10**30, "", " ", "a", "b", "1h", "-5s", "\x07", "\u2028", "🙂", "null",
    "x" * 600, [], {}, ["a"], [["a"]], {"a": 1}, [None], float("inf"), float("nan"), "../good.yaml", "a\0b", "1e999999",
]  # fmt: skip
JUNK = [
    b"\x00", b"\xff", b"\xed\xa0\x80", b"'", b'"', b"{", b"}", b"[", b"]", b":", b"- ", b"\n", b"&a ", b"*a ", b"<",
    b"&#0;", b"<!ENTITY a 'b'>", b"!!binary ", b"\t", b"%", b"-", b"9" * 50, b"e999", b"\\ud800", b"\r", b"---\n",
    b"\x1f\x8b", b">",
]  # fmt: skip


def damage_bytes(rng: random.Random, data: bytes) -> bytes:
    """Flip, drop, repeat or insert some bytes."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        at = rng.randrange(len(made) + 1) if made else 0
        end = min(len(made), at + rng.choice((1, 1, 3, 20, 100)))
        match rng.randrange(5):
            case 0 if at < len(made):
                made[at] ^= 1 << rng.randrange(8)
            case 1:
                del made[at:end]
            case 2:
                made[at:at] = made[at:end] * rng.choice((1, 2, 50))
            case 3:
                made[at:at] = rng.choice(JUNK)
            case _:
                made[at:end] = rng.choice(JUNK)
    return bytes(made[: rng.randrange(len(made) + 1)] if rng.random() < 0.05 else made)


def damage_lines(rng: random.Random, data: bytes) -> bytes:
    """Drop, repeat, indent or move a line."""
    lines = data.split(b"\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(4):
        case 0:
            del lines[at]
        case 1:
            lines.insert(other, lines[at])
        case 2:
            lines[at] = b"  " + lines[at]
        case _:
            lines[at], lines[other] = lines[other], lines[at]
    return b"\n".join(lines)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every key or position of a document, with what holds it."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        held = waiting.pop()
        for key in list(held) if isinstance(held, dict) else range(len(held)):
            found.append((held, key))
            if isinstance(held[key], dict | list):
                waiting.append(held[key])
    return found


def damage_structure(rng: random.Random, document: dict[str, Any]) -> bytes:
    """Change, drop, repeat, rename or move values, and write the document as JSON."""
    made = copy.deepcopy(document)
    for _ in range(rng.choice((1, 1, 2, 4))):
        all_places = places(made)
        if not all_places:
            break
        held, key = rng.choice(all_places)
        match rng.randrange(5):
            case 0 | 1:
                held[key] = copy.deepcopy(rng.choice(STRANGE))
            case 2:
                del held[key]
            case 3:
                source, there = rng.choice(all_places)
                held[key] = copy.deepcopy(source[there])
            case _ if isinstance(held, dict):
                held[rng.choice(["extra", "name", "id", "a", "tasks", "workload", key + "x"])] = held.pop(key)
            case _:
                held.append(copy.deepcopy(held[key]))
    return json.dumps(made, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, 1))).encode("utf-8", "replace")


def as_bytes(document: dict[str, Any]) -> bytes:
    return json.dumps(document, indent=1).encode()


def damage_gzip(rng: random.Random, data: bytes) -> bytes:
    packed = gzip.compress(damage_bytes(rng, data) if rng.random() < 0.3 else data, mtime=0)
    return damage_bytes(rng, packed)


Damage = Callable[[random.Random], bytes]
CASES: dict[str, tuple[int, Damage]] = {
    "yaml bytes": (1500, lambda rng: damage_bytes(rng, YAML.encode())),
    "yaml lines": (500, lambda rng: damage_lines(rng, YAML.encode())),
    "workflow": (1500, lambda rng: damage_structure(rng, WORKFLOW)),
    "machines": (700, lambda rng: damage_structure(rng, MACHINES)),
    "scenario": (1500, lambda rng: damage_structure(rng, SCENARIO)),
    "json bytes": (600, lambda rng: damage_bytes(rng, as_bytes(WORKFLOW))),
    "wfformat": (1200, lambda rng: damage_structure(rng, rng.choice((NESTED, FLAT)))),
    "wfformat bytes": (600, lambda rng: damage_bytes(rng, as_bytes(NESTED))),
    "dax bytes": (1200, lambda rng: damage_bytes(rng, DAX.encode())),
    "dax lines": (200, lambda rng: damage_lines(rng, DAX.encode())),
    "gzip": (500, lambda rng: damage_gzip(rng, rng.choice((YAML.encode(), DAX.encode(), as_bytes(NESTED))))),
}


def test_there_are_ten_thousand() -> None:
    assert sum(count for count, _ in CASES.values()) == 10_000


@pytest.mark.parametrize("case", CASES)
def test_a_damaged_file_is_read_or_refused(write: Write, case: str) -> None:
    write("good.yaml", "tasks: {a: {}}\n")
    count, damage = CASES[case]
    refused = 0
    for seed in range(count):
        data = damage(random.Random(f"{case} {seed}"))
        file = write("damaged", data)
        try:
            document = load(file, lenient=seed % 2 == 0)
        except FormatError as error:
            refused += 1
            str(error).encode()  # it can be printed
        else:
            if isinstance(document.content, Workflow):
                check(document.content)
    assert 0.05 * count < refused < count


def check(workflow: Workflow) -> None:
    """What was read is sound, and can be written and read again."""
    assert workflow.tasks
    assert len({task.id for task in workflow.tasks}) == len(workflow.tasks)
    assert workflow_from(read_yaml(Source("w.yaml", write_native(workflow)))) == workflow


def test_the_undamaged_files_are_sound(write: Write) -> None:
    write("good.yaml", "tasks: {a: {}}\n")
    texts = [YAML.encode(), DAX.encode(), *map(as_bytes, (WORKFLOW, MACHINES, SCENARIO, NESTED, FLAT))]
    assert [load(write("x", text)).kind for text in texts] == [
        "workflow", "workflow", "workflow", "machines", "scenario", "workflow", "workflow",
    ]  # fmt: skip
