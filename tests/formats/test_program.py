"""Native programs: what is read, and what is refused, with its place and a remedy."""

from pathlib import Path

import pytest

from tradewind.formats import FormatError, load, load_program, load_workflow
from tradewind.model.action import Container, Function, Limits, Output, Shell
from tradewind.model.parameters import ParameterError, bind
from tradewind.model.program import Kind, Loop, Parameter, Program
from tradewind.model.requirement import Requirement, amounts
from tradewind.model.units import MINUTE, SECOND
from tradewind.model.workflow import Retry

FULL = """
name: all-of-it
priority: 3
deadline: 2h
params:
  sample:
  threads: 4
  ref: {type: file, default: genome.fa, description: The reference}
steps:
  fetch:
    name: download
    run: curl {{ params.sample }} > {{ outputs.raw }}
    outputs: {raw: raw.gz, log: stdout, parts: "*.part", all: {path: out, many: true}, meta: {value: meta.json}}
    retries: 2
    timeout: 10m
    env: {LEVEL: 3, NAME: "{{ params.sample }}"}
  train:
    needs: [fetch]
    python: lab.models:train
    inputs: {data: "{{ fetch.raw }}", depth: 3}
    outputs: [model, score]
    capabilities: [gpu]
    cpus: 4
    memory: 8GB
    gpus: 1
    checkpoint: true
    alone: true
    timeout: {run: 1h, silence: 5m, total: 3h}
    retries: {error: 1, memory: {attempts: 4, delay: 5s}, lost: 7, delay: 1s, memory_growth: 1.5}
  box:
    container: {image: "tool:1", run: "tool {{ train.model }}"}
    when: train.score > 0.5
    runtime: 30
    runtimes: {big: 10}
outputs:
  model: "{{ train.model }}"
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def program(text: str, file: str = "w.yaml") -> Program:
    Path(file).write_text(text)
    return load_program(file)


def test_reads_everything_that_a_step_can_say(tmp_path: Path) -> None:
    found = program(FULL)
    assert (found.name, found.priority, found.deadline) == ("all-of-it", 3, 120 * MINUTE)
    assert found.parameters == {
        "sample": Parameter(required=True),
        "threads": Parameter(4),
        "ref": Parameter(str(tmp_path / "genome.fa"), kind=Kind.FILE, description="The reference"),
    }
    fetch, train, box = found.steps
    assert fetch.name == "download"
    assert fetch.action == Shell("curl {{ params.sample }} > {{ outputs.raw }}")
    assert fetch.outputs == {
        "raw": Output("raw.gz"),
        "log": Output(value="stdout"),
        "parts": Output("*.part", many=True),
        "all": Output("out", many=True),
        "meta": Output(value="meta.json"),
    }
    assert fetch.retries.error == fetch.retries.memory == fetch.retries.timeout == Retry(3)
    assert fetch.limits == Limits(run=10 * MINUTE)
    assert fetch.environment == {"LEVEL": "3", "NAME": "{{ params.sample }}"}
    assert train.action == Function("lab.models:train")
    assert train.outputs == {"model": Output(value="return"), "score": Output(value="return")}
    assert train.requirement == Requirement(frozenset({"gpu"}), amounts(cpus=4, memory=8 * 10**9, gpus=1))
    assert (train.checkpoint, train.alone, train.total) == (True, True, 180 * MINUTE)
    assert train.limits == Limits(60 * MINUTE, 5 * MINUTE)
    assert train.retries.error == Retry(2, delay=SECOND)
    assert train.retries.memory == Retry(4, delay=5 * SECOND)
    assert train.retries.timeout == Retry(1)
    assert (train.retries.lost.attempts, train.retries.growth) == (7, 1.5)
    assert box.action == Container("tool:1", "tool {{ train.model }}")
    assert box.when == "{{ train.score > 0.5 }}"
    assert (box.runtime, box.runtimes) == (30 * SECOND, {"big": 10 * SECOND})
    assert found.outputs == {"model": "{{ train.model }}"}


def test_reads_loops_and_lists_of_steps() -> None:
    found = program(
        """
