"""Check that the input files of a program exist before anything runs."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tradewind.formats.errors import Locate, Place, Problems, nowhere, quoted
from tradewind.model.action import Json
from tradewind.model.program import Kind, Program, Step


def check_present(
    program: Program, values: Mapping[str, Json] | None = None, *, file: str = "", locate: Locate = nowhere
) -> None:
    """Reject a program if a file named by a parameter is missing: its value or, without values, its default."""
    problems = Problems(file or program.name, locate)
    for name, path in files_of(program, values):
        if is_missing(path):
            remedy = f"create it, or pass another one with -p {name}=PATH"
            problems.add(("params", name), f"no such file: {path}", remedy)
    for place, path in files_included(program, program.steps):
        if is_missing(path):
            problems.add(place, f"no such file: {path}", f"pass another one in the inputs of {quoted(str(place[1]))}")
    problems.settle()


def files_of(program: Program, values: Mapping[str, Json] | None = None) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a program that name a local file, with its path."""
    for name, parameter in program.parameters.items():
        path = parameter.default if values is None else values.get(name)
        if parameter.kind is Kind.FILE and isinstance(path, str) and path and "://" not in path:
            yield name, path


def is_missing(path: str) -> bool:
    """Return whether a path does not exist; a path that is still relative counts as missing."""
    try:
        return not Path(path).is_absolute() or not Path(path).exists()
    except (OSError, ValueError):
        return True


def files_included(program: Program, steps: Iterable[Step]) -> Iterator[tuple[Place, str]]:
    """Yield default files of included programs, where the including steps pass none."""
    for step in steps:
        yield from files_included(program, step.steps)
        if step.include in program.includes:
            included = program.includes[step.include]
            for name, path in files_of(included):
                if name not in step.inputs:
                    yield ("steps", step.id, "include"), path
            yield from files_included(included, included.steps)
