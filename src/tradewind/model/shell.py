"""Fill `{{ name }}` into commands, so that no value can ever be more than words to the shell.

How a value must be quoted depends on its context: outside quotes, inside `'…'`, inside `"…"`, or in a here-document. We
find the context by scanning the command, with `$(…)`, `${…}` and backticks nested as the shell nests them.
"""

import re
import shlex
from collections.abc import Iterator, Mapping

from tradewind.model.action import Json
from tradewind.model.values import ExpressionError, show

_NAME = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
_HERE = re.compile(r"<<(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([A-Za-z0-9_.-]+))")

BARE, SINGLE, DOUBLE, COMMENT, HERE, VERBATIM = "bare", "single", "double", "comment", "here", "verbatim"
"""Contexts of a name: the last two are here-documents, with and without expansion."""


def render_command(command: str, inputs: Mapping[str, Json]) -> str:
    """Return the command with each `{{ name }}` replaced by that input: one quoted word, or several for a list."""
    if "{{" not in command:
        return command
    pieces: list[str] = []
    done = 0
    for start, end, name, context, ending in _names(command):
        if name not in inputs:
            raise ExpressionError(f"the command uses the input {name!r}, which is missing")
        pieces += (command[done:start], _quote(inputs[name], context, ending, name))
        done = end
    return "".join((*pieces, command[done:]))


def _quote(value: Json, context: str, ending: str, name: str) -> str:
    words = [show(item) for item in value] if isinstance(value, list) else [] if value is None else [show(value)]
    if any("\0" in word for word in words):
        raise ExpressionError(f"the input {name!r} contains a null character")
    if context == BARE:
        return " ".join(map(shlex.quote, words))
    text = " ".join(words)
    match context:
        case "single":
            return text.replace("'", "'\\''")
        case "double" | "here":
            escaped = re.sub(r'[\\$`"]' if context == DOUBLE else r"[\\$`]", r"\\\g<0>", text)
        case "comment":
            return " ".join(text.split())
        case _:
            escaped = text
    if ending and any(line.lstrip("\t") == ending for line in text.split("\n")):
        raise ExpressionError(f"the input {name!r} contains the line {ending!r}, which would end the here-document")
    return escaped


def _names(command: str) -> Iterator[tuple[int, int, str, str, str]]:
    """Yield each name in a command: its start and end, its context, and the line that ends a here-document."""
    scan = _Scan(command)
    while scan.at < len(command):
        if command.startswith("{{", scan.at):
            found = _NAME.match(command, scan.at)
            if found is None:
                shown = command[scan.at : scan.at + 30]
                raise ExpressionError(f"{shown!r} in a command is not the name of an input")
            yield scan.at, found.end(), found[1], scan.context(), scan.ending()
            scan.at = found.end()
        else:
            scan.step()


class _Scan:
    """A scanner that knows how the shell would read each position of a command."""

    __slots__ = ("_here", "_marks", "_stack", "at", "command")

    def __init__(self, command: str) -> None:
        self.command = command
        self.at = 0
        self._stack: list[str] = []
        """Open constructs: `'`, `"`, `$'`, `#`, and `(`, `{` or a backtick, inside which quoting starts over."""
        self._marks: list[tuple[str, str, bool]] = []
        """Here-documents that begin on the next line: context, last line, whether leading tabs are ignored."""
        self._here = False

    def context(self) -> str:
        """Return how a value must be quoted here."""
        if self._here:
            return self._marks[0][0]
        match self._stack[-1] if self._stack else "":
            case "'":
                return SINGLE
            case '"':
                return DOUBLE
            case "#":
                return COMMENT
            case "$'":
                raise ExpressionError("an input cannot stand inside $'…'; use \"…\" or no quotes")
            case "`":
                raise ExpressionError("an input cannot stand inside `…`; use $(…)")
            case _:
                return BARE

    def ending(self) -> str:
        """Return the line that would end the here-document at this position."""
        return self._marks[0][1] if self._here else ""

    def step(self) -> None:
        """Advance by one token."""
        if self._here:
            self._step_here()
            return
        inside = self._stack[-1] if self._stack else ""
        letter = self.command[self.at]
        self.at += 1
        if inside == "'":
            if letter == "'":
                self._stack.pop()
        elif inside == "#":
            if letter == "\n":
                self._stack.pop()
                self._line_ends()
        elif letter == "\\":
            self.at += 1
        elif inside == "$'":
            if letter == "'":
                self._stack.pop()
        elif inside == '"':
            self._step_double(letter)
        else:
            self._step_bare(letter, inside)

    def _step_double(self, letter: str) -> None:
        if letter == '"':
            self._stack.pop()
        elif letter == "`":
            self._stack.append("`")
        elif letter == "$" and self.command[self.at : self.at + 1] in ("(", "{"):
            self._stack.append(self.command[self.at])
            self.at += 1

    def _step_bare(self, letter: str, inside: str) -> None:
        if letter in ("'", '"'):
            self._stack.append("$'" if letter == "'" and self.command[self.at - 2 : self.at - 1] == "$" else letter)
        elif letter == "`":
            if inside == "`":
                self._stack.pop()
            else:
                self._stack.append("`")
        elif letter == "(" or (letter == "{" and self.command[self.at - 2 : self.at - 1] == "$"):
            self._stack.append(letter)
        elif (letter, inside) in ((")", "("), ("}", "{")):
            self._stack.pop()
        elif letter == "#" and inside != "{" and self.command[max(self.at - 2, 0) : self.at - 1] in _BEFORE_COMMENT:
            self._stack.append("#")
        elif letter == "<" and (mark := _HERE.match(self.command, self.at - 1)) is not None:
            if self.command[max(self.at - 2, 0) : self.at - 1] != "<":  # not the `<<<` of a here-string
                ending = mark[2] or mark[3] or mark[4]
                verbatim = mark[4] is None or "\\" in mark[0]
                self._marks.append((VERBATIM if verbatim else HERE, ending, bool(mark[1])))
            self.at = mark.end()
        elif letter == "\n":
            self._line_ends()

    def _line_ends(self) -> None:
        self._here = bool(self._marks)

    def _step_here(self) -> None:
        """Advance within a here-document, and leave it at its last line."""
        if self.command[self.at - 1] == "\n":
            end = self.command.find("\n", self.at)
            line = self.command[self.at : end if end >= 0 else None]
            _, ending, tabs = self._marks[0]
            if (line.lstrip("\t") if tabs else line) == ending:
                self._marks.pop(0)
                self._here = bool(self._marks)
                self.at += len(line) + 1
                return
        self.at += 1


_BEFORE_COMMENT = frozenset({"", " ", "\t", "\n", ";", "&", "|", "(", ")"})
