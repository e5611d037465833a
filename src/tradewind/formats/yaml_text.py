"""Parse YAML into plain data, one parser event at a time.

Differs from `yaml.safe_load` where that would be harmful: duplicate keys, keys that are not text, exponentially growing
aliases, recursive values and unbounded nesting are rejected. Only numbers, `true`, `false` and `null` are not text (in
YAML 1.1, `no` is false, `1:30` is ninety and `2024-01-01` a date).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from tradewind.formats.errors import FormatError, Place, quoted, show
from tradewind.formats.source import Source
from tradewind.formats.tree import DEEPEST, Tree

MOST_REPEATED = 100_000
"""Maximum total number of values repeated by aliases."""

_WORDS: Mapping[str, bool | None] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_LONGEST_NUMBER = 100
_STARTS = frozenset("0123456789+-.")
"""Characters that a number can start with."""
_MERGE = "<<"
_DEFAULT_TAGS = (None, "!", "tag:yaml.org,2002:str", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map")

_Parser = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C parser is twenty times faster, but not always available


def read_yaml(source: Source) -> Tree:
    """Read a YAML document."""
    data = _Builder(source.file).build(source.text)
    return Tree(source.file, data, lambda wanted: _lines(source, wanted))


def _lines(source: Source, wanted: frozenset[Place]) -> dict[Place, int]:
    builder = _Builder(source.file, wanted)
    builder.build(source.text)
    return builder.lines


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not been reached."""

    value: Any
    """A list, or a mapping with text keys."""
    anchor: str | None
    begun: int
    """Number of values before it."""
    awaits_key: bool
    step: str | int = ""
    """The key or position of the last value."""
    key: str | None = None
    """A key whose value has not been read yet."""
    key_line: int = 0
    merging: bool = False
    """Whether the key is an unquoted `<<`."""
    merged: tuple[Any, ...] = ()
    """Values of `<<`; merged at the end, because they may still grow."""


