"""WfFormat of all versions, and the way back."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paperwork import Write, durations, names, sizes, workflows

from tradewind.formats import FormatError, load, load_workflow
from tradewind.formats.json_text import read_json
from tradewind.formats.source import Source
from tradewind.formats.wfformat import workflow_from_wfformat
from tradewind.formats.write import write_wfformat
from tradewind.model.requirement import ANYTHING, Requirement, amounts
from tradewind.model.units import SECOND
from tradewind.model.workflow import File, Task, Workflow


def nested(tasks: Any, runs: Any = None, version: str = "1.5") -> str:
    files = [{"id": "in", "sizeInBytes": 10}, {"id": "out", "sizeInBytes": 20}]
    body: dict[str, Any] = {"specification": {"tasks": tasks, "files": files}}
    if runs is not None:
        body["execution"] = {"makespanInSeconds": 1, "executedAt": "x", "tasks": runs}
    return json.dumps({"name": "w", "schemaVersion": version, "workflow": body})


@pytest.mark.parametrize("version", ["1.5", "1.6"])
def test_reads_the_layout_since_1_5(write: Write, version: str) -> None:
    tasks = [
        {"name": "mAdd_ID02", "id": "mAdd_ID02", "parents": ["mProject_ID01"], "children": [], "inputFiles": ["out"]},
        {"name": "mProject_ID01", "id": "mProject_ID01", "parents": [], "children": [], "outputFiles": ["out", "new"]},
    ]
    command = {"program": "mProject", "arguments": ["-X", "in"]}
    runs = [
        {"id": "mProject_ID01", "runtimeInSeconds": 1.5, "command": command, "coreCount": 1, "memoryInBytes": 5},
        {"id": "mAdd_ID02", "runtimeInSeconds": 0},
    ]
    workflow = load_workflow(write("w.json", nested(tasks, runs, version)))
    outputs = (File("out", 20), File("new", 0))
    assert workflow.tasks == (
        Task("mProject_ID01", "mProject", runtime=1_500_000, outputs=outputs, command="mProject -X in"),
        Task("mAdd_ID02", "mAdd", runtime=1000, inputs=(File("out", 20),)),
    )
    assert workflow.parents == ((), (0,))


@pytest.mark.parametrize(
    ("version", "key", "runtime", "size"),
    [
        ("1.0", "jobs", "runtime", "size"),
        ("1.3", "tasks", "runtime", "size"),
        ("1.4", "tasks", "runtimeInSeconds", "sizeInBytes"),
    ],
)
def test_reads_the_layouts_before_1_5(write: Write, version: str, key: str, runtime: str, size: str) -> None:
    rows = [
        {
            "name": "a_ID01",
            "id": "ID01",
            "category": "kind",
            runtime: 2,
            "cores": 3.5,
            "files": [{"name": "f", size: 7, "link": "output"}, {"name": "g", size: 8, "link": "input"}],
            "command": {"program": "a", "arguments": ["x y"]},
        },
        {"name": "b", "id": "ID02", "parents": ["a_ID01"], runtime: 1, "cores": 1},
        {"name": "c", "parents": ["ID02"]},
        {"name": "d", "children": ["c"], "command": "plain"},
    ]
    file = write("w.json", json.dumps({"schemaVersion": version, "workflow": {key: rows}}))
    document = load(file)
    workflow = document.content
    assert isinstance(workflow, Workflow)
    assert workflow.name == "w"
    tasks = {task.id: task for task in workflow.tasks}
    assert list(tasks) == ["a_ID01", "d", "b_ID02", "c"]
    first = tasks["a_ID01"]
    assert (first.name, first.runtime, first.command) == ("kind", 2 * SECOND, "a x y")
    assert (first.inputs, first.outputs) == ((File("g", 8),), (File("f", 7),))
    assert first.requirement == Requirement(amounts=amounts(cpus=4))
    assert tasks["b_ID02"].requirement == Requirement(amounts=amounts(cpus=1))
    assert tasks["c"].requirement == ANYTHING
    assert tasks["d"].command == "plain"
    assert document.line_of("b_ID02") == 1


def test_children_count_as_parents(write: Write) -> None:
    tasks = [{"name": "b", "id": "b"}, {"name": "a", "id": "a", "children": ["b"]}]
    assert load_workflow(write("w.json", nested(tasks))).parents == ((), (0,))


def test_a_name_that_is_no_id_is_kept(write: Write) -> None:
    tasks = [{"name": "TRIM_2", "id": "TRIM_2_1"}, {"name": "map_map_x_1_ID7", "id": "map_map_x_1_ID7"}]
    runs = [{"id": "map_map_x_1_ID7", "runtimeInSeconds": 1, "command": {"program": "map"}}]
    workflow = load_workflow(write("w.json", nested(tasks, runs)))
    assert [task.name for task in workflow.tasks] == ["TRIM_2", "map"]


def test_finds_the_line_of_a_task(write: Write) -> None:
    text = '{"schemaVersion": "1.5", "workflow": {"specification": {"tasks": [\n{"id": "a"},\n{"id": "b"}]}}}'
    document = load(write("w.json", text))
    assert [document.line_of(name) for name in ("a", "b", "gone")] == [2, 3, 1]


@pytest.mark.parametrize(
    ("tasks", "runs", "reason"),
    [
        ([1], [], r"tasks\[0\]: must be an object, not 1"),
        ("x", None, "tasks: must be a list, not 'x'"),
        (None, None, "tasks: is missing"),
        ([{"id": 5}], [], r"tasks\[0\]\.id: must be text, not 5"),
        ([{"id": "a\nb"}], [], "must not contain line breaks"),
        ([{"id": "a", "parents": "b"}], [], "parents: must be a list, not 'b'"),
        ([{"id": "a", "parents": [{}]}], [], "parents: must be text, not a mapping"),
        ([{"id": "a", "children": ["b"]}], [], "children: no task named 'b'"),
        ([{"id": "a"}], [{"id": "b"}], "no task named 'b' in the specification"),
        ([{"id": "a"}], [{"id": "a"}, {"id": "a"}], "a second execution of task 'a'"),
        ([{"id": "a"}], [{"id": "a", "runtimeInSeconds": True}], "must be a number, not true"),
        ([{"id": "a"}], [{"id": "a", "runtimeInSeconds": 1e300}], "is too large"),
        ([{"id": "a"}], [{"id": "a", "runtimeInSeconds": 10**400}], "a huge number is too large"),
        ([{"id": "a"}], [{"id": "a", "command": {"program": 5}}], "program and arguments must be text"),
        ([{"id": "a"}], [{"id": "a", "command": "\x01"}], "must not contain control characters"),
        ([{"id": "a"}], 5, "tasks: must be a list, not 5"),
    ],
)
def test_refuses_what_is_no_workflow(write: Write, tasks: Any, runs: Any, reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        load(write("w.json", nested(tasks, runs)))


def test_refuses_a_link_that_is_neither_in_nor_out(write: Write) -> None:
    row = {"name": "a", "files": [{"name": "f", "size": 1, "link": "sideways"}]}
    with pytest.raises(FormatError, match="must be input or output, not 'sideways'"):
        load(write("w.json", json.dumps({"schemaVersion": "1.3", "workflow": {"tasks": [row]}})))


def test_lenient_takes_negative_numbers_for_zero(write: Write) -> None:
    text = nested([{"id": "a", "inputFiles": ["in"]}], [{"id": "a", "runtimeInSeconds": -2}])
    file = write("w.json", text.replace('"sizeInBytes": 10', '"sizeInBytes": -10'))
    with pytest.raises(FormatError, match="-10 is negative"):
        load(file)
    task = load_workflow(file, lenient=True).tasks[0]
    assert (task.runtime, task.inputs) == (1000, (File("in", 0),))


@st.composite
def recorded(draw: st.DrawFn, identity: str) -> Task:
    """A task with what WfFormat can hold; a file of some name has one size."""
    files = st.lists(names.map(lambda name: File(name, len(name))), max_size=3).map(tuple)
    return Task(
        identity,
        draw(names | st.just(identity)),
        runtime=draw(st.none() | durations.map(lambda time: time + 1)),
        inputs=draw(files),
        outputs=draw(files),
        command=draw(st.sampled_from(["", "run", "run -a b", "two  spaces ", " x", "several\nlines", identity])),
    )


@given(workflows(recorded))
def test_what_is_written_reads_back_the_same(workflow: Workflow) -> None:
    again = workflow_from_wfformat(read_json(Source("w.json", write_wfformat(workflow).decode())))
    assert (again.name, again.tasks, again.parents) == (workflow.name, workflow.tasks, workflow.parents)


@given(st.lists(st.builds(File, st.sampled_from(["f", "f#2", "g"]), sizes), max_size=6))
def test_files_of_one_name_and_several_sizes_stay_apart(files: list[File]) -> None:
    workflow = Workflow("w", (Task("a", "a", inputs=tuple(files)),), ((),))
    rows = orjson.loads(write_wfformat(workflow))["workflow"]["specification"]["files"]
    assert len({row["id"] for row in rows}) == len(rows) == len(set(files))
    again = workflow_from_wfformat(read_json(Source("w.json", write_wfformat(workflow).decode())))
    assert [file.size for file in again.tasks[0].inputs] == [file.size for file in files]