steps:
  - {id: a, for_each: [1, 2], run: "x {{ item }}"}
  - id: b
    for_each: range(3)
    as: n
    repeat: {add: "n - 1", most: 9}
    steps: [{id: c, run: "x {{ n }} {{ round }}", outputs: {o: stdout}}]
    outputs: {o: "{{ c.o }}"}
"""
    )
    assert found.name == "w"
    assert [step.loop for step in found.steps] == [Loop([1, 2]), Loop("{{ range(3) }}", "n", "{{ n - 1 }}", 9)]
    assert found.steps[1].gives == {"o": "{{ c.o }}"}


def test_includes_programs_of_the_file_and_of_other_files(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "one.yaml").write_text(
        "params: {x: }\nsteps: {s: {include: two.yaml, inputs: {y: '{{ params.x }}'}}}\noutputs: {o: '{{ s.o }}'}\n"
    )
    (tmp_path / "sub" / "two.yaml").write_text(
        "params: {y: , f: {type: file, default: d.txt}}\n"
        "steps: {s: {run: 'x {{ params.y }}', outputs: {o: stdout}}}\noutputs: {o: '{{ s.o }}'}\n"
    )
    found = program("steps: {a: {include: sub/one.yaml, inputs: {x: 1}}, b: {run: 'x {{ a.o }}'}}")
    inner = found.includes["sub/one.yaml"].includes["two.yaml"]
    assert inner.parameters["f"].default == str(tmp_path / "sub" / "d.txt")


def test_a_program_is_a_kind_of_document() -> None:
    Path("w.yaml").write_text("steps:\n  a:\n    steps:\n      b: {run: x}\n")
    document = load("w.yaml")
    assert (document.kind, document.line_of("b"), document.line_of("a")) == ("program", 4, 2)
    with pytest.raises(FormatError, match="contains a program, not a workflow"):
        load_workflow("w.yaml")
    Path("w.yaml").write_text("tasks: {a: {}}")
    with pytest.raises(FormatError, match="contains a workflow, not a program; a program has 'steps'"):
        load_program("w.yaml")


STEP = "steps:\n  a: {run: x, outputs: {out: o.txt}}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("steps: {}", "w.yaml:1: steps: has no steps"),
        (
            STEP + "  b: {}",
            "w.yaml:3: steps.b: has no action; add run:, python:, container:, divisible:, steps: or include:",
        ),
        (STEP + "  b: {run: x, python: a:b}", "w.yaml:3: steps.b: has run and python; a step has one action"),
        (STEP + "  b: {runn: x}", "w.yaml:3: steps.b: unknown field 'runn'; did you mean 'run'?"),
        (STEP + "  b: {run: x, retries: {eror: 1}}", "steps.b.retries: unknown field 'eror'; did you mean 'error'?"),
        (STEP + "  b: {run: 'x {{ aa.out }}'}", "w.yaml:3: steps.b.run: unknown name 'aa'; did you mean 'a'?"),
        (STEP + "  b: {run: x, needs: [aa]}", "w.yaml:3: steps.b.needs: no step named 'aa'; did you mean 'a'?"),
        (STEP + "  b: {run: '{{ a.outt }}'}", "steps.b.run: the step 'a' has no output 'outt'; did you mean 'out'?"),
        (STEP + "  b: {run: '{{ c.x }}'}\n  c: {run: x}", "the step 'c' has no output 'x'; it declares none"),
        (STEP + "  b: {run: '{{ params.x }}'}", "steps.b.run: no parameter named 'x'; add it to 'params:'"),
        (
            STEP + "params: {x: 18446744073709551616}",
            "params.x: contains a number of more than 64 bits: 18446744073709551616",
        ),
        (STEP + "params: {x: {default: [18446744073709551616]}}", "params.x: contains a number of more than 64 bits"),
        (STEP + "  b: {run: '{{ x }}'}\nparams: {x: 1}", "steps.b.run: unknown name 'x'; write params.x"),
        (STEP + "  b: {run: '{{ item }}'}\n  c: {for_each: [1], run: x}", "it is only visible inside its loop"),
        (
            STEP + "  b: {for_each: '[item]', run: x}",
            "steps.b.for_each: unknown name 'item'; it is only visible",
        ),
        (STEP + "  b: {run: '{{ b.x }}', outputs: {x: y}}", "steps.b.run: waits for itself"),
        (
            STEP + "  b: {steps: {c: {run: x, needs: [b]}}}",
            "steps.b.steps.c.needs: waits for 'b', which contains it",
        ),
        (
            STEP + "  b: {steps: {c: {run: x}}}\n  d: {run: x, needs: [c]}",
            "no step named 'c'; it is nested in another step",
        ),
        (
            STEP + "  b: {run: x, needs: [c]}\n  c: {run: x, needs: [b]}",
            "steps.c: steps wait for each other: c -> b -> c",
        ),
        (
            STEP + "  b: {run: '{{ c.o }}', outputs: {o: x}}\n  c: {steps: {d: {run: '{{ b.o }}'}}, outputs: {o: 1}}",
            "steps wait for each other",
        ),
        (STEP + "  a-b: {run: x, outputs: {o: y}}\n  c: {run: '{{ a-b.o }}'}", "unknown name 'b'"),
        (STEP + "  x-b: {run: x, outputs: {o: y}}\n  c: {run: '{{ x - 1 }}'}", "write steps['x-b'] for a step with -"),
        (STEP + "  b: {run: '{{ steps[a].out }}'}", "'steps' takes the id of a step"),
        (STEP + "  b: {run: 'x {{ a.out'}", "steps.b.run: '{{ a.out' has no end '}}'"),
        (STEP + "  b: {run: x, when: 'a.out +'}", "steps.b.when: 'a.out +' is not an expression"),
        (STEP + "  b: {run: x, outputs: [o]}", "steps.b.outputs: cannot be a list"),
        (STEP + "  b: {run: x, outputs: {o: return}}", "only a python or divisible step returns a value"),
        (STEP + "  b: {run: x, outputs: {o: {}}}", "steps.b.outputs.o: needs either a path or a value"),
        (STEP + "  b: {run: x, outputs: {o: {file: y}}}", "known are many, optional, path, value"),
        (STEP + "  b: {python: train}", "steps.b.python: 'train' is not a function; write module:function"),
        (STEP + "  b: {run: x, as: y}", "steps.b.as: has no effect without for_each"),
        (STEP + "  b: {steps: {c: {run: x}}, cpus: 2}", "steps.b.cpus: has no effect here; set it on the nested steps"),
        (STEP + "  b: {for_each: [1], as: params, run: x}", "'params' cannot be the name of a variable"),
        (STEP + "  b: {for_each: [1], as: c, steps: {c: {run: x}}}", "the id 'c' has another meaning"),
        (STEP + "  b: {steps: {a: {run: x}}}", "a second step has the id 'a'"),
        (STEP + "  b c: {run: x}", "'b c' cannot be the id of a step"),
        (STEP + "  steps: {run: x}", "the id 'steps' has another meaning"),
        (STEP + "  b: {run: x, inputs: {a-b: 1}}", "'a-b' cannot be the name of an input"),
        (STEP + "  b: {include: nothing}", "steps.b.include: no program and no file named 'nothing'"),
        (STEP + "  b: {include: qualty}\nprograms: {quality: {steps: {x: {run: x}}}}", "did you mean 'quality'?"),
        (STEP + "  b: {include: q}\nprograms: {q: {steps: {x: {include: q}}}}", "the program 'q' includes itself"),
        (STEP + "  b: {include: w.yaml}", "w.yaml: includes itself"),
        (
            STEP + "  b: {include: q}\nprograms: {q: {params: {p: }, steps: {x: {run: x}}}}",
            "requires the parameter 'p'",
        ),
        (
            STEP + "  b: {include: q, inputs: {pp: 1}}\nprograms: {q: {params: {p: 1}, steps: {x: {run: x}}}}",
            "steps.b.inputs.pp: 'q' has no parameter 'pp'; did you mean 'p'?",
        ),
        (
            STEP + "  b: {include: q}\n  c: {run: '{{ b.x }}'}\nprograms: {q: {steps: {x: {run: x}}}}",
            "the step 'b' has no output 'x'",
        ),
        (STEP + "params: {x: {type: int, default: a}}", "params.x.default: must be a whole number, not 'a'"),
        (STEP + "params: {x: {type: integer}}", "params.x.type: is invalid; choose from any, text, int"),
        (STEP + "params: {x-y: 1}", "params.x-y: cannot be used as a name in expressions"),
        (STEP + "outputs: {x: '{{ b.out }}'}", "w.yaml:3: outputs.x: unknown name 'b'"),
        (STEP + "  b: {run: x, timeout: 0}", "steps.b.timeout: must be greater than zero"),
        (STEP + "  b: {run: x, when: 3}", "steps.b.when"),
        (STEP + "  b: {for_each: [1], steps: {c: {run: '{{ index.x }}'}}}", "'index' is the position of the item"),
    ],
)
def test_refuses_with_place_and_remedy(text: str, message: str) -> None:
    with pytest.raises(FormatError) as error:
        program(text)
    assert message in str(error.value)


def test_tells_several_problems_at_once() -> None:
    with pytest.raises(FormatError) as error:
        program(STEP + "  b: {run: '{{ x }} {{ a.y }}', needs: [z]}")
    assert str(error.value).count("\n") == 2


# Parameters


def test_parameters_are_completed_converted_and_located() -> None:
    found = program(
        "params: {n: {type: int}, l: {type: list, default: []}, f: {type: file, default: x}, t: {type: text},"
        " b: {type: bool, default: false}}\n" + STEP
    )
    given = {"n": "3", "l": "a, b", "f": "y.txt", "t": "7", "b": "true"}
    assert bind(found, given, folder="/data") == {"n": 3, "l": ["a", "b"], "f": "/data/y.txt", "t": "7", "b": True}
    assert bind(found, {"n": 1, "t": "x", "f": "s3://b/k"}, folder="/data")["f"] == "s3://b/k"


@pytest.mark.parametrize(
    ("default", "text", "value"),
    [
        ("[a, b]", "x,y", ["x", "y"]),
        ("[a, b]", '["x"]', ["x"]),
        ("[a, b]", "[x", "[x"),
        ("3", "5", 5),
        ("3", "1.5", 1.5),
        ("3", "many", "many"),
        ("0.5", "2", 2),
        ("true", "false", False),
        ("true", "7", "7"),
        ("{a: 1}", '{"b": 2}', {"b": 2}),
        ("text", "5", "5"),
        ("null", "5", "5"),
    ],
)
def test_text_for_a_parameter_of_any_type_is_read_as_its_default_suggests(
    default: str, text: str, value: object
) -> None:
    found = program(f"params: {{p: {{default: {default}, required: false}}}}\n" + STEP)
    assert bind(found, {"p": text}) == {"p": value}
    assert bind(found, {"p": [1]}) == {"p": [1]}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({}, "'n' .how many. is required"),
        ({"n": 1, "mm": 1}, "no parameter 'mm'; did you mean 'm'"),
        ({"n": "x"}, "must be a whole number, not 'x'"),
        ({"n": [1]}, "must be a whole number, not a list"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(given: dict[str, object], reason: str) -> None:
    found = program("params: {n: {type: int, description: how many}, m: 1}\n" + STEP)
    with pytest.raises(ParameterError, match=reason):
        bind(found, given)
