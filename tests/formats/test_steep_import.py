"""Workflows of Steep: what they become, what is refused with which words, and that they run for real."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from tradewind.cli import application
from tradewind.client.backend import Submission
from tradewind.client.bundle import request
from tradewind.core.chains.generator import Generator
from tradewind.core.chains.outline import outline
from tradewind.formats.errors import FormatError
from tradewind.formats.load import load, load_text
from tradewind.formats.write_program import write_program
from tradewind.live.store.open import open_store
from tradewind.model.action import Container, Shell
from tradewind.model.parameters import bind
from tradewind.model.program import Kind, Program
from tradewind.model.units import MINUTE, SECOND

SERVICES = """
- id: cp
  name: Copy
  description: Copy a file
  path: cp
  runtime: other
  requiredCapabilities: [disk]
  retries: {maxAttempts: 5, delay: 1s, exponentialBackoff: 2, maxDelay: 10s}
  maxRuntime: 10m
  parameters:
    - {id: no_overwrite, name: n, description: d, type: input, cardinality: 1..1, label: -n, dataType: boolean,
       default: false}
    - {id: input_file, name: n, description: d, type: input, cardinality: 1..1, dataType: file}
    - {id: output_file, name: n, description: d, type: output, cardinality: 1..1, dataType: file, fileSuffix: .txt}
- id: join
  name: Join
  description: Join files
  path: ./join.sh
  runtime: other
  parameters:
    - {id: output, name: n, description: d, type: output, cardinality: 1..1, dataType: file}
    - {id: i, name: n, description: d, type: input, cardinality: 1..n, dataType: file, label: -i}
- id: split
  name: Split
  description: Split a file into lines
  path: ./split.sh
  runtime: other
  parameters:
    - {id: input, name: n, description: d, type: input, cardinality: 1..1, dataType: file}
    - {id: parts, name: n, description: d, type: output, cardinality: 1..1, dataType: directory}
- id: countdown
  name: Count down
  description: Subtract one
  path: ./countdown.sh
  runtime: other
  parameters:
    - {id: input, name: n, description: d, type: input, cardinality: 1..1, dataType: file}
    - {id: output, name: n, description: d, type: output, cardinality: 1..1, dataType: fileOrEmptyList}
- id: shout
  name: Shout
  description: In a container
  path: busybox:1.36
  runtime: docker
  runtime_args:
    - {id: volume, name: n, description: d, label: -v, value: "/data:/data"}
    - {id: init, name: n, description: d, label: --init, dataType: boolean, value: "true"}
  parameters:
    - {id: word, name: n, description: d, type: input, cardinality: 0..1, dataType: string, label: --word}
    - {id: input, name: n, description: d, type: input, cardinality: 1..1, dataType: file}
    - {id: output, name: n, description: d, type: output, cardinality: 1..1, dataType: file}
"""

MACROS = """
- id: twice
  name: Twice
  description: Copy a copy
  parameters:
    - {id: source, name: n, description: d, type: input}
    - {id: target, name: n, description: d, type: output}
  vars: [{id: between}]
  actions:
    - {type: execute, service: cp, inputs: [{id: input_file, var: source}], outputs: [{id: output_file, var: between}]}
    - {type: execute, service: cp, inputs: [{id: input_file, var: between}], outputs: [{id: output_file, var: target}]}
