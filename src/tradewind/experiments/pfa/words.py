"""Format numbers for the report."""

from collections.abc import Mapping, Sequence

from tradewind.experiments.pfa.settings import MAIN, Setting, Variant


def percent(share: float, digits: int = 0) -> str:
    """Format a fraction as a percentage: `46%`."""
    return f"{share:.{digits}%}"


def percents(shares: Sequence[float]) -> str:
    """Format the range of some fractions: `5 to 14%`."""
    low, high = percent(min(shares)), percent(max(shares))
    return low if low == high else f"{low.removesuffix('%')} to {high}"


def span(values: Sequence[float]) -> str:
    """Format the range of some values: `2.37 to 2.38`."""
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low} to {high}"


def by_policy(shares: Mapping[tuple[Setting, Variant], float], setting: Setting, digits: int = 0) -> str:
    """Format the fractions of the main policies in a setting."""
    return ", ".join(f"{variant.label} {percent(shares[setting, variant], digits)}" for variant in MAIN)


def sentence(parts: Sequence[str]) -> str:
    """Join remarks into one sentence; return nothing if there are none."""
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""
