"""What a user is told: file, line, place, reason and remedy, word by word."""

import gzip

import pytest
from paperwork import Write

from tradewind.formats import FormatError, FormatErrors, load

BROKEN: list[tuple[str, str, str]] = [
    # native workflows
    (
        "w.yaml",
        "name: x\ntasks:\n  trimm: {}\n  align:\n    needs:\n      - trim\n",
        "w.yaml:5: tasks.align.needs: no task named 'trim'; did you mean 'trimm'?",
    ),
    (
        "w.yaml",
        "tasks:\n  a:\n    runtme: 5s\n",
        "w.yaml:3: tasks.a: unknown field 'runtme'; did you mean 'runtime'?",
    ),
    ("w.yaml", "tasks:\n  a:\n    runtime: -5\n", "w.yaml:3: tasks.a.runtime: -5 is negative"),
    (
        "w.yaml",
        "tasks:\n  a:\n    runtime: soon\n",
        "w.yaml:3: tasks.a.runtime: 'soon' is not a duration such as 90, 90s or 1h30m",
    ),
    (
        "w.yaml",
        "tasks:\n  a: {runtime: true}\n",
        "w.yaml:2: tasks.a.runtime: must be a duration such as 90, 90s or 1h30m",
    ),
    ("w.yaml", "tasks:\n  a: {runtime: .nan}\n", "w.yaml:2: tasks.a.runtime: '.nan' is not a finite number"),
    ("w.yaml", "tasks:\n  a: {cpus: true}\n", "w.yaml:2: tasks.a.cpus: must be a whole number, not true"),
    ("w.yaml", "tasks:\n  a: {cpus: -1}\n", "w.yaml:2: tasks.a.cpus: must be at least 0, not -1"),
    (
        "w.yaml",
        "tasks:\n  a: {cpus: 2, amounts: {cpus: 3}}\n",
        "w.yaml:2: tasks.a.amounts.cpus: cpus is given twice; give it once",
    ),
    (
        "w.yaml",
        "tasks:\n  a: {needs: [c]}\n  b: {needs: [a]}\n  c: {needs: [b]}\n",
        "w.yaml:3: tasks.b.needs: tasks wait for each other: b -> c -> a -> b",
    ),
    ("w.yaml", "tasks:\n  a: {needs: [a]}\n", "w.yaml:2: tasks.a.needs: the task waits for itself"),
    ("w.yaml", "tasks:\n  a: {}\n  a: {}\n", "w.yaml:3: tasks.a: the key 'a' appears twice"),
    ("w.yaml", "tasks:\n- id: a\n- id: a\n", "w.yaml:3: tasks[1]: a second task has the id 'a'"),
    ("w.yaml", "tasks:\n- name: a\n", "w.yaml:2: tasks[0]: the field 'id' is missing"),
    ("w.yaml", "tasks: {}\n", "w.yaml:1: the workflow has no tasks"),
    ("w.yaml", "tasks: 5\n", "w.yaml:1: tasks: cannot be a number"),
    ("w.yaml", "tasks:\n  1: {}\n", "w.yaml:2: tasks: the key 1 is not text; put it in quotes"),
    ("w.yaml", "tasks:\n  a:\n", "w.yaml:2: tasks.a: must be a mapping, not empty"),
    ("w.yaml", "tasks:\n  '': {}\n", "w.yaml:2: tasks.: a name must not be empty"),
    (
        "w.yaml",
        "tasks:\n  a: {retries: {attempts: 0}}\n",
        "w.yaml:2: tasks.a.retries.attempts: must be at least 1, not 0",
    ),
    (
        "w.yaml",
        "tasks:\n  a: {run: x}\nworkload: []\n",
        "w.yaml:3: workload: must not be empty",
    ),
    # YAML itself
    ("w.yaml", "tasks:\n  a: [\n", "w.yaml:3: not YAML: did not find expected node content"),
    ("w.yaml", "a: 1\n---\nb: 2\n", "w.yaml:2: contains a second document after '---'; keep one document per file"),
    ("w.yaml", "tasks: &t\n  a: *t\n", "w.yaml:2: tasks.a: the alias 't' refers to a value that contains it"),
    ("w.yaml", "tasks: *nothing\n", "w.yaml:1: tasks: no anchor is named 'nothing'"),
    (
        "w.yaml",
        "tasks: !!python/object:os.system {}\n",
        "w.yaml:1: tasks: the tag 'tag:yaml.org,2002:python/object:os.system' is not supported",
    ),
    ("w.yaml", "a\x07b: 1\n", "w.yaml:1: not YAML: unacceptable character #x0007: control characters are not allowed"),
    ("w.yaml", "- a\n- b\n", "w.yaml: contains a list at the top level; expected fields such as 'tasks:'"),
    ("w.yaml", "hello\n", "w.yaml: contains no fields at the top level; expected fields such as 'tasks:'"),
    ("w.yaml", "", "w.yaml: is empty"),
    (
        "w.yaml",
        "name: x\n",
        (
            "w.yaml: is not a workflow, a program, machine types or a scenario;"
            " a workflow has 'tasks'; a program has 'steps'; a file of machine types has 'machines';"
            " a scenario has 'workload' and 'machines'"
        ),
    ),
    ("w.yaml", "x: " + "[" * 100 + "]" * 100, "w.yaml:1: x" + "[0]" * 63 + ": values are nested more than 64 deep"),
    # JSON
    ("w.json", '{"tasks": {\n "a": {},\n "a": {}}}', "w.json:3: the key 'a' appears twice in one object"),
    ("w.json", '{"tasks": {\n "a": {"runtime": NaN}}}', "w.json: NaN is not a finite number"),
    ("w.json", '{"tasks": {\n "a": {"cpus": ' + "9" * 5000 + "}}}", "w.json: a number is too long"),
    ("w.json", '{"tasks": {\n "a"', "w.json:2: not JSON: expecting ':' delimiter"),
    ("w.json", '{"tasks": {\n "a": {\n"needs": ["b"]}}}', "w.json:3: tasks.a.needs: no task named 'b'"),
    ("w.json", '{"tasks": [{"id": "a"},\n {"id": "\\ud800"}]}', "w.json:2: not JSON: no low surrogate in string"),
    # machines
    (
        "m.yaml",
        "machines:\n  small:\n    price: five\n",
        "m.yaml:3: machines.small.price: 'five' is not a price such as 5 or 0.085/h",
    ),
    (
        "m.yaml",
        "machines:\n  small: {market: sopt}\n",
        "m.yaml:2: machines.small.market: unknown market 'sopt'; did you mean 'spot'?",
    ),
    (
        "m.yaml",
        "machines:\n  small: {billing: {period: 0}}\n",
        "m.yaml:2: machines.small.billing.period: must be greater than zero",
    ),
    ("m.yaml", "machines:\n  small: {speed: 0}\n", "m.yaml:2: machines.small.speed: must be more than 0, not 0"),
    # scenarios
    (
        "s.yaml",
        "workload:\n- generate: montage\n  arrivals: {process: posson}\nmachines: {a: {}}\n",
        "s.yaml:3: workload[0].arrivals.process: unknown process 'posson'; did you mean 'poisson'?",
    ),
    (
        "s.yaml",
        "workload:\n- generate: montage\n  tenants: [lap]\nmachines: {a: {}}\ntenants: {lab: {}}\n",
        "s.yaml:3: workload[0].tenants: no tenant named 'lap'; did you mean 'lab'?",
    ),
    (
        "s.yaml",
        "workload:\n- {}\nmachines: {a: {}}\n",
        "s.yaml:2: workload[0]: names neither a file nor a family to generate; add file:, files: or generate:",
    ),
    ("s.yaml", "workload:\n- file: gone.yaml\nmachines: {a: {}}\n", "s.yaml:2: workload[0]: no file 'gone.yaml'"),
    (
        "s.yaml",
        "workload:\n- file: s.yaml\nmachines: {a: {}}\n",
        "s.yaml: contains a scenario, not a workflow; a workflow has 'tasks'",
    ),
    ("s.yaml", "workload:\n- generate: x\n", "s.yaml:1: the field 'machines' is missing"),
    # WfFormat
    (
        "wf.json",
        '{"schemaVersion": "9.9", "workflow": {"specification": {"tasks": [{"id": "a"}]}}}',
        "wf.json:1: schemaVersion: unknown version '9.9'; known are 1.0 to 1.6",
    ),
    (
        "wf.json",
        '{"schemaVersion":"1.5","workflow":{"specification":{"tasks":[{"id":"a"},\n{"id":"b",\n"parents":["x"]}]}}}',
        "wf.json:3: workflow.specification.tasks[1].parents: no task named 'x'",
    ),
    (
        "wf.json",
        '{"schemaVersion": "1.4", "workflow": {"tasks": [\n{"name": "a", "runtimeInSeconds": "x"}]}}',
        "wf.json:2: workflow.tasks[0].runtimeInSeconds: must be a number, not 'x'",
    ),
    (
        "wf.json",
        '{"schemaVersion": "1.4", "workflow": {"tasks": [\n{"name": "a", "runtimeInSeconds": -1}]}}',
        "wf.json:2: workflow.tasks[0].runtimeInSeconds: -1 is negative; --lenient reads it as zero",
    ),
    ("wf.json", '{"schemaVersion": "1.4"}', "wf.json:1: workflow: is missing"),
    # DAX
    (
        "d.xml",
        "<adag>\n<job id='a' name='x'/>\n<job id='a' name='x'/></adag>",
        "d.xml:3: a: a second job has the id 'a'",
    ),
    (
        "d.xml",
        "<adag>\n<job id='ID01' name='x'/>\n<child ref='ID01'>\n<parent ref='ID02'/></child></adag>",
        "d.xml:4: child: no job with the id 'ID02'; did you mean 'ID01'?",
    ),
    ("d.xml", "<adag>\n<job id='a' name='x' runtime='soon'/></adag>", "d.xml:2: a.runtime: 'soon' is not a number"),
    ("d.xml", "<adag>\n<job></adag>", "d.xml:2: not XML: mismatched tag"),
    ("d.xml", "<dag/>", "d.xml:1: the first element is 'dag', expected 'adag'"),
    (
        "d.xml",
        "<!DOCTYPE a [\n<!ENTITY x 'y'>]><adag>&x;</adag>",
        "d.xml:2: declares the entity 'x'; entities are not supported",
    ),
]