@dataclass(slots=True)
class _Builder:
    """A builder of plain data from events, without recursion."""

    file: str
    wanted: frozenset[Place] = frozenset()
    lines: dict[Place, int] = field(default_factory=dict)
    root: Any = None
    count: int = 0
    repeated: int = 0
    stack: list[_Open] = field(default_factory=list)
    anchors: dict[str, tuple[Any, int]] = field(default_factory=dict)

    def build(self, text: str) -> Any:
        """Return the data of the only document in the text."""
        try:
            parser = _Parser(text)
            documents = 0
            while parser.check_event():
                event = parser.get_event()
                kind = type(event)
                if kind is yaml.ScalarEvent:
                    self._scalar(event)
                elif kind is yaml.MappingStartEvent:
                    self._begin(event, {})
                elif kind is yaml.SequenceStartEvent:
                    self._begin(event, [])
                elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                    self._end(event)
                elif kind is yaml.AliasEvent:
                    self._alias(event)
                elif kind is yaml.DocumentStartEvent:
                    documents += 1
                    if documents > 1:
                        raise self._error(event, "contains a second document after '---'", "keep one document per file")
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = None if mark is None else mark.line + 1
            reason = error.problem or error.context or "syntax error"
            raise FormatError(self.file, f"not YAML: {reason}", line=line) from None
        except yaml.YAMLError as error:
            position = getattr(error, "position", None)
            line = None if position is None else text.count("\n", 0, position) + 1
            reason = str(error).split("\n", maxsplit=1)[0]
            raise FormatError(self.file, f"not YAML: {reason}", line=line) from None
        return self.root

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        if self.stack and self.stack[-1].awaits_key:
            self._key(event, event.value)
            return
        value: Any = event.value
        if event.tag is not None:
            self._check_tag(event)
        # Only unquoted text can be a number, a boolean or null; checking the first character is the fast path.
        elif not event.style and (value in _WORDS or value[0] in _STARTS):
            value = self._plain(event, value)
        if event.anchor:
            self.anchors[event.anchor] = (value, 1)
        self._place(event, value)

    def _plain(self, event: yaml.ScalarEvent, text: str) -> Any:
        """Return the value of text without quotes."""
        if text in _WORDS:
            return _WORDS[text]
        if text[0] in _STARTS:
            if len(text) > _LONGEST_NUMBER and _NUMBER.fullmatch(text):
                raise self._error(event, f"the number {quoted(text)} is too long")
            if _INTEGER.fullmatch(text):
                return int(text)
            if _NUMBER.fullmatch(text):
                return float(text)
            if _NOT_FINITE.fullmatch(text):
                raise self._error(event, f"{quoted(text)} is not a finite number")
        return text

    def _key(self, event: yaml.ScalarEvent, text: str) -> None:
        into = self.stack[-1]
        if event.tag is not None:
            self._check_tag(event)
        # A key such as `yes` or `1` would be a boolean or a number to other readers: ask for quotes.
        elif not event.style and (text in _WORDS or text[0] in _STARTS) and self._plain(event, text) != text:
            raise self._error(event, f"the key {text or 'null'} is not text", "put it in quotes")
        if text in into.value:
            raise self._error(event, f"the key {quoted(text)} appears twice", place=(*self._path(), text))
        into.merging = text == _MERGE and not event.style
        into.key, into.awaits_key = text, False
        if self.wanted:
            into.key_line = _line_of(event)

    def _begin(self, event: yaml.CollectionStartEvent, value: Any) -> None:
        if self.stack and self.stack[-1].awaits_key:
            raise self._error(event, "a key is a list or mapping", "keys must be text")
        if event.tag is not None:
            self._check_tag(event)
        if len(self.stack) >= DEEPEST:
            raise self._error(event, f"values are nested more than {DEEPEST} deep")
        self._place(event, value)
        self.stack.append(_Open(value, event.anchor, self.count, awaits_key=isinstance(value, dict)))

    def _end(self, event: yaml.Event) -> None:
        done = self.stack.pop()
        # `<<`: own keys take precedence, then earlier mappings over later ones.
        for merged in done.merged:
            for mapping in merged if isinstance(merged, list) else [merged]:
                if not isinstance(mapping, dict):
                    raise self._error(event, "'<<' takes a mapping or a list of mappings")
                done.value.update({key: value for key, value in mapping.items() if key not in done.value})
        if done.anchor:
            self.anchors[done.anchor] = (done.value, self.count - done.begun + 1)

    def _alias(self, event: yaml.AliasEvent) -> None:
        anchor = event.anchor or ""
        # The anchor is still open, so the alias would make the value contain itself.
        if any(part.anchor == anchor for part in self.stack):
            raise self._error(event, f"the alias {quoted(anchor)} refers to a value that contains it")
        if anchor not in self.anchors:
            raise self._error(event, f"no anchor is named {quoted(anchor)}")
        if self.stack and self.stack[-1].awaits_key:
            raise self._error(event, "a key is an alias", "keys must be text")
        value, size = self.anchors[anchor]
        # Repeated values are counted in full, so that nested aliases cannot grow exponentially.
        self.repeated += size
        self.count += size
        if self.repeated > MOST_REPEATED:
            raise self._error(event, f"aliases repeat more than {MOST_REPEATED:,} values")
        self._place(event, value)

    def _check_tag(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        if event.tag not in _DEFAULT_TAGS:
            raise self._error(event, f"the tag {quoted(event.tag or '')} is not supported")

    def _place(self, event: yaml.Event, value: Any) -> None:
        """Add a value at the current position of the document."""
        self.count += 1
        if self.wanted:
            self._note_line(event)
        if not self.stack:
            self.root = value
            return
        into = self.stack[-1]
        if into.key is None:
            into.step = len(into.value)
            into.value.append(value)
            return
        into.step = into.key
        if into.merging:
            into.merged += (value,)
        else:
            into.value[into.key] = value
        into.key, into.awaits_key = None, True

    def _path(self) -> Place:
        """Return the place of the next value, as far as it is known."""
        if not self.stack:
            return ()
        above = tuple(part.step for part in self.stack[:-1])
        into = self.stack[-1]
        if isinstance(into.value, list):
            return (*above, len(into.value))
        return above if into.key is None else (*above, into.key)

    def _note_line(self, event: yaml.Event) -> None:
        place = self._path()
        if place in self.wanted:
            into = self.stack[-1] if self.stack else None
            in_mapping = into is not None and into.key is not None
            # In a mapping, the line of the key is more useful than that of its value.
            self.lines.setdefault(place, into.key_line if into and in_mapping else _line_of(event))

    def _error(self, event: yaml.Event, reason: str, remedy: str = "", place: Place = ()) -> FormatError:
        line = _line_of(event)
        return FormatError(self.file, reason, line=line, place=show(place or self._path()), remedy=remedy)


def _line_of(event: yaml.Event) -> int:
    mark = event.start_mark
    return 1 if mark is None else mark.line + 1
