"""The inputs of a call as values, as environment variables and as parts of a command."""

import re
from collections.abc import Mapping
from typing import Any

from tradewind.live.worker.failure import Failure

LONGEST = 100_000
"""Characters of a value that is exported as an environment variable; the kernel refuses longer ones."""

_ODD = re.compile(r"[^A-Za-z0-9_]", re.ASCII)


def resolve(value: Any, results: Mapping[str, Mapping[str, Any]]) -> Any:
    """The value with every reference to an earlier call's output replaced by that output."""
    kind = type(value)
    if kind is dict:
        return {key: resolve(each, results) for key, each in value.items()}
    if kind is list:
        return [resolve(each, results) for each in value]
    if kind is not tuple:
        return value
    return _derive(value, results) if value[0] is None else _follow(value, results)


def _derive(derived: tuple[None, str, Mapping[str, Any]], results: Mapping[str, Mapping[str, Any]]) -> Any:
    from tradewind.model.expression import ExpressionError, template  # noqa: PLC0415 - seldom needed

    _, text, names = derived
    try:
        return template(text).fill({name: resolve(value, results) for name, value in names.items()}.__getitem__)
    except ExpressionError as error:
        raise Failure("missing", str(error)) from None


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
    """The command with each `{{ name }}` replaced by the input of that name, quoted as its place asks."""
    if "{{" not in command:
        return command
    from tradewind.model.shell import render_command  # noqa: PLC0415 - many commands need no filling
    from tradewind.model.values import ExpressionError  # noqa: PLC0415

    try:
        return render_command(command, inputs)
    except ExpressionError as error:
        raise Failure("start", str(error)) from None


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
