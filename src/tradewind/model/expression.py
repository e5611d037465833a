"""Values with `{{ expressions }}` in them.

Text that is exactly one `{{ expression }}` keeps the type of the expression's value; in longer text the values are
written out. Templates can appear anywhere inside lists and mappings. Commands are different: each expression becomes an
input, and the worker fills in only names, quoted for the shell (`render_command`).

`resolve` is used by the worker, too: it replaces references to outputs of earlier calls in the same chain by their
values.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tradewind.model.action import Derived, Json, Ref
from tradewind.model.language import RESERVED, Expression, Reference, field_of, parse
from tradewind.model.shell import render_command
from tradewind.model.values import (
    AbsentError,
    Allowance,
    Evaluation,
    ExpressionError,
    Lookup,
    MissingError,
    Outputs,
    kind_of,
    show,
)

__all__ = [
    "RESERVED",
    "AbsentError",
    "Allowance",
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
    """Text with expressions, split into parts."""

    parts: tuple[str | Expression, ...]
    only: Expression | None
    """The only expression, if the text consists of nothing else, so that its value keeps its type."""

    def fill(self, lookup: Lookup, allowance: Allowance | None = None) -> Json:
        """Return the text with its expressions evaluated, or the value of the only one."""
        return self.filled(Evaluation(lookup, allowance))

    def filled(self, here: Evaluation) -> Json:
        """Return the same as part of an evaluation."""
        if self.only is not None:
            return self.only.evaluate(here)
        texts = [part if isinstance(part, str) else show(here.walked(part.evaluate(here))) for part in self.parts]
        return here.built("".join(texts))


@lru_cache(maxsize=4096)
def template(text: str) -> Template:
    """Split text into words and expressions."""
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
        parts = parts[1:2]  # spaces around a single expression do not turn it into text
    only = parts[0] if len(parts) == 1 and isinstance(parts[0], Expression) else None
    return Template(tuple(parts), only)


def _end(text: str, at: int) -> int:
    """Return where an expression ends: at the first `}}` outside its quotes and braces."""
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
    remedy = "to write two literal braces, use {{ '{{' }}"
    raise ExpressionError(f"'{OPEN} {shown}' has no end '{CLOSE}'; {remedy}")


def fill(value: Json, lookup: Lookup, allowance: Allowance | None = None) -> Json:
    """Return a value with all its templates filled in, charged to a run's allowance if there is one."""
    if isinstance(value, str):
        return template(value).fill(lookup, allowance) if OPEN in value else value
    if isinstance(value, list | tuple | Mapping):
        here = Evaluation(lookup, allowance)
        return here.built(_filled(value, here))
    return value


def _filled(value: Json, here: Evaluation) -> Json:
    if isinstance(value, str):
        return template(value).filled(here) if OPEN in value else value
    if isinstance(value, list | tuple):
        return [_filled(item, here) for item in value]
    if isinstance(value, Mapping):
        return {key: _filled(item, here) for key, item in value.items()}
    return value


_WITHOUT = frozenset({int, float, bool, type(None)})
"""Types that cannot contain a template; lists may have very many items of them."""


def references(value: Json) -> Iterator[Reference]:
    """Yield all references in the templates of a value."""
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
    """Replace each `Ref` and `Derived` in a value by the outputs of earlier calls, given by call id."""
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
