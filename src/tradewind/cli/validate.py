"""`tradewind validate`: check files and summarise their contents."""

from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from tradewind.formats.errors import FormatError, FormatErrors
from tradewind.formats.feasible import check_feasible
from tradewind.formats.load import Document, load, load_machines
from tradewind.formats.present import check_present
from tradewind.model.program import Program
from tradewind.model.scenario import Generated, Scenario
from tradewind.model.workflow import Workflow


def validate(
    files: Annotated[list[Path], typer.Argument(help="Workflows, machine types or scenarios, in any format.")],
    machines: Annotated[
        Path | None, typer.Option(help="Machine types; tasks that none of them can run are then errors.")
    ] = None,
    lenient: Annotated[bool, typer.Option("--lenient", help="Read negative times and sizes as zero.")] = False,
    services: Annotated[
        list[Path] | None,
        typer.Option(metavar="<path>", help="Services and macros of Steep workflows; default: those next to each."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list instead of lines.")] = False,
) -> None:
    """Check files; errors name the line and the fix.

    Examples:

    - `tradewind validate montage.yaml`
    - `tradewind validate *.yaml --machines machines.yaml`
    - `tradewind validate Montage_25.xml.gz --json`
    """
    kinds = None if machines is None else load_machines(machines)
    findings: list[dict[str, Any]] = []
    for file in files:
        try:
            document = load(file, lenient=lenient, services=services)
            if isinstance(document.content, Program):
                check_present(document.content, file=document.file, locate=document.locate)
            if kinds is not None and isinstance(document.content, Workflow | Program):
                check_feasible(document.content, kinds, file=document.file, line_of=document.line_of)
        except FormatError as error:
            findings.append({"file": str(file), "ok": False, **_problems(error)})
            if not as_json:
                typer.echo(f"error: {error}", err=True)
        else:
            findings.append({"file": str(file), "ok": True, "format": document.format, **_content(document)})
            if not as_json:
                typer.echo(f"{file}: ok, {document.format} {_words(_content(document))}")
    if as_json:
        typer.echo(orjson.dumps(findings, option=orjson.OPT_INDENT_2).decode())
    if not all(finding["ok"] for finding in findings):
        raise typer.Exit(2)


def _content(document: Document) -> dict[str, Any]:
    """Return the contents of a file, in numbers."""
    match document.content:
        case Workflow() as workflow:
            return {
                "kind": "workflow",
                "tasks": len(workflow.tasks),
                "edges": sum(map(len, workflow.parents)),
                "levels": max(workflow.levels()) + 1,
            }
        case Scenario() as scenario:
            counts = [work.count if isinstance(work, Generated) else len(work.workflows) for work in scenario.workload]
            return {
                "kind": "scenario",
                "workflows": sum(counts),
                "machine types": len(scenario.machines),
                "tenants": len(scenario.tenants),
                "policy": scenario.policy,
            }
        case Program() as program:
            return {"kind": "program", "steps": len(program.steps), "parameters": len(program.parameters)}
        case machines:
            return {"kind": "machines", "machine types": len(machines)}


def _words(content: dict[str, Any]) -> str:
    """Format the numbers: `workflow: 25 tasks, 45 edges, 9 levels`."""
    counted = [
        f"{value:,} {name.removesuffix('s') if value == 1 else name}"
        for name, value in content.items()
        if isinstance(value, int)
    ]
    policy = [f"policy {content['policy']}"] if "policy" in content else []
    return f"{content['kind']}: {', '.join(counted + policy)}"


def _problems(error: FormatError) -> dict[str, Any]:
    problems = error.problems if isinstance(error, FormatErrors) else (error,)
    told = [
        {"file": each.file, "line": each.line, "place": each.place, "reason": each.reason, "remedy": each.remedy}
        for each in problems
    ]
    return {"problems": told, "count": error.count if isinstance(error, FormatErrors) else 1}
