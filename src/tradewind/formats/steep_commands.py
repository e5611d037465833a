"""Build the command line of a Steep service: its parameters in the order of its metadata.

Constants are written out. Everything else becomes an expression, which the worker quotes as one word, or as several if
its value is a list.
"""

import json
import os.path
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tradewind.formats.steep_services import DIRECTORY, OPTIONAL, Parameter
from tradewind.model.action import Json, Output
from tradewind.model.expression import OPEN
from tradewind.model.values import show

_OURS = frozenset({"out", "err", "exitcode", "command.sh"})
"""Files that every step has anyway."""


class UnsupportedError(ValueError):
    """A Steep feature that has no counterpart here."""


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a variable or of an explicit input."""

    text: str = ""
    """An expression; empty: use the constant."""
    constant: Json = None
    scope: tuple[str, ...] = ()
    """The loops inside which it is visible."""
    count: int | None = None
    """The number of values, if known."""
    is_list: bool | None = None
    """Whether it is a list; None: only known at run time."""
    folder: str = ""
    """For files in a folder, an expression for the folder."""

    @property
    def expression(self) -> str:
        """Return the value as an expression."""
        return self.text or json.dumps(self.constant)

    @property
    def items(self) -> str:
        """Return an expression for the value as a list, wrapping a single value."""
        if self.is_list is None:
            return f"flatten([{self.expression}])"
        return self.expression if self.is_list else f"[{self.expression}]"


def words(parameter: Parameter, given: Sequence[Value]) -> Iterator[str]:
    """Yield the words that pass values for a parameter."""
    label = [literal(parameter.label)] if parameter.label else []
    for value in given:
        if parameter.type == DIRECTORY:
            yield from (*label, _folder(value))
        elif parameter.type == "boolean" and label:
            yield from _switch(parameter.label, value)
        elif value.is_list is False:
            yield from (*label, literal(show(value.constant)) if not value.text else _filled(value.text))
        elif parameter.most == 1 and parameter.least == 1 and value.text:
            yield from (*label, _filled(f"only({value.items})"))
        else:
            yield from _repeated(parameter.label, value)


def output_of(parameter: Parameter, prefix: str) -> dict[str, Output]:
    """Return the outputs of a parameter; for a folder, its files and the folder itself."""
    name = f"{parameter.id}_file" if parameter.id in _OURS else parameter.id
    path = f"{prefix}{name}{parameter.suffix}".replace("/../", "/")
    if OPEN in path or any(sign in path for sign in "*?["):
        raise UnsupportedError(f"{path!r} cannot be the path of an output")
    if os.path.isabs(path):  # noqa: PTH117 - the path may be on another machine
        raise UnsupportedError("an absolute prefix is not supported; each step writes into its own folder")
    if parameter.type == DIRECTORY:
        files = Output(f"{path}/**/*", many=True, optional=True)
        return {parameter.id: files, folder_of(parameter): Output(path)}
    is_optional = parameter.type == OPTIONAL
    return {parameter.id: Output(path, many=is_optional, optional=is_optional)}


def output_word(parameter: Parameter) -> str:
    """Return an expression for the path that a service must write to."""
    name = folder_of(parameter) if parameter.type == DIRECTORY else parameter.id
    return _filled(f"outputs[{json.dumps(name)}]")


def folder_of(parameter: Parameter) -> str:
    """Return the name under which the folder of an output is available."""
    return f"{parameter.id}.folder"


def literal(text: str) -> str:
    """Return text as one word of a command."""
    return _filled(json.dumps(text)) if OPEN in text else shlex.quote(text)


def _filled(expression: str) -> str:
    return f"{{{{ {expression} }}}}"


def _switch(label: str, value: Value) -> list[str]:
    if not value.text:
        return [literal(label)] if value.constant in (True, "true") else []
    return [_filled(f"[{json.dumps(label)}] if {value.text} else []")]


def _repeated(label: str, value: Value) -> Iterator[str]:
    """Yield one word, or a label and a word, for each item."""
    if not value.text:
        for item in value.constant if isinstance(value.constant, list) else [value.constant]:
            yield from ([literal(label)] if label else [])
            yield literal(show(item))
    elif label:
        yield _filled(f"flatten(zip([{json.dumps(label)}] * len({value.items}), {value.items}))")
    else:
        yield _filled(value.items)


def _folder(value: Value) -> str:
    """Return the common folder of some files."""
    if value.folder:
        return _filled(value.folder)
    if value.text:
        if value.is_list:
            raise UnsupportedError("a list of files that is only known at run time cannot be passed as a directory")
        return _filled(value.text)
    if isinstance(value.constant, list):
        return literal(os.path.commonpath([os.path.dirname(str(item)) for item in value.constant]))  # noqa: PTH120
    return literal(show(value.constant))
