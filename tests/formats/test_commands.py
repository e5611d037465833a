"""The commands that read and write files."""

import gzip
import json

import pytest
import typer
from paperwork import Write
from typer.testing import CliRunner, Result

from tradewind.cli.convert import convert
from tradewind.cli.graph import graph
from tradewind.cli.schema import schema
from tradewind.cli.validate import validate
from tradewind.formats import FormatError, load_workflow

app = typer.Typer()
for command in (validate, convert, graph, schema):
    app.command()(command)

WORKFLOW = "tasks:\n  a: {runtime: 1s}\n  b:\n    needs: [a]\n    capabilities: [gpu]\n"
DAX = "<adag><job id='a' name='x' runtime='-1'/></adag>"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def test_validate_says_what_is_in_a_file(write: Write) -> None:
    write("w.yaml", WORKFLOW)
    write("m.yaml", "machines: {a: {}, b: {}}")
    write("s.yaml", "workload: [{generate: x, count: 5}, {files: [v.yaml]}]\nmachines: m.yaml")
    write("v.yaml", "tasks: {a: {}}")
    result = run("validate", "w.yaml", "m.yaml", "s.yaml", "v.yaml")
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "w.yaml: ok, native workflow: 2 tasks, 1 edge, 2 levels",
        "m.yaml: ok, native machines: 2 machine types",
        "s.yaml: ok, native scenario: 6 workflows, 2 machine types, 1 tenant, policy demand",
        "v.yaml: ok, native workflow: 1 task, 0 edges, 1 level",
    ]


def test_validate_goes_on_after_a_broken_file(write: Write) -> None:
    write("w.yaml", WORKFLOW)
    result = run("validate", "gone.yaml", "w.yaml")
    assert result.exit_code == 2
    assert "error: gone.yaml: no such file" in result.output
    assert "w.yaml: ok" in result.output


def test_validate_finds_work_that_no_machine_can_do(write: Write) -> None:
    write("w.yaml", WORKFLOW)
    write("m.yaml", "machines: {a: {capabilities: [cpu]}}")
    result = run("validate", "w.yaml", "--machines", "m.yaml")
    assert result.exit_code == 2
    assert "error: w.yaml:3: task 'b' needs 'gpu', but machine types offer only cpu" in result.output


def test_validate_prints_json(write: Write) -> None:
    write("w.yaml", WORKFLOW)
    write("bad.yaml", "tasks:\n  a: {cpus: x, gpus: y}\n")
    result = run("validate", "w.yaml", "bad.yaml", "gone.yaml", "--json")
    good, bad, gone = json.loads(result.output)
    assert good == {
        "file": "w.yaml", "ok": True, "format": "native", "kind": "workflow", "tasks": 2, "edges": 1, "levels": 2,
    }  # fmt: skip
    assert (bad["ok"], bad["count"]) == (False, 2)
    assert (bad["problems"][0]["line"], bad["problems"][0]["place"]) == (2, "tasks.a.cpus")
    assert gone["problems"][0]["reason"] == "no such file"


@pytest.mark.parametrize(
    ("arguments", "written", "packed"),
    [
        (["o.yaml"], "native", False),
        (["o.json"], "wfformat", False),
        (["o.yml.gz"], "native", True),
        (["o.txt", "--to", "wfformat"], "wfformat", False),
    ],
)
def test_convert_writes_the_format_asked_for(write: Write, arguments: list[str], written: str, packed: bool) -> None:
    write("w.yaml", WORKFLOW)
    result = run("convert", "w.yaml", *arguments)
    assert result.output == f"{arguments[0]}: 2 tasks as {written}\n"
    with open(arguments[0], "rb") as made:  # noqa: PTH123  # its first bytes are all that matter
        data = made.read()
    text = gzip.decompress(data) if packed else data
    assert text.startswith(b"{" if written == "wfformat" else b"name: w")
    assert [task.id for task in load_workflow(arguments[0]).tasks] == ["a", "b"]


def test_convert_prints_and_refuses_unknown_suffixes(write: Write) -> None:
    write("w.yaml", WORKFLOW)
    assert run("convert", "w.yaml", "-", "--to", "native").output.startswith("name: w\n")
    result = run("convert", "w.yaml", "o.foo")
    assert result.exit_code == 2
    assert "cannot tell the format" in result.output


def test_convert_is_lenient_when_asked(write: Write) -> None:
    write("d.xml", DAX)
    assert isinstance(run("convert", "d.xml", "o.yaml").exception, FormatError)
    assert run("convert", "d.xml", "o.yaml", "--lenient").exit_code == 0


def test_graph_draws_to_a_file_or_prints(write: Write) -> None:
    write("w.yaml", WORKFLOW)
    assert run("graph", "w.yaml", "-o", "w.svg").output == "w.svg: 2 tasks drawn\n"
    assert run("graph", "w.yaml", "--group").output.startswith("<svg")


def test_schema_prints_each_kind() -> None:
    for kind in ("workflow", "program", "machines", "scenario"):
        assert json.loads(run("schema", kind).output)["title"] == f"Tradewind {kind}"
