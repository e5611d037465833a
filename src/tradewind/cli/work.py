"""Load work for simulations: a workflow, or a program with assumptions."""

from collections.abc import Sequence
from typing import Any

import orjson
import typer

from tradewind.cli import codes
from tradewind.cli.output import refuse
from tradewind.formats.errors import FormatError
from tradewind.formats.feasible import check_feasible
from tradewind.formats.load import Document
from tradewind.model.machine import MachineType
from tradewind.model.parameters import bind
from tradewind.model.program import Program
from tradewind.model.scenario import Rehearsal
from tradewind.model.workflow import Workflow
from tradewind.sim.defaults import MACHINES
from tradewind.sim.rehearsal import check_assumed


def work_of(
    document: Document, machines: Sequence[MachineType], parameters: Sequence[str], assumed: Sequence[str]
) -> Workflow | Rehearsal:
    """Return a workflow that some of these machines can run, or a program with its assumptions."""
    content = document.content
    if isinstance(content, Program):
        _check(document, content, machines)
        given = bind(content, dict(map(pair, parameters)))
        rehearsal = Rehearsal(content, given, {name: _value(text) for name, text in map(pair, assumed)})
        check_assumed(rehearsal)
        return rehearsal
    if parameters or assumed:
        raise typer.BadParameter(f"{document.file} has no steps that take --param or --assume")
    if not isinstance(content, Workflow):
        raise FormatError(document.file, "contains machine types", remedy="give them with --machines")
    _check(document, content, machines)
    return content


def _check(document: Document, work: Workflow | Program, machines: Sequence[MachineType]) -> None:
    """Exit if no machine can ever run some of the work, as `run` does."""
    try:
        check_feasible(work, machines, file=document.file, line_of=document.line_of, only_certain=True)
    except FormatError as error:
        default = "\nthese are the default machine types: pass yours with --machines"
        refuse(f"{error}{default if machines is MACHINES else ''}", codes.NEVER)


def _value(text: str) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:
        return text


def pair(text: str) -> tuple[str, str]:
    """Split text of the form key=value."""
    key, equals, value = text.partition("=")
    if not equals:
        raise typer.BadParameter(f"{text!r} is not of the form key=value")
    return key, value
