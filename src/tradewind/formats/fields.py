"""Field types of native files, with the descriptions that editors show.

Numbers are strict: `true` is not a number, `"3"` is not a count and `.nan` is not a price. Durations, sizes and money
accept a number or text with a unit, and become integers: microseconds, bytes and micro-units.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, WithJsonSchema

from tradewind.model.action import SHELLS, shell_name
from tradewind.model.units import HOUR, MINUTE, SECOND, parse_duration, parse_money, parse_price, parse_size

LARGEST_COUNT = 10**15
LARGEST_SIZE = 10**18
LONGEST_NAME = 500
LONGEST_TEXT = 1_000_000

STRICT = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True)

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_NOT_IN_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
_PERIODS = {"second": SECOND, "minute": MINUTE, "hour": HOUR}

T = TypeVar("T")


def fault_of_name(text: str) -> str:
    """Return why text cannot be a name, or nothing."""
    if text.isprintable() and 0 < len(text) <= LONGEST_NAME and not text.isspace():
        return ""
    if not text.strip():
        return "a name must not be empty"
    if len(text) > LONGEST_NAME:
        return f"a name must not be longer than {LONGEST_NAME} characters"
    if _CONTROL.search(text):
        return "a name must not contain line breaks or control characters"
    return ""


def fault_of_text(text: str) -> str:
    """Return why text cannot be a command, or nothing."""
    if len(text) > LONGEST_TEXT:
        return f"must not be longer than {LONGEST_TEXT:,} characters"
    if _NOT_IN_TEXT.search(text):
        return "must not contain control characters"
    return ""


def read_with(parse: Callable[[str | float], T], wanted: str) -> Callable[[Any], T]:
    """Turn a parser of `units` into a field validator."""

    def check(value: Any) -> T:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError(f"must be {wanted}")  # noqa: TRY004  Pydantic reports only ValueError
        try:
            return parse(value)
        except ArithmeticError:
            raise ValueError(f"must be {wanted}") from None

    return check


def _name(text: str) -> str:
    if fault := fault_of_name(text):
        raise ValueError(fault)
    return text


def _text(text: str) -> str:
    if fault := fault_of_text(text):
        raise ValueError(fault)
    return text


def _shell(text: str) -> str:
    if shell_name(_text(text)) not in SHELLS:
        known = ", ".join(sorted(SHELLS))
        raise ValueError(f"{text!r} is not a shell; use one of {known}, optionally with options, such as bash -e")
    return text


def _positive(value: int) -> int:
    if value <= 0:
        raise ValueError("must be greater than zero")
    return value


def _period(value: str | float) -> int:
    if isinstance(value, str) and value in _PERIODS:
        return _PERIODS[value]
    return parse_duration(value)


def _size(value: str | float) -> int:
    if isinstance(value, int) and 0 <= value <= LARGEST_SIZE:  # fast path: the usual case in files with many tasks
        return value
    return parse_size(value)


def _amount(value: Any) -> Any:
    return _SIZE(value) if isinstance(value, str) else value


def _price(value: str | float) -> str:
    parse_price(value, HOUR)
    return str(Decimal(str(value))) if isinstance(value, int | float) else value


DURATION = "x-duration"
"""Marks durations in a JSON Schema."""


def _described(types: list[str], description: str, examples: list[Any], **more: Any) -> WithJsonSchema:
    return WithJsonSchema({"type": types, "description": description, "examples": examples, **more})


def _length(description: str, examples: list[Any]) -> WithJsonSchema:
    return _described(["number", "string"], description, examples, **{DURATION: True})


_DURATION = read_with(parse_duration, "a duration such as 90, 90s or 1h30m")
_SIZE = read_with(_size, "a size such as 4096, 1.5GB or 512MiB")
_MONEY = read_with(parse_money, "an amount of money such as 12.50")

Name: TypeAlias = Annotated[
    str,
    AfterValidator(_name),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": LONGEST_NAME}),
]
ShellField: TypeAlias = Annotated[str, AfterValidator(_shell), WithJsonSchema({"type": "string"})]
Text: TypeAlias = Annotated[str, AfterValidator(_text), WithJsonSchema({"type": "string"})]
Count: TypeAlias = Annotated[int, Field(ge=0, le=LARGEST_COUNT)]
Positive: TypeAlias = Annotated[int, Field(ge=1, le=LARGEST_COUNT)]
Probability: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Factor: TypeAlias = Annotated[float, Field(gt=0, le=1e9)]
Deviation: TypeAlias = Annotated[float, Field(ge=0, le=100)]

DurationField: TypeAlias = Annotated[
    int,
    BeforeValidator(_DURATION),
    _length("Duration; a bare number means seconds.", [90, "90s", "1.5h", "1h30m"]),
]
PositiveDuration: TypeAlias = Annotated[
    int,
    AfterValidator(_positive),
    BeforeValidator(_DURATION),
    _length("Duration greater than zero; a bare number means seconds.", [60, "1m", "1h"]),
]
PeriodField: TypeAlias = Annotated[
    int,
    AfterValidator(_positive),
    BeforeValidator(read_with(_period, "hour, minute, second or a duration such as 10m")),
    _length("`hour`, `minute`, `second` or a duration.", ["hour", "minute", "10m"]),
]
SizeField: TypeAlias = Annotated[
    int,
    BeforeValidator(_SIZE),
    _described(["number", "string"], "Number of bytes.", [4096, "1.5GB", "512MiB"]),
]
AmountField: TypeAlias = Annotated[
    int,
    Field(ge=0, le=LARGEST_SIZE),
    BeforeValidator(_amount),
    _described(["integer", "string"], "Count, or size in bytes.", [4, "16GiB"]),
]
MoneyField: TypeAlias = Annotated[
    int,
    BeforeValidator(_MONEY),
    _described(["number", "string"], "Amount of money.", [100, "12.50"]),
]
PriceField: TypeAlias = Annotated[
    str,
    BeforeValidator(read_with(_price, "a price such as 5 or 0.085/h")),
    _described(["number", "string"], "Price per billing period, or per time.", [5, "0.085/h"]),
]