"""

COPY = "{type: execute, service: cp, inputs: [{id: input_file, var: a}], outputs: [{id: output_file, var: b}]}"
LOOP = f"""
api: 4.1.0
vars: [{{id: l, value: [x]}}]
actions:
- {{type: for, input: l, enumerator: a, actions: [{COPY}]}}
- {{type: execute, service: cp, inputs: [{{id: input_file, var: b}}], outputs: [{{id: output_file, var: c}}]}}
"""
ABSOLUTE = f"""
api: 4.1.0
vars: [{{id: a, value: x}}]
actions: [{COPY.replace("var: b", "var: b, prefix: /abs/")}]
"""


def steep(folder: Path, text: str) -> Program:
    (folder / "services.yaml").write_text(SERVICES)
    (folder / "macros.yaml").write_text(MACROS)
    (folder / "flow.yaml").write_text(text)
    document = load(folder / "flow.yaml")
    assert document.format == "steep"
    assert isinstance(document.content, Program)
    return document.content


def test_an_execute_action_is_a_command_with_parameters_in_the_order_of_the_metadata(tmp_path: Path) -> None:
    text = """
    api: 4.7.0
    name: copying
    priority: 3
    vars: [{id: a, value: in.txt}, {id: b}]
    actions:
      - type: execute
        service: cp
        inputs: [{id: input_file, var: a}, {id: no_overwrite, value: true}]
        outputs: [{id: output_file, var: b, prefix: some/}]
        maxInactivity: {timeout: 30s}
    """
    program = steep(tmp_path, text)
    (step,) = program.steps
    assert step.action == Shell('cp -n {{ params.a }} {{ outputs["output_file"] }}')
    assert (program.name, program.priority, step.name) == ("copying", 3, "cp")
    assert step.outputs["output_file"].path == "some/output_file.txt"
    assert step.requirement.capabilities == {"disk"}
    assert step.retries.error.attempts == 5
    assert (step.retries.error.delay, step.retries.error.max_delay) == (SECOND, 10 * SECOND)
    assert (step.limits.run, step.limits.silence) == (10 * MINUTE, 30 * SECOND)
    assert program.parameters["a"].default == str(tmp_path / "in.txt")
    assert program.parameters["a"].kind is Kind.FILE
    assert program.outputs == {"b": "{{ steps['cp']['output_file'] }}"}


def test_the_docker_runtime_is_a_container_with_the_entry_point_of_its_image(tmp_path: Path) -> None:
    text = """
    api: 4.7.0
    actions:
      - type: execute
        service: shout
        inputs: [{id: input, value: in.txt}, {id: word, value: "it's {{ odd }}"}]
        outputs: [{id: output, var: loud}]
    """
    (step,) = steep(tmp_path, text).steps
    assert isinstance(step.action, Container)
    assert (step.action.image, step.action.entrypoint) == ("busybox:1.36", True)
    assert step.action.options == ("-v", "/data:/data", "--init")
    assert (
        step.action.command == f'--word {{{{ "it\'s {{{{ odd }}}}" }}}} {tmp_path}/in.txt {{{{ outputs["output"] }}}}'
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("api: 3.0.0\nactions: []", "flow.yaml:1: api: unknown version '3.0.0'"),
        ("api: 4.1.0\nactions: []", "actions: has no actions"),
        ("api: 4.1.0\nactions:\n- {type: store}", "flow.yaml:3: actions[0].type: 'store' is not supported"),
        ("api: 4.1.0\nactions:\n- {type: execute, service: splid}", "no service named 'splid'; did you mean 'split'?"),
        ("api: 4.1.0\nactions:\n- {type: execute, service: cp}", "'cp' needs a value for 'input_file'"),
        (f"api: 4.1.0\nactions:\n- {COPY}", "flow.yaml:3: actions[0].inputs[0].var: no variable 'a' has a value"),
        (f"api: 4.1.0\nvars: [{{id: a, value: x}}]\nactions: [{COPY}, {COPY}]", "'b' already has a value"),
        ("api: 4.1.0\nactions: [{type: include, macro: thrice}]", "no macro named 'thrice'"),
        (
            "api: 4.1.0\nactions: [{type: include, macro: twice, outputs: [{id: target, var: t}]}]",
            "requires the parameter 'source'",
        ),
        (f"api: 4.1.0\nactions:\n- {COPY[:-1]}, dependsOn: [nobody]}}", "no action has the id 'nobody'"),
        (f"api: 4.1.0\nactions:\n- {COPY[:-1]}, colour: red}}", "actions[0].colour: unknown field"),
        (f"api: 4.1.0\nactions:\n- {COPY[:-1]}, maxRuntime: soon}}", "must be a duration, not 'soon'"),
        (f"api: 4.1.0\nactions:\n- {COPY[:-1]}, retries: {{maxAttempts: 0}}}}", "0 attempts are not supported"),
        (LOOP, "the variable 'b' is only visible inside a loop"),
        (ABSOLUTE, "absolute prefix"),
        (
            f"api: 4.1.0\nvars:\n- {{id: a, value: [x, y]}}\nactions:\n- {COPY}",
            "flow.yaml:5: actions[0].inputs: 'cp' takes 1 of 'input_file', not 2",
        ),
        (
            f"api: 4.1.0\nactions:\n- {COPY.replace('var: a', 'value: [x, y]')}",
            "flow.yaml:3: actions[0].inputs: 'cp' takes 1 of 'input_file', not 2",
        ),
        (
            (
                f"api: 4.1.0\nvars: [{{id: a, value: x}}]\nactions:\n- {COPY[:-1]}, id: one}}\n"
                f"- {COPY.replace('var: b', 'var: c')[:-1]}, id: one}}"
            ),
            "flow.yaml:5: actions[1].id: a second action has the id 'one'",
        ),
        (
            (
                f"api: 4.1.0\nvars: [{{id: a, value: x}}]\nactions:\n"
                f"- {COPY.replace('var: b}', 'var: b}, {id: output_file, var: c}')}"
            ),
            "flow.yaml:4: actions[0].outputs[1]: a second variable for the output 'output_file' of 'cp'",
        ),
        (
            (
                "api: 4.1.0\nactions:\n- {type: include, macro: twice, inputs: [{id: source, value: x},"
                " {id: source, value: y}], outputs: [{id: target, var: t}]}"
            ),
            "flow.yaml:3: actions[0].inputs[1]: 'source' is passed to 'twice' twice",
        ),
        (
            (
                "api: 4.1.0\nactions:\n- {type: include, macro: twice, inputs: [{id: source, value: x}],"
                " outputs: [{id: target, var: t}, {id: target, var: u}]}"
            ),
            "flow.yaml:3: actions[0].outputs[1]: a second variable for the output 'target' of 'twice'",
        ),
        (
            "api: 4.1.0\nactions:\n- {type: include, macro: twice, inputs: [{id: source, value: x}]}",
            "flow.yaml:3: actions[0].outputs: 'twice' needs a variable for its output 'target'",
        ),
        (
            f"api: 4.1.0\nvars:\n- {{id: a, value: x}}\n- {{id: one}}\nactions:\n- {COPY[:-1]}, id: one}}",
            "flow.yaml:4: vars[1]: an action has the id 'one'; rename one of them",
        ),
        (
            f"api: 4.1.0\nvars:\n- {{id: a, value: x}}\n- {{id: b}}\n- {{id: b}}\nactions:\n- {COPY}",
            "flow.yaml:5: vars[2]: a second variable is named 'b'",
        ),
        (
            f"api: 4.1.0\nactions:\n- {COPY[:-1]}, maxRuntime: {{timeout: 1m, errorOnTimeout: false}}}}",
            "flow.yaml:3: actions[0].maxRuntime.errorOnTimeout: false is not supported; leave it out, or set it",
        ),
    ],
)
def test_refuses_with_place_and_remedy(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FormatError) as error:
        steep(tmp_path, text)
    assert message in str(error.value)


def test_services_that_cannot_be_run_are_refused_where_they_stand(tmp_path: Path) -> None:
    (tmp_path / "services.yaml").write_text("- {id: a, path: x, runtime: kubernetes, parameters: []}")
    (tmp_path / "flow.yaml").write_text("api: 4.7.0\nactions: [{type: execute, service: a}]")
    with pytest.raises(FormatError, match=r"services.yaml:1: \[0\].runtime: 'kubernetes' is not supported"):
        load(tmp_path / "flow.yaml")


def test_a_service_that_cannot_be_run_is_no_matter_to_those_who_do_not_use_it(tmp_path: Path) -> None:
    (tmp_path / "services.yaml").write_text(f"{SERVICES}\n- {{id: k, path: x, runtime: kubernetes, parameters: []}}")
    flow = tmp_path / "flow.yaml"
    flow.write_text(f"api: 4.7.0\nvars: [{{id: a, value: x}}]\nactions: [{COPY}]")
    assert isinstance(load(flow).content, Program)
    flow.write_text("api: 4.7.0\nactions: [{type: execute, service: k}]")
    with pytest.raises(FormatError, match=r"services.yaml:.*runtime: 'kubernetes' is not supported"):
        load(flow)


def test_a_list_that_is_known_only_later_must_have_one_item_where_one_is_taken(tmp_path: Path) -> None:
    text = """
    api: 4.7.0
    vars: [{id: many, value: [[x, y], [z]]}]
    actions:
      - {type: for, input: many, enumerator: a, actions: [%s]}
    """
    program = steep(tmp_path, text % COPY)
    generator = Generator(program, bind(program, {}))
    (chain,) = generator.begin()
    assert "cp" in str(chain.calls[0].action)
    (fault,) = generator.faults
    assert "only() takes a list of one item, not of 2" in fault.reason


def test_a_time_out_that_is_an_error_is_taken(tmp_path: Path) -> None:
    text = f"""
    api: 4.7.0
    vars: [{{id: a, value: x}}]
    actions: [{COPY[:-1]}, maxRuntime: {{timeout: 1m, errorOnTimeout: true}}}}]
    """
    assert steep(tmp_path, text).steps[0].limits.run == MINUTE


def test_a_submitted_text_finds_services_among_the_files_sent_along() -> None:
    text = f"api: 4.7.0\nvars: [{{id: a, value: x}}]\nactions: [{COPY}]".encode()
    document = load_text(text, "flow.yaml", files={"services.yaml": SERVICES.encode()})
    assert isinstance(document.content, Program)


def test_lists_become_words_each_with_its_label(tmp_path: Path) -> None:
    text = """
    api: 4.7.0
    vars: [{id: all, value: [a, b]}]
    actions:
      - {type: execute, service: join, inputs: [{id: i, var: all}], outputs: [{id: output, var: o}]}
      - {type: execute, service: join, inputs: [{id: i, value: c}, {id: i, value: d}], outputs: [{id: output, var: p}]}
    """
    program = steep(tmp_path, text)
    chains = Generator(program, bind(program, {})).begin()
    words = ["output", ["-i", f"{tmp_path}/a", "-i", f"{tmp_path}/b"]]
    assert list(chains[0].calls[0].inputs.values()) == words
    assert isinstance(program.steps[1].action, Shell)
    assert program.steps[1].action.command.endswith(f"-i {tmp_path}/c -i {tmp_path}/d")


FLOW = """
api: 4.7.0
vars: [{id: text, value: words.txt}, {id: start, value: three.txt}]
actions:
  - type: execute
    service: split
    inputs: [{id: input, var: text}]
    outputs: [{id: parts, var: lines}]
  - type: for
    input: lines
    enumerator: line
    output: copies
    yieldToOutput: copy
    actions:
      - {type: include, macro: twice, inputs: [{id: source, var: line}], outputs: [{id: target, var: copy}]}
  - type: execute
    id: all
    service: join
    inputs: [{id: i, var: copies}]
    outputs: [{id: output, var: joined, store: true}]
  - type: for
    input: start
    enumerator: number
    yieldToInput: next
    actions:
      - {type: execute, service: countdown, inputs: [{id: input, var: number}], outputs: [{id: output, var: next}]}
  - type: execute
    dependsOn: all
    service: shout
    inputs: [{id: input, var: joined}, {id: word, value: hey}]
    outputs: [{id: output, var: loud}]