@pytest.mark.parametrize(("name", "text", "message"), BROKEN, ids=[message[:60] for _, _, message in BROKEN])
def test_tells_file_line_and_reason(write: Write, name: str, text: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        load(write(name, text))
    assert str(caught.value).splitlines()[0] == message


def test_tells_several_problems_at_once(write: Write) -> None:
    file = write("w.yaml", "tasks:\n  a:\n    runtime: x\n    cpus: y\n    colour: red\n")
    with pytest.raises(FormatErrors) as caught:
        load(file)
    assert caught.value.count == 3
    assert [problem.line for problem in caught.value.problems] == [4, 3, 5]


def test_counts_problems_beyond_the_first_twenty(write: Write) -> None:
    rows = "".join(f"  t{at}: {{needs: [gone]}}\n" for at in range(1000))
    with pytest.raises(FormatErrors) as caught:
        load(write("w.yaml", "tasks:\n" + rows))
    lines = str(caught.value).splitlines()
    assert len(lines) == 21
    assert lines[-1] == "and 980 more"


def test_refuses_aliases_that_multiply(write: Write) -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    with pytest.raises(FormatError, match="aliases repeat more than 100,000 values"):
        load(write("bomb.yaml", "\n".join(rows)))


@pytest.mark.parametrize("opening", ["[", "- ", "{a: ", "? "])
def test_refuses_bottomless_nesting(write: Write, opening: str) -> None:
    with pytest.raises(FormatError):
        load(write("deep.yaml", "x: " + opening * 50_000))


def test_refuses_bottomless_json(write: Write) -> None:
    with pytest.raises(FormatError, match="nested"):
        load(write("deep.json", '{"a":' + "[" * 100_000 + "]" * 100_000 + "}"))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\xff\xfet\x00a\x00", "byte 0xff is not UTF-8 text; save the file as UTF-8"),
        (b"name: caf\xe9\n", "byte 0xe9 is not UTF-8 text"),
        (b"tasks: \x00", "contains zero bytes; this is not a text file"),
        (b"  \n \n", "is empty"),
        (
            gzip.compress(b"tasks: {a: {}}", mtime=0)[:-10],
            "the gzip data ends too early; the file is truncated; download it again",
        ),
        (gzip.compress(b"tasks: {a: {}}", mtime=0)[:10] + b"\xff" * 30, "the gzip data is damaged"),
        (gzip.compress(b"tasks: {a: {}}", mtime=0) + b"junk", "the gzip data is followed by other data"),
    ],
)
def test_refuses_what_is_no_text(write: Write, content: bytes, reason: str) -> None:
    with pytest.raises(FormatError) as caught:
        load(write("x.yaml", content))
    assert reason in str(caught.value)


def test_tells_what_is_wrong_with_a_path(write: Write) -> None:
    folder = write("w.yaml", "tasks: {a: {}}").absolute().parent
    with pytest.raises(FormatError, match=r"gone\.yaml: no such file"):
        load("gone.yaml")
    with pytest.raises(FormatError, match="is a folder, not a file"):
        load(folder)
    with pytest.raises(FormatError, match="cannot be read"):
        load("zero\0byte")
    with pytest.raises(FormatError, match="cannot be read"):
        load("w.yaml/below")
