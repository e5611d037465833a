"""Time, money and sizes as integers, and their text forms.

Time is counted in microseconds and money in millionths of the user's currency, so that sums are exact, intervals have
sharp edges and equal seeds give equal bytes. The names below are aliases: they document the meaning of a number without
a call in the simulator's hottest loop.
"""

import re
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from fractions import Fraction

Time: TypeAlias = int
"""Microseconds since the driver's epoch."""

Duration: TypeAlias = int
"""Microseconds."""

Money: TypeAlias = int
"""Millionths of the user's currency."""

Price: TypeAlias = "int | Fraction"
"""Money for one billing period; a fraction if it is not a whole number of millionths."""

SECOND: Duration = 1_000_000
MINUTE: Duration = 60 * SECOND
HOUR: Duration = 60 * MINUTE
DAY: Duration = 24 * HOUR

UNIT: Money = 1_000_000
"""One unit of the user's currency."""

_DURATIONS = {
    "us": 1,
    "ms": 1_000,
    "s": SECOND,
    "sec": SECOND,
    "second": SECOND,
    "seconds": SECOND,
    "m": MINUTE,
    "min": MINUTE,
    "minute": MINUTE,
    "minutes": MINUTE,
    "h": HOUR,
    "hour": HOUR,
    "hours": HOUR,
    "d": DAY,
    "day": DAY,
    "days": DAY,
}
_SIZES = {"": 1, "B": 1} | {
    prefix + suffix: base**power
    for power, letter in enumerate("KMGTP", start=1)
    for prefix, suffix, base in ((letter, "", 1000), (letter, "B", 1000), (letter, "i", 1024), (letter, "iB", 1024))
}
_LARGEST = 10**18
_FINEST = -30
"""The smallest exponent of a price."""
"""About 30,000 years, a trillion units of money or an exabyte: larger values are typing errors."""


def seconds(value: float) -> Duration:
    """Convert seconds to the nearest whole microseconds."""
    return round(value * SECOND)


def in_seconds(duration: Duration) -> float:
    """Convert a duration to seconds, for people and files."""
    return duration / SECOND


def money(value: float) -> Money:
    """Convert an amount of the user's currency to the nearest whole micro-units."""
    return round(value * UNIT)


def in_units(amount: Money) -> float:
    """Convert money to the user's currency, for people and files."""
    return amount / UNIT


def parse_duration(text: str | float) -> Duration:
    """Parse `90`, `90s`, `1.5h` or `1h30m`; a bare number means seconds."""
    if isinstance(text, int | float):
        return _bounded(Decimal(str(text)) * SECOND, text)
    compact = text.replace(" ", "")
    if re.fullmatch(r"[0-9.eE+-]+", compact):
        return _bounded(_decimal(compact, "a duration such as 90, 90s or 1h30m", text) * SECOND, text)
    parts = re.findall(r"([0-9.]+)([A-Za-z]+)", compact)
    if not parts or "".join(number + unit for number, unit in parts) != compact:
        raise ValueError(f"{text!r} is not a duration such as 90, 90s or 1h30m")
    total = Decimal(0)
    for number, unit in parts:
        if unit not in _DURATIONS:
            raise ValueError(f"{text!r}: unknown unit of time {unit!r}; use us, ms, s, m, h or d")
        total += _decimal(number, "a duration such as 90, 90s or 1h30m", text) * _DURATIONS[unit]
    return _bounded(total, text)


def parse_money(text: str | float) -> Money:
    """Parse an amount of money such as `12.50`."""
    return _bounded(_decimal(str(text).strip(), "an amount of money such as 12.50", text) * UNIT, text)


def parse_price(text: str | float, period: Duration) -> Price:
    """Parse `0.085/h` (converted to the billing period, exactly) or a bare amount per billing period."""
    from fractions import Fraction  # noqa: PLC0415 - seldom needed

    if isinstance(text, str) and "/" in text:
        amount, _, per = text.partition("/")
        per = per.strip()
        span = _DURATIONS.get(per) or parse_duration(per)
        if span <= 0:
            raise ValueError(f"{text!r} is not a price such as 0.085/h")
        value = _decimal(amount.strip(), "a price such as 5 or 0.085/h", text)
    else:
        value, span = _decimal(str(text).strip(), "a price such as 5 or 0.085/h", text), period
    _bounded(value * UNIT * period / span, text)
    if value < 0:
        raise ValueError(f"{text!r} is negative")
    if int(value.as_tuple().exponent) < _FINEST:
        raise ValueError(f"{text!r} has too many decimal places")
    return price_for(Fraction(value) * UNIT, span, period)


def price_for(amount: "int | Fraction", span: Duration, period: Duration) -> Price:
    """Return the price of a period if a span costs an amount; an integer if possible, because integers are faster."""
    from fractions import Fraction  # noqa: PLC0415 - seldom needed

    price = Fraction(amount) * period / span
    return price.numerator if price.denominator == 1 else price


def parse_size(text: str | float) -> int:
    """Parse a number of bytes such as `4096`, `1.5GB` or `512Mi`."""
    if isinstance(text, int | float):
        return _bounded(Decimal(str(text)), text)
    match = re.fullmatch(r"\s*([0-9.eE+-]+)\s*([A-Za-z]*)\s*", text)
    if match is None or match[2] not in _SIZES:
        raise ValueError(f"{text!r} is not a size such as 4096, 1.5GB or 512MiB")
    return _bounded(_decimal(match[1], "a size such as 4096, 1.5GB or 512MiB", text) * _SIZES[match[2]], text)


def show_duration(duration: Duration) -> str:
    """Format a duration: `850ms`, `4.2s`, `3m20s`, `5h02m`, `2d03h`."""
    if duration < 0:
        return "-" + show_duration(-duration)
    if duration < SECOND:
        return f"{duration / 1000:.0f}ms" if duration >= 10_000 else f"{duration / 1000:.3g}ms"
    if duration < MINUTE:
        return f"{duration / SECOND:.3g}s"
    if duration < HOUR:
        minutes, rest = divmod(round(duration / SECOND), 60)
        return f"{minutes}m{rest:02d}s" if minutes < 60 else "1h00m"
    if duration < DAY:
        hours, rest = divmod(round(duration / MINUTE), 60)
        return f"{hours}h{rest:02d}m"
    days, rest = divmod(round(duration / HOUR), 24)
    return f"{days}d{rest:02d}h"


def show_money(amount: Money) -> str:
    """Format money without needless digits: `12`, `12.5`, `0.000123`."""
    text = f"{amount / UNIT:.6f}".rstrip("0").rstrip(".")
    return text or "0"


def show_size(size: int) -> str:
    """Format a number of bytes: `512MB`, `1.5GB`."""
    for unit, factor in (("PB", 10**15), ("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if size >= factor:
            return f"{size / factor:.4g}{unit}"
    return f"{size}B"


def _decimal(number: str, wanted: str, text: object) -> Decimal:
    try:
        return Decimal(number)
    except InvalidOperation:
        raise ValueError(f"{text!r} is not {wanted}") from None


def _bounded(value: Decimal, text: object) -> int:
    if not value.is_finite() or abs(value) > _LARGEST:
        raise ValueError(f"{text!r} is too large")
    whole = int(value.to_integral_value(rounding=ROUND_HALF_EVEN))
    if whole < 0:
        raise ValueError(f"{text!r} is negative")
    return whole