"""
SCRIPTS = {
    "split.sh": 'cd "$2" && mkdir deep && split -l 1 "$1" deep/part-',
    "join.sh": 'out=$1; shift; while [ $# -gt 0 ]; do cat "$2" >> "$out"; shift 2; done',
    "countdown.sh": 'n=$(($(cat "$1") - 1)); [ $n -le 0 ] || echo $n > "$2"',
}
DOCKER = """#!/bin/sh
echo "$@" > docker-words
while [ "$1" != busybox:1.36 ]; do shift; done
tr a-z A-Z < "$4" > "$5"
"""


def test_a_steep_workflow_runs_for_real(tmp_path: Path) -> None:
    """Loops over files that are found while it runs, a macro, a loop that feeds itself, and a container."""
    steep(tmp_path, FLOW)
    (tmp_path / "services.yaml").rename(tmp_path / "my-services.yaml")
    (tmp_path / "words.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "three.txt").write_text("3")
    tools = tmp_path / "tools"
    tools.mkdir()
    for path, text in ((tools / "podman", DOCKER), *((tmp_path / n, f"#!/bin/sh\n{t}\n") for n, t in SCRIPTS.items())):
        path.write_text(text)
        path.chmod(0o755)
    (tmp_path / "machines.yaml").write_text("machines: {here: {capabilities: [disk], limit: 1, slots: 2}}")
    command = [sys.executable, "-m", "tradewind", "run", "flow.yaml", "--json"]
    done = subprocess.run(
        [*command, "--machines", "machines.yaml", "--services", "my-services.yaml", "macros.yaml"],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    store = open_store(tmp_path / ".tradewind" / "store.db")
    detail = store.run(json.loads(done.stdout)["run"])
    store.close()
    assert detail is not None
    results = {call: values for unit in detail.units for call, values in (unit.results or {}).items()}
    assert Path(results["all"]["output"]).read_text() == "one\ntwo\nthree\n"
    assert Path(results["shout"]["output"]).read_text() == "ONE\nTWO\nTHREE\n"
    assert {"countdown[0]", "countdown[0.0]", "countdown[0.0.0]"} <= set(results)
    assert sorted(name for name in results if name.startswith("twice[")) == [
        f"twice[{item}].cp{suffix}" for item in range(3) for suffix in ("", "_2")
    ]
    words = (Path(results["shout"]["output"]).parent / "docker-words").read_text()
    assert "-v /data:/data --init busybox:1.36 --word hey" in words
    assert f"--volume {results['all']['output']}:{results['all']['output']}:ro" in words


def test_what_it_becomes_can_be_written_down_and_read_again(tmp_path: Path) -> None:
    program = steep(tmp_path, FLOW)
    (tmp_path / "native.yaml").write_text(write_program(program))
    again = load(tmp_path / "native.yaml")
    assert again.format == "native"
    assert again.content == program


def test_the_commands_take_steep_workflows(tmp_path: Path) -> None:
    steep(tmp_path, FLOW)
    for name in ("words.txt", "three.txt"):
        (tmp_path / name).write_text("3")
    (tmp_path / "services.yaml").rename(tmp_path / "elsewhere.yaml")
    given = ["--services", str(tmp_path / "elsewhere.yaml"), "--services", str(tmp_path / "macros.yaml")]
    run = CliRunner().invoke
    done = run(application("validate"), ["validate", str(tmp_path / "flow.yaml"), *given])
    assert "ok, steep program: 5 steps" in done.output
    assert run(application("validate"), ["validate", str(tmp_path / "flow.yaml")]).exit_code == 2
    done = run(application("convert"), ["convert", str(tmp_path / "flow.yaml"), str(tmp_path / "native.yaml"), *given])
    assert "5 steps as native" in done.output
    assert "ok, native program" in run(application("validate"), ["validate", str(tmp_path / "native.yaml")]).output


_JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [None, 0, -1, True, "", "x", "{{", "{{ params.x }}", "[", [], [[]], {}, {"id": 1}, {"type": "for"}]
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield from _places(item, (*path, key))


@settings(max_examples=60)
@given(data=st.data())
def test_whatever_is_wrong_with_the_files_is_told_as_an_error_of_the_file(data: st.DataObject) -> None:
    """Some value of a workflow, its services or its macros is another one, or gone."""
    files = [yaml.safe_load(text) for text in (FLOW, SERVICES, MACROS)]
    for _ in range(data.draw(st.integers(1, 2))):
        file = data.draw(st.integers(0, 2))
        *way, last = data.draw(st.sampled_from([path for path in _places(files[file]) if path]))
        inner = files[file]
        for key in way:
            inner = inner[key]
        if data.draw(st.booleans()):
            inner[last] = data.draw(_JUNK)
        elif isinstance(inner, dict):
            del inner[last]
    flow, services, macros = (json.dumps(file).encode() for file in files)
    with suppress(FormatError):
        document = load_text(flow, "flow.json", files={"services.json": services, "macros.json": macros})
        assert document.kind in ("program", "workflow", "machines")


def test_a_submission_takes_the_services_along(tmp_path: Path) -> None:
    steep(tmp_path, FLOW)
    for name in ("words.txt", "three.txt"):  # submissions check that default files exist
        (tmp_path / name).touch()
    body = request(Submission(tmp_path / "flow.yaml"))["json"]
    assert set(body["files"]) == {"services.yaml", "macros.yaml"}
    files = {name: text.encode() for name, text in body["files"].items()}
    assert load_text(body["workflow"].encode(), "flow.yaml", files=files).kind == "program"


def test_the_outline_has_loops_over_lists_that_are_not_known_yet(tmp_path: Path) -> None:
    text = """
    api: 4.7.0
    vars: [{id: l, value: [x, y]}]
    actions:
      - {type: for, input: l, enumerator: a, output: copies, yieldToOutput: b, actions: [%s]}
      - {type: for, input: copies, enumerator: c, actions: [%s]}
    """
    program = steep(tmp_path, text % (COPY, COPY.replace("var: a", "var: c").replace("var: b", "var: d")))
    found = outline(program, bind(program, {}), lambda _: 3)
    assert found.parents == ((), (), (0, 1), (0, 1), (0, 1)), "two are known, and three were there in earlier runs"
    assert len(outline(program, bind(program, {}), lambda _: None).tasks) == 3


def test_a_loop_over_what_a_loop_yields_begins_as_items_arrive(tmp_path: Path) -> None:
    text = """
    api: 4.7.0
    vars: [{id: l, value: [x, y]}]
    actions:
      - {type: for, input: l, enumerator: a, output: copies, yieldToOutput: b, actions: [%s]}
      - {type: for, input: copies, enumerator: c, actions: [%s]}
    """
    program = steep(tmp_path, text % (COPY, COPY.replace("var: a", "var: c").replace("var: b", "var: d")))
    generator = Generator(program, bind(program, {}))
    assert [chain.id for chain in generator.begin()] == ["cp[0]", "cp[1]"]
    (early,) = generator.finished("cp[1]", {"cp[1]": {"output_file": "/copy"}})
    assert early.id == "cp_2[1]"
