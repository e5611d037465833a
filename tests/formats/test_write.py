"""Files are written whole or not at all, and quickly; schemas and pictures are well formed."""

import gzip
import json
import random
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paperwork import Write, names, tasks, workflows

from tradewind.formats import FormatError, load, load_workflow
from tradewind.formats.fields import fault_of_name
from tradewind.formats.layers import arrange_layers
from tradewind.formats.names import kind_of, recorded_kind_of
from tradewind.formats.picture import svg
from tradewind.formats.schema import KINDS, schema
from tradewind.formats.source import Source
from tradewind.formats.write import quote, write_file, write_native, write_wfformat
from tradewind.formats.yaml_text import read_yaml
from tradewind.model.workflow import File, Task, Workflow, arrange


def large(count: int) -> Workflow:
    rng = random.Random(1)
    steps = [
        Task(
            f"step_{at}", f"kind{at % 9}", runtime=rng.randrange(10**8), inputs=(File(f"f{at}", at),), command="run it"
        )
        for at in range(count)
    ]
    return arrange("large", steps, [[rng.randrange(at) for _ in range(2)] if at else [] for at in range(count)])


def test_reads_and_writes_many_tasks_in_linear_time(write: Write) -> None:
    workflow = large(10_000)
    begun = time.process_time()
    texts = [write_native(workflow).encode(), write_wfformat(workflow)]
    assert all(load_workflow(write("large", text)) == workflow for text in texts)
    assert time.process_time() - begun < 30  # about 3 s on an idle machine


def test_writes_as_people_would(write: Write) -> None:
    text = "name: w\ntasks:\n  a_1: {}\n  b:\n    needs: [a_1]\n    runtime: 90s\n    run: |-\n      one\n\n      two\n"
    assert write_native(load_workflow(write("w.yaml", text))) == text


def test_replaces_a_file_whole_and_keeps_its_permissions(tmp_path: Path) -> None:
    file = tmp_path / "x.txt.gz"
    write_file(file, b"one")
    file.chmod(0o600)
    write_file(file, b"two")
    assert gzip.decompress(file.read_bytes()) == b"two"
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["x.txt.gz"]


def test_leaves_nothing_behind_when_it_cannot_write(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(FormatError, match="cannot be written"):
        write_file(tmp_path / "folder", b"x")
    with pytest.raises(FormatError, match="cannot be written"):
        write_file(tmp_path / "gone" / "x", b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@given(names)
def test_a_quoted_name_is_one_line(name: str) -> None:
    assert len(quote(name).splitlines()) == 1


@pytest.mark.parametrize(
    ("identity", "kind"),
    [
        ("mAdd_2", "mAdd"),
        ("align-07", "align"),
        ("x", "x"),
        ("42", "42"),
        ("a_ID0001", "a"),
        ("step3", "step"),
        ("a_b", "a_b"),
    ],
)
def test_the_kind_of_a_task_is_its_id_without_a_number(identity: str, kind: str) -> None:
    assert kind_of(identity) == kind


def test_recorded_names_lose_only_what_follows_an_underscore() -> None:
    assert [recorded_kind_of(name) for name in ("a_ID01", "a_4", "bowtie2", "_1")] == ["a", "a", "bowtie2", "_1"]


@pytest.mark.parametrize("name", ["", " ", "a\nb", "\x85", "x" * 501])
def test_some_names_are_refused(name: str) -> None:
    assert fault_of_name(name)


def test_a_name_may_hold_spaces_that_do_not_break_lines() -> None:
    assert not fault_of_name("a\xa0b")


@pytest.mark.parametrize("kind", KINDS)
def test_schemas_accept_their_examples_as_the_loader_does(write: Write, kind: str) -> None:
    made = schema(kind)
    jsonschema.Draft202012Validator.check_schema(made)
    validator = jsonschema.Draft202012Validator(made)
    (example,) = made["examples"]
    validator.validate(example)
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**example, "colour": "red"})
    if kind != "scenario":
        text = str(example).replace("'", '"')
        assert load(write("x", text)).kind == kind
    assert made["title"] == f"Tradewind {kind}"


def test_the_schema_tells_defaults_as_users_write_them() -> None:
    defaults = dict(_defaults(schema("scenario")))
    assert defaults["period"] == defaults["billing"] == defaults["interval"] == "1m"
    assert dict(_defaults(schema("workflow")))["max_delay"] == "10m"
    assert defaults["length"] == "168h"
    assert defaults["limit"] == 1_000_000
    for kind in KINDS:
        assert "x-duration" not in json.dumps(schema(kind))
        for name, value in _defaults(schema(kind)):
            assert name in ("limit", "most") or not isinstance(value, int) or value < 60_000_000, name


def _defaults(node: Any) -> Iterator[tuple[str, Any]]:
    for name, inner in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        if isinstance(inner, dict) and "default" in inner:
            yield str(name), inner["default"]
        yield from _defaults(inner)


VALIDATOR = jsonschema.Draft202012Validator(schema("workflow"))


@settings(max_examples=40)
@given(workflows())
def test_the_schema_accepts_what_is_written(workflow: Workflow) -> None:
    VALIDATOR.validate(read_yaml(Source("w", write_native(workflow))).data)


@settings(max_examples=40)
@given(workflows(), st.booleans())
def test_pictures_are_well_formed_and_show_every_task(workflow: Workflow, group: bool) -> None:
    root = ET.fromstring(svg(workflow, group=group))  # noqa: S314  # our own
    boxes = [part for part in root.iter("{http://www.w3.org/2000/svg}g") if part.find("{*}title") is not None]
    levels = workflow.levels()
    kinds = {(level, task.name) for level, task in zip(levels, workflow.tasks, strict=True)}
    assert len(boxes) == (len(kinds) if group else len(workflow.tasks))


@pytest.mark.parametrize("count", [151, 5_000])
def test_large_pictures_stay_small(count: int) -> None:
    assert len(svg(large(count))) < 800_000  # bytes, whatever the number of tasks


def test_a_long_chain_of_many_names_is_drawn_in_bands() -> None:
    steps = [Task(f"t{at}", f"{at * 7919 % 2000}") for at in range(4000)]
    chain = arrange("chain", steps, [[at - 1] if at else [] for at in range(4000)])
    picture = svg(chain)
    assert picture.count("<g><title>") <= 30 * 8
    assert "other" in picture


@given(st.data())
def test_boxes_of_one_layer_never_overlap(data: st.DataObject) -> None:
    layers = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=12))
    heights = [data.draw(st.floats(5, 50)) for _ in layers]
    pairs = [(one, other) for one in range(len(layers)) for other in range(len(layers)) if layers[one] < layers[other]]
    lines = data.draw(st.lists(st.sampled_from(pairs), max_size=15)) if pairs else []
    layout = arrange_layers(layers, heights, dict.fromkeys(lines, 1), 10)
    for layer in layout.layers:
        for above, below in pairwise(layer):
            one, other = layout.nodes[above], layout.nodes[below]
            assert one.y + one.height / 2 < other.y - other.height / 2
    assert min(node.y - node.height / 2 for node in layout.nodes) == pytest.approx(0)


@given(tasks("a"))
def test_a_single_task_has_a_picture(task: Task) -> None:
    ET.fromstring(svg(Workflow("one", (task,), ((),))))  # noqa: S314  # our own
