"""The inputs of a call as values, as environment variables and as parts of a command."""

import re
from collections.abc import Mapping
from typing import Any

from tradewind.live.worker.failure import Failure

LONGEST = 100_000
"""Characters of a value that is exported as an environment variable; the kernel refuses longer ones."""

_PLACE = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_-]*)\s*\}\}")
_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+", re.ASCII)
_ODD = re.compile(r"[^A-Za-z0-9_]", re.ASCII)


def resolve(value: Any, results: Mapping[str, Mapping[str, Any]]) -> Any:
    """The value with every reference to an earlier call's output replaced by that output."""
    kind = type(value)
    if kind is dict:
        return {key: resolve(each, results) for key, each in value.items()}
    if kind is list:
        return [resolve(each, results) for each in value]
    return _follow(value, results) if kind is tuple else value


def _follow(ref: tuple[str, str, tuple[str | int, ...]], results: Mapping[str, Mapping[str, Any]]) -> Any:
    call, output, path = ref
    try:
        value = results[call][output]
    except KeyError:
        raise Failure("missing", f"{call!r} has no output {output!r}") from None
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            raise Failure("missing", f"output {output!r} of {call!r} has nothing at {key!r}") from None
    return value


def fill(command: str, inputs: Mapping[str, Any]) -> str:
    """The command with each `{{ name }}` replaced by the input of that name, quoted; a list becomes several words."""
    return _PLACE.sub(lambda place: _quoted(place[1], inputs), command) if "{{" in command else command


def _quoted(name: str, inputs: Mapping[str, Any]) -> str:
    if name not in inputs:
        raise Failure("start", f"the command names {{{{ {name} }}}}, but there is no such input")
    value = inputs[name]
    return " ".join(_quote(text(each)) for each in value) if isinstance(value, list) else _quote(text(value))


def _quote(word: str) -> str:
    return word if _PLAIN.fullmatch(word) else "'" + word.replace("'", "'\"'\"'") + "'"


def exported(inputs: Mapping[str, Any]) -> dict[str, str]:
    """The inputs as variables `INPUT_NAME`; of a list one item per line; values too long for the kernel left out."""
    variables = {}
    for name, value in inputs.items():
        shown = "\n".join(map(text, value)) if isinstance(value, list) else text(value)
        if len(shown) <= LONGEST and "\0" not in shown:
            variables["INPUT_" + _ODD.sub("_", name).upper()] = shown
    return variables


def text(value: Any) -> str:
    """A value as a word: text as it is, nothing for null, all else as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    import json  # noqa: PLC0415 - seldom needed

    return json.dumps(value)
