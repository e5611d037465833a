"""Parse JSON into plain data, and find the lines of its values.

We use the standard parser with a hook on every object, which lets us reject duplicate keys; it takes about as long as a
faster parser without one. Lines are looked up only if there is a problem to report.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NoReturn

import orjson

from tradewind.formats.errors import FormatError, Place, quoted
from tradewind.formats.source import Source
from tradewind.formats.tree import DEEPEST, Tree

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+')
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class _DuplicateKeyError(ValueError):
    """A key that appears twice in one object."""


def read_json(source: Source) -> Tree:
    """Read a JSON document."""
    text = source.text
    try:
        if _ESCAPED_SURROGATE.search(text):
            orjson.loads(text)  # rejects lone surrogates, which could not be written out again
        data = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise FormatError(source.file, f"not JSON: {error.msg.lower()}", line=error.lineno) from None
    except _DuplicateKeyError as error:
        key = str(error)
        reason = f"the key {quoted(key)} appears twice in one object"
        raise FormatError(source.file, reason, line=_line_of_duplicate(text, key)) from None
    except RecursionError:
        raise FormatError(source.file, f"values are nested more than {DEEPEST} deep") from None
    except ValueError as error:  # a number with thousands of digits, or NaN
        reason = str(error) if str(error).endswith("is not a finite number") else "a number is too long"
        raise FormatError(source.file, reason) from None
    return Tree(source.file, data, lambda wanted: json_lines(text, wanted))


def json_lines(text: str, wanted: frozenset[Place]) -> dict[Place, int]:
    """Return the lines of the given places, as far as the text contains them."""
    lines: dict[Place, int] = {}
    path: list[str | int] = []
    counted, line = 0, 1
    awaits_key = False
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark == ":":
            continue
        if mark == ",":
            if isinstance(path[-1], int):
                path[-1] += 1
            else:
                awaits_key = True
            continue
        if mark in "}]":
            path.pop()
            awaits_key = False
            continue
        if awaits_key:
            path[-1] = json.loads(mark)
            awaits_key = False
        place = tuple(path)
        if place in wanted and place not in lines:
            line += text.count("\n", counted, token.start())
            counted = token.start()
            lines[place] = line
            if len(lines) == len(wanted):
                break
        if mark == "{":
            path.append("")
            awaits_key = True
        elif mark == "[":
            path.append(0)
    return lines


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        raise _DuplicateKeyError(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return made


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a finite number")


def _line_of_duplicate(text: str, key: str) -> int | None:
    """Return the line on which an object repeats a key."""
    open_keys: list[set[str]] = []
    before = ""
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark == "{" or mark == "[":
            open_keys.append(set())
        elif mark in "}]":
            open_keys.pop()
        elif mark == ":":
            name = json.loads(before)
            if name == key and name in open_keys[-1]:
                return text.count("\n", 0, token.start()) + 1
            open_keys[-1].add(name)
        before = mark
    return None
