"""Values with `{{ expressions }}` in them.

Text that is exactly one `{{ expression }}` stands for the expression's value, whatever its type; in longer text the
values are written out. Templates may stand anywhere inside lists and mappings. Commands are different: there each
expression becomes an input, and the worker fills in names only, quoted for the shell (`render_command`).

`resolve` is for the worker too: it puts outputs of earlier calls of the same chain where a call's inputs point to them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tradewind.model.action import Derived, Json, Ref
from tradewind.model.language import RESERVED, Expression, Lookup, Reference, field_of, parse
from tradewind.model.shell import render_command
from tradewind.model.values import AbsentError, ExpressionError, MissingError, Outputs, kind_of, show

__all__ = [
    "RESERVED",
    "AbsentError",
    "Expression",
    "ExpressionError",
    "Lookup",
    "MissingError",
    "Outputs",
    "Reference",
    "Template",
    "fill",
    "kind_of",
    "parse",
    "references",
    "render_command",
    "resolve",
    "show",
    "template",
]

OPEN, CLOSE = "{{", "}}"


@dataclass(frozen=True, slots=True)
class Template:
    """Text with expressions, taken apart."""

    parts: tuple[str | Expression, ...]
    only: Expression | None
    """The expression that is all there is, so that its value keeps its type."""

    def fill(self, lookup: Lookup) -> Json:
        """The text with its expressions evaluated, or the value of the only one."""
        if self.only is not None:
            return self.only.evaluate(lookup)
        return "".join(part if isinstance(part, str) else show(part.evaluate(lookup)) for part in self.parts)


@lru_cache(maxsize=4096)
def template(text: str) -> Template:
    """Take text apart into words and expressions."""
    parts: list[str | Expression] = []
    done = 0
    while (start := text.find(OPEN, done)) >= 0:
        end = _end(text, start + len(OPEN))
        if start > done:
            parts.append(text[done:start])
        parts.append(parse(text[start + len(OPEN) : end]))
        done = end + len(CLOSE)
    if done < len(text):
        parts.append(text[done:])
    if len(parts) == 3 and all(isinstance(part, str) and part.isspace() for part in (parts[0], parts[2])):
        parts = parts[1:2]  # space around the only expression does not make it text
    only = parts[0] if len(parts) == 1 and isinstance(parts[0], Expression) else None
    return Template(tuple(parts), only)


def _end(text: str, at: int) -> int:
    """Where an expression ends: at the first `}}` outside its quotes and braces."""
    depth, quote, start = 0, "", at
    while at < len(text):
        letter = text[at]
        if quote:
            if letter == "\\":
                at += 1
            elif letter == quote:
                quote = ""
        elif letter in "'\"":
            quote = letter
        elif letter == "{":
            depth += 1
        elif letter == "}" and depth:
            depth -= 1
        elif text.startswith(CLOSE, at):
            return at
        at += 1
    shown = text[start : start + 30].strip()
    remedy = "for two braces that are meant, write {{ '{{' }}"
    raise ExpressionError(f"'{OPEN} {shown}' has no end '{CLOSE}'; {remedy}")


def fill(value: Json, lookup: Lookup) -> Json:
    """A value with all its templates filled in."""
    if isinstance(value, str):
        return template(value).fill(lookup) if OPEN in value else value
    if isinstance(value, list | tuple):
        return [fill(item, lookup) for item in value]
    if isinstance(value, Mapping):
        return {key: fill(item, lookup) for key, item in value.items()}
    return value


_WITHOUT = frozenset({int, float, bool, type(None)})
"""Values that cannot hold a template: lists may have very many."""


def references(value: Json) -> Iterator[Reference]:
    """All that the templates of a value look up."""
    if isinstance(value, str):
        if OPEN in value:
            for part in template(value).parts:
                if isinstance(part, Expression):
                    yield from part.references
    elif isinstance(value, list | tuple):
        for item in value:
            if type(item) not in _WITHOUT:
                yield from references(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from references(item)


def resolve(value: Json, results: Mapping[str, Mapping[str, Json]]) -> Json:
    """A value with the outputs of earlier calls, given by call id, in the place of each `Ref` and `Derived`."""
    if isinstance(value, Ref):
        found: Json = field_of(field_of(results, value.call), value.output)
        for key in value.path:
            found = field_of(found, key)
        return found
    if isinstance(value, Derived):
        names = {name: resolve(given, results) for name, given in value.names.items()}
        return template(value.template).fill(names.__getitem__)
    if isinstance(value, list | tuple):
        return [resolve(item, results) for item in value]
    if isinstance(value, Mapping):
        return {key: resolve(item, results) for key, item in value.items()}
    return value
