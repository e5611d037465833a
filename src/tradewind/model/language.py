"""The language of expressions: small, safe, and of bounded cost.

An expression is written like Python and parsed by Python, but only what is listed here has a meaning: names, fields of
mappings, items of lists, literals, comparisons, `and`, `or`, `not`, `in`, `… if … else …`, arithmetic without powers,
and the functions of `FUNCTIONS`. No Python attribute is ever looked up, so nothing outside the values that the caller
names can be reached. Whatever would grow beyond `MOST` characters or items is refused before it is made.

An expression becomes a tree of closures once, and is then evaluated as often as there are items in a loop.
"""

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from keyword import kwlist
from typing import Any, TypeAlias

from tradewind.model.action import Json
from tradewind.model.functions import FUNCTIONS
from tradewind.model.values import (
    MOST,
    AbsentError,
    ExpressionError,
    MissingError,
    kind_of,
    listed,
    sized,
    whole,
)

LONGEST = 10_000
"""Characters of an expression."""
DEEPEST = 60
"""How deep an expression may be nested."""

Lookup: TypeAlias = Callable[[str], Json]
"""Finds what a name stands for, or raises an `ExpressionError`."""
_Step: TypeAlias = Callable[[Lookup], Json]

CONSTANTS: Mapping[str, Json] = {"true": True, "false": False, "null": None}
RESERVED = frozenset(CONSTANTS) | frozenset(kwlist)
"""Names that no variable can have; functions are only looked for where something is called."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A name that an expression looks up, and the fields it takes from there as far as they are written down."""

    name: str
    path: tuple[str | int, ...] = ()

    def __str__(self) -> str:
        return self.name + "".join(f".{key}" if isinstance(key, str) else f"[{key}]" for key in self.path)


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression that has been read."""

    text: str
    references: tuple[Reference, ...]
    pick: Reference | None
    """What it stands for, where it does nothing but look something up."""
    steps: Callable[[Lookup], Json]

    def evaluate(self, lookup: Lookup) -> Json:
        """The value of the expression."""
        try:
            return self.steps(lookup)
        except (MissingError, ExpressionError):
            raise
        except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
            raise ExpressionError(f"{self.text!r}: {error}") from None


@lru_cache(maxsize=4096)
def parse(text: str) -> Expression:
    """Read an expression."""
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
    """What a node looks up, if it does nothing else."""
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
    """The closure that evaluates a node."""
    make = _MAKERS.get(type(node))
    if make is None:
        raise ExpressionError(f"{type(node).__name__} is not part of the language")
    return make(node)


def _name(node: ast.Name) -> _Step:
    name = node.id
    return (lambda _: CONSTANTS[name]) if name in CONSTANTS else (lambda lookup: lookup(name))


def _attribute(node: ast.Attribute) -> _Step:
    inner, name = _compile(node.value), node.attr
    return lambda lookup: field_of(inner(lookup), name)


def _subscript(node: ast.Subscript) -> _Step:
    inner = _compile(node.value)
    if isinstance(node.slice, ast.Slice):
        low, high = _compile_or_none(node.slice.lower), _compile_or_none(node.slice.upper)
        if node.slice.step is not None:
            raise ExpressionError("a part of a list is taken as in x[1:3]")
        return lambda lookup: _slice(inner(lookup), low(lookup), high(lookup))
    at = _compile(node.slice)
    return lambda lookup: field_of(inner(lookup), at(lookup))


def _list(node: ast.List | ast.Tuple) -> _Step:
    parts = [_compile(item) for item in node.elts]
    return lambda lookup: sized([part(lookup) for part in parts])


def _compile_or_none(node: ast.AST | None) -> _Step:
    return (lambda _: None) if node is None else _compile(node)


def _constant(node: ast.Constant) -> _Step:
    value = node.value
    if isinstance(value, bool | str) or value is None:
        return lambda _: value
    if isinstance(value, int):
        checked = whole(value)
        return lambda _: checked
    if isinstance(value, float) and math.isfinite(value):
        return lambda _: value
    raise ExpressionError(f"{value!r} is no value of the language")


def _mapping(node: ast.Dict) -> _Step:
    parts: list[tuple[str, _Step]] = []
    for key, value in zip(node.keys, node.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            raise ExpressionError("a key of a mapping must be text in quotes")
        parts.append((key.value, _compile(value)))
    return lambda lookup: sized({name: part(lookup) for name, part in parts})


def _call(node: ast.Call) -> _Step:
    if not isinstance(node.func, ast.Name):
        raise ExpressionError("values have no methods; use a function such as len(x)")
    name = node.func.id
    if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        raise ExpressionError(f"{name}() takes plain arguments only")
    parts = [_compile(argument) for argument in node.args]
    if name == "default":
        return _default(parts)
    if name not in FUNCTIONS:
        raise ExpressionError(f"no function named {name!r}; there are {', '.join(sorted([*FUNCTIONS, 'default']))}")
    called, least, most = FUNCTIONS[name]
    if not least <= len(parts) <= most:
        count = f"{least}" if least == most else f"{least} to {most}" if most < 1000 else f"at least {least}"
        raise ExpressionError(f"{name}() takes {count} argument{'' if count == '1' else 's'}, not {len(parts)}")
    return lambda lookup: called(*[part(lookup) for part in parts])


def _default(parts: list[_Step]) -> _Step:
    """The first value that is there: not of a skipped step, not an absent field, not null."""
    if not parts:
        raise ExpressionError("default() takes at least 1 argument")

    def choose(lookup: Lookup) -> Json:
        for part in parts[:-1]:
            try:
                value = part(lookup)
            except (MissingError, AbsentError):
                continue
            if value is not None:
                return value
        return parts[-1](lookup)

    return choose


def _choice(node: ast.IfExp) -> _Step:
    condition, yes, no = _compile(node.test), _compile(node.body), _compile(node.orelse)
    return lambda lookup: yes(lookup) if condition(lookup) else no(lookup)


def _logic(node: ast.BoolOp) -> _Step:
    parts, stop_at = [_compile(value) for value in node.values], isinstance(node.op, ast.Or)
    return lambda lookup: _until(parts, lookup, stop_at=stop_at)


def _sign(node: ast.UnaryOp) -> _Step:
    inner = _compile(node.operand)
    if isinstance(node.op, ast.Not):
        return lambda lookup: not inner(lookup)
    if isinstance(node.op, ast.USub):
        return lambda lookup: _arithmetic("-", 0, inner(lookup))
    raise ExpressionError("an operator that is not part of the language; there are not and -")


def _binary(node: ast.BinOp) -> _Step:
    sign = _ARITHMETIC.get(type(node.op))
    if sign is None:
        raise ExpressionError("an operator that is not part of the language; there are + - * / // %")
    one, other = _compile(node.left), _compile(node.right)
    return lambda lookup: _arithmetic(sign, one(lookup), other(lookup))


def _comparison(node: ast.Compare) -> _Step:
    if not all(type(operator) in _COMPARISONS for operator in node.ops):
        raise ExpressionError("'is' is not part of the language; use ==")
    first = _compile(node.left)
    rest = [(_COMPARISONS[type(o)], _compile(c)) for o, c in zip(node.ops, node.comparators, strict=True)]
    return lambda lookup: _compare(first(lookup), rest, lookup)


def _until(parts: list[_Step], lookup: Lookup, *, stop_at: bool) -> Json:
    value: Json = None
    for part in parts:
        value = part(lookup)
        if bool(value) is stop_at:
            break
    return value


_ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%"}


def _arithmetic(sign: str, one: Json, other: Json) -> Json:
    if sign == "+" and isinstance(one, str) and isinstance(other, str) and len(one) + len(other) <= MOST:
        return one + other
    if sign == "+" and isinstance(one, list) and isinstance(other, list) and len(one) + len(other) <= MOST:
        return sized(one + other)
    if sign == "*" and isinstance(one, list | str) and type(other) is int:
        if len(one) * max(other, 0) > MOST:
            raise ExpressionError(f"makes more than {MOST:,} items")
        return sized(one * other)
    if not (type(one) in (int, float) and type(other) in (int, float)):
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


def _compare(value: Json, rest: list[tuple[Callable[[Json, Json], bool], _Step]], lookup: Lookup) -> bool:
    for holds, part in rest:
        other = part(lookup)
        if not holds(value, other):
            return False
        value = other
    return True


def field_of(value: Json, key: Json) -> Json:
    """A field of a mapping, an item of a list or a character of a text."""
    if isinstance(value, Mapping):
        try:
            return value[key]
        except (KeyError, TypeError):
            known = ", ".join(sorted(map(str, value))[:10]) or "none"
            raise AbsentError(f"no field {key!r}; there are {known}") from None
    if isinstance(value, list | str) and type(key) is int:
        try:
            return value[key]
        except IndexError:
            raise AbsentError(f"no item {key}; there are {len(value)}") from None
    if isinstance(value, list | str):
        raise ExpressionError(f"{kind_of(value)} has no field {key!r}; items are taken by number, as in x[0]")
    raise AbsentError(f"{kind_of(value)} has no field {key!r}")


def _slice(value: Json, low: Json, high: Json) -> Json:
    if not isinstance(value, list | str):
        raise ExpressionError(f"cannot take a part of {kind_of(value)}")
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
