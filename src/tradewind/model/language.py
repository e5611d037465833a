"""The language of expressions: small, safe, and of bounded cost.

An expression is written like Python and parsed by Python, but only these constructs have a meaning: names, fields of
mappings, items of lists, literals, comparisons, `and`, `or`, `not`, `in`, `… if … else …`, arithmetic without powers,
and the functions of `FUNCTIONS`. Python attributes are never looked up, so nothing outside the values that the caller
provides can be reached. Values that would exceed `MOST` characters or items are rejected before they are built, and the
items that an evaluation builds and visits are counted, which bounds both its time and its memory.

An expression is compiled once into a tree of closures, and then evaluated for each item of a loop.
"""

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from keyword import kwlist
from typing import Any, TypeAlias

from tradewind.model.action import Json
from tradewind.model.bounds import is_text
from tradewind.model.functions import FUNCTIONS, GROWING
from tradewind.model.values import (
    MOST,
    AbsentError,
    Evaluation,
    ExpressionError,
    MissingError,
    kind_of,
    listed,
    whole,
)

LONGEST = 10_000
"""Maximum length of an expression."""
DEEPEST = 60
"""Maximum nesting of an expression."""
_SHOWN = 100
"""Number of fields of a mapping from which an error chooses those it names."""

_Step: TypeAlias = Callable[[Evaluation], Json]

