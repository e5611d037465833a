"""Commands with `{{ name }}` filled in, so that no value can ever be more than words to the shell.

How a value must be quoted depends on where it stands: outside quotes, inside `'…'`, inside `"…"`, or in a
here-document. A scan of the command, with `$(…)`, `${…}` and backticks nested in each other as the shell nests them,
tells.
"""

import re
import shlex
from collections.abc import Iterator, Mapping

from tradewind.model.action import Json
from tradewind.model.values import ExpressionError, show

_NAME = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
_HERE = re.compile(r"<<(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([A-Za-z0-9_.-]+))")

BARE, SINGLE, DOUBLE, COMMENT, HERE, VERBATIM = "bare", "single", "double", "comment", "here", "verbatim"
"""Where a name may stand: the last two are here-documents, with and without expansion."""


def render_command(command: str, inputs: Mapping[str, Json]) -> str:
    """The command with each `{{ name }}` replaced by that input: one quoted word, or several where it is a list."""
    if "{{" not in command:
        return command
    pieces: list[str] = []
    done = 0
    for start, end, name, context, ending in _names(command):
        if name not in inputs:
            raise ExpressionError(f"the command asks for the input {name!r}, which is not given")
        pieces += (command[done:start], _quote(inputs[name], context, ending, name))
        done = end
    return "".join((*pieces, command[done:]))


def _quote(value: Json, context: str, ending: str, name: str) -> str:
    words = [show(item) for item in value] if isinstance(value, list) else [] if value is None else [show(value)]
    if any("\0" in word for word in words):
        raise ExpressionError(f"the input {name!r} holds a null character")
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
        raise ExpressionError(f"the input {name!r} holds the line {ending!r}, which would end the here-document")
    return escaped


def _names(command: str) -> Iterator[tuple[int, int, str, str, str]]:
    """Each name in a command: from where to where, its context, and the line that ends a here-document."""
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
    """Walks over a command and knows how the shell would read what stands at a place."""

    __slots__ = ("_here", "_marks", "_stack", "at", "command")

    def __init__(self, command: str) -> None:
        self.command = command
        self.at = 0
        self._stack: list[str] = []
        """What is open: `'`, `"`, `$'`, `#`, and `(`, `{` or a backtick, inside which quotes begin anew."""
        self._marks: list[tuple[str, str, bool]] = []
        """Here-documents that begin on the next line: context, last line, whether tabs before it are ignored."""
        self._here = False

    def context(self) -> str:
        """How a value must be quoted here."""
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
        """The line that would end the here-document that this place is in."""
        return self._marks[0][1] if self._here else ""

    def step(self) -> None:
        """Go on by one token."""
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
        """Within a here-document: leave it at its last line."""
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