CONSTANTS: Mapping[str, Json] = {"true": True, "false": False, "null": None}
RESERVED = frozenset(CONSTANTS) | frozenset(kwlist)
"""Names that no variable can have; functions are only looked up in calls."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A name that an expression looks up, and the constant fields taken from it."""

    name: str
    path: tuple[str | int, ...] = ()

    def __str__(self) -> str:
        return self.name + "".join(f".{key}" if isinstance(key, str) else f"[{key}]" for key in self.path)


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression."""

    text: str
    references: tuple[Reference, ...]
    pick: Reference | None
    """The reference, if the expression is nothing else."""
    steps: _Step

    def evaluate(self, here: Evaluation) -> Json:
        """Return the value of the expression."""
        try:
            return self.steps(here)
        except (MissingError, ExpressionError):
            raise
        except (TypeError, ValueError, ArithmeticError, RecursionError, MemoryError) as error:
            raise ExpressionError(f"{self.text!r}: {error}") from None


@lru_cache(maxsize=4096)
def parse(text: str) -> Expression:
    """Parse an expression."""
    if len(text) > LONGEST:
        raise ExpressionError(f"an expression has more than {LONGEST:,} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise ExpressionError(f"{text.strip()!r} is not an expression: {reason}") from None
    try:
        _check_depth(tree)
        return Expression(text.strip(), tuple(_references(tree)), _reference(tree), _compile(tree))
    except ExpressionError as error:
        raise ExpressionError(f"{text.strip()!r}: {error}") from None


def _check_depth(tree: ast.AST) -> None:
    level, depth = [tree], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise ExpressionError(f"is nested more than {DEEPEST} deep")
        level = [child for node in level for child in ast.iter_child_nodes(node)]


def _reference(node: ast.AST) -> Reference | None:
    """Return the reference of a node, if it is nothing else."""
    path: list[str | int] = []
    while True:
        match node:
            case ast.Attribute(value, name):
                path.append(name)
                node = value
            case ast.Subscript(value, ast.Constant(str() | int() as key)) if not isinstance(key, bool):
                path.append(key)
                node = value
            case ast.Name(name) if name not in CONSTANTS:
                return Reference(name, tuple(reversed(path)))
            case _:
                return None


def _references(node: ast.AST) -> Iterator[Reference]:
    found = _reference(node)
    if found is not None:
        yield found
        return
    inside = node.args if isinstance(node, ast.Call) else ast.iter_child_nodes(node)
    for child in inside:
        yield from _references(child)


def _compile(node: ast.AST) -> _Step:
    """Return the closure that evaluates a node."""
    make = _MAKERS.get(type(node))
    if make is None:
        raise ExpressionError(f"{type(node).__name__} is not part of the language")
    return make(node)


def _name(node: ast.Name) -> _Step:
    name = node.id
    return (lambda _: CONSTANTS[name]) if name in CONSTANTS else (lambda here: here.lookup(name))


def _attribute(node: ast.Attribute) -> _Step:
    inner, name = _compile(node.value), node.attr
    return lambda here: field_of(inner(here), name)


def _subscript(node: ast.Subscript) -> _Step:
    inner = _compile(node.value)
    if isinstance(node.slice, ast.Slice):
        low, high = _compile_or_none(node.slice.lower), _compile_or_none(node.slice.upper)
        if node.slice.step is not None:
            raise ExpressionError("write a slice like x[1:3]")
        return lambda here: here.walked(_slice(inner(here), low(here), high(here)))
    at = _compile(node.slice)
    return lambda here: field_of(inner(here), at(here))


def _list(node: ast.List | ast.Tuple) -> _Step:
    parts = [_compile(item) for item in node.elts]
    return lambda here: here.built([part(here) for part in parts])


def _compile_or_none(node: ast.AST | None) -> _Step:
    return (lambda _: None) if node is None else _compile(node)


def _constant(node: ast.Constant) -> _Step:
    value = node.value
    if isinstance(value, str) and not is_text(value):
        raise ExpressionError("contains text that is not valid Unicode")
    if isinstance(value, bool | str) or value is None:
        return lambda _: value
    if isinstance(value, int):
        checked = whole(value)
        return lambda _: checked
    if isinstance(value, float) and math.isfinite(value):
        return lambda _: value
    raise ExpressionError(f"{value!r} is not a value of the language")


def _mapping(node: ast.Dict) -> _Step:
    parts: list[tuple[str, _Step]] = []
    for key, value in zip(node.keys, node.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            raise ExpressionError("a key of a mapping must be text in quotes")
        if not is_text(key.value):
            raise ExpressionError("holds text that is not valid Unicode")
        parts.append((key.value, _compile(value)))
    return lambda here: here.built({name: part(here) for name, part in parts})


def _call(node: ast.Call) -> _Step:
    if not isinstance(node.func, ast.Name):
        raise ExpressionError("values have no methods; use a function such as len(x)")
    name = node.func.id
    if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        raise ExpressionError(f"{name}() takes only plain arguments")
    parts = [_compile(argument) for argument in node.args]
    if name == "default":
        return _default(parts)
    if name not in FUNCTIONS:
        raise ExpressionError(f"no function named {name!r}; use one of {', '.join(sorted([*FUNCTIONS, 'default']))}")
    called, least, most = FUNCTIONS[name]
    if not least <= len(parts) <= most:
        count = f"{least}" if least == most else f"{least} to {most}" if most < 1000 else f"at least {least}"
        raise ExpressionError(f"{name}() takes {count} argument{'' if count == '1' else 's'}, not {len(parts)}")
    if name == "len":
        return lambda here: called(parts[0](here))
    if name in GROWING:
        return lambda here: here.walked(called(*[part(here) for part in parts]))
    return lambda here: called(*[here.walked(part(here)) for part in parts])


def _default(parts: list[_Step]) -> _Step:
    """Return the first value that exists: not from a skipped step, not an absent field, not null."""
    if not parts:
        raise ExpressionError("default() takes at least 1 argument")

    def choose(here: Evaluation) -> Json:
        for part in parts[:-1]:
            try:
                value = part(here)
            except (MissingError, AbsentError):
                continue
            if value is not None:
                return value
        return parts[-1](here)

    return choose


def _choice(node: ast.IfExp) -> _Step:
    condition, yes, no = _compile(node.test), _compile(node.body), _compile(node.orelse)
    return lambda here: yes(here) if condition(here) else no(here)


def _logic(node: ast.BoolOp) -> _Step:
    parts, stop_at = [_compile(value) for value in node.values], isinstance(node.op, ast.Or)
    return lambda here: _until(parts, here, stop_at=stop_at)


def _sign(node: ast.UnaryOp) -> _Step:
    inner = _compile(node.operand)
    if isinstance(node.op, ast.Not):
        return lambda here: not inner(here)
    if isinstance(node.op, ast.USub):
        return lambda here: _arithmetic("-", 0, inner(here), here)
    raise ExpressionError("unsupported operator; use not or -")


def _binary(node: ast.BinOp) -> _Step:
    sign = _ARITHMETIC.get(type(node.op))
    if sign is None:
        raise ExpressionError("unsupported operator; use + - * / // %")
    one, other = _compile(node.left), _compile(node.right)
    return lambda here: _arithmetic(sign, one(here), other(here), here)


def _comparison(node: ast.Compare) -> _Step:
    if not all(type(operator) in _COMPARISONS for operator in node.ops):
        raise ExpressionError("'is' is not part of the language; use ==")
    first = _compile(node.left)
    rest = [(_COMPARISONS[type(o)], _compile(c)) for o, c in zip(node.ops, node.comparators, strict=True)]
    return lambda here: _compare(first(here), rest, here)


def _until(parts: list[_Step], here: Evaluation, *, stop_at: bool) -> Json:
    value: Json = None
    for part in parts:
        value = part(here)
        if bool(value) is stop_at:
            break
    return value


_ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%"}


def _arithmetic(sign: str, one: Json, other: Json, here: Evaluation) -> Json:
    if not (type(one) in (int, float) and type(other) in (int, float)):
        is_sum = sign == "+" and type(one) is type(other)
        if isinstance(one, list | str) and (is_sum or (sign == "*" and type(other) is int)):
            if (len(one) + len(other) if is_sum else len(one) * max(other, 0)) > MOST:
                raise ExpressionError(f"makes more than {MOST:,} items")
            return here.built(one + other if is_sum else one * other)
        raise ExpressionError(f"cannot compute {kind_of(one)} {sign} {kind_of(other)}")
    result: Json
    match sign:
        case "+":
            result = one + other
        case "-":
            result = one - other
        case "*":
            result = one * other
        case "/":
            result = one / other
        case "//":
            result = one // other
        case _:
            result = one % other
    return whole(result)


_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Json, Json], bool]] = {
    ast.Eq: lambda one, other: bool(one == other),
    ast.NotEq: lambda one, other: bool(one != other),
    ast.Lt: lambda one, other: bool(one < other),
    ast.LtE: lambda one, other: bool(one <= other),
    ast.Gt: lambda one, other: bool(one > other),
    ast.GtE: lambda one, other: bool(one >= other),
    ast.In: lambda one, other: one in _container(other),
    ast.NotIn: lambda one, other: one not in _container(other),
}


def _container(value: Json) -> Json:
    if isinstance(value, str | list | dict):
        return value
    raise ExpressionError(f"cannot look into {kind_of(value)} with 'in'")


def _compare(value: Json, rest: list[tuple[Callable[[Json, Json], bool], _Step]], here: Evaluation) -> bool:
    here.walked(value)
    for holds, part in rest:
        other = here.walked(part(here))
        if not holds(value, other):
            return False
        value = other
    return True


def field_of(value: Json, key: Json) -> Json:
    """Return a field of a mapping, an item of a list or a character of a text."""
    if isinstance(value, Mapping):
        try:
            return value[key]
        except (KeyError, TypeError):
            known = ", ".join(sorted(map(str, islice(value, _SHOWN)))[:10]) or "none"
            raise AbsentError(f"no field {key!r:.100}; there are {known:.1000}") from None
    if isinstance(value, list | str) and type(key) is int:
        try:
            return value[key]
        except IndexError:
            raise AbsentError(f"no item {key}; there are {len(value)}") from None
    if isinstance(value, list | str):
        raise ExpressionError(f"{kind_of(value)} has no field {key!r:.100}; items are taken by number, as in x[0]")
    raise AbsentError(f"{kind_of(value)} has no field {key!r:.100}")


def _slice(value: Json, low: Json, high: Json) -> Json:
    if not isinstance(value, list | str):
        raise ExpressionError(f"cannot slice {kind_of(value)}")
    return listed(value[low:high])


_MAKERS: Mapping[type[ast.AST], Callable[[Any], _Step]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.List: _list,
    ast.Tuple: _list,
    ast.Dict: _mapping,
    ast.Call: _call,
    ast.IfExp: _choice,
    ast.BoolOp: _logic,
    ast.UnaryOp: _sign,
    ast.BinOp: _binary,
    ast.Compare: _comparison,
}
