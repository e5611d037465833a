"""Draw distributions side by side as violins, with their medians (lines) and means (crosses, as in the PFA paper)."""

from collections.abc import Sequence
from math import log10
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, NamedTuple

from tradewind.pictures.style import BLACK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH = 0.84


class Violin(NamedTuple):
    """One distribution; there must be at least one value."""

    label: str
    values: Sequence[float]
    colour: str


def draw_violins(axes: "Axes", violins: Sequence[Violin], *, logarithmic: bool = False) -> None:
    """Draw violins from left to right; on a logarithmic axis all values must be greater than zero."""
    places = list(range(len(violins)))
    shown = [[log10(value) for value in each.values] if logarithmic else list(each.values) for each in violins]
    bodies: Any = axes.violinplot(shown, places, widths=_WIDTH, showextrema=False)["bodies"]
    for body, violin in zip(bodies, violins, strict=True):
        body.set(facecolor=violin.colour, edgecolor=violin.colour, alpha=0.65, linewidth=0.8)
    for place, violin in zip(places, violins, strict=True):
        middle, mean = median(violin.values), fmean(violin.values)
        if logarithmic:
            middle, mean = log10(middle), log10(mean)
        axes.plot([place - 0.2, place + 0.2], [middle, middle], color=BLACK, linewidth=1.4)
        axes.plot(place, mean, marker="x", color=BLACK, markersize=5.5, markeredgewidth=1.3)
    axes.set_xticks(places, [violin.label for violin in violins])
    axes.set_xlim(-0.6, len(violins) - 0.4)
    if logarithmic:
        _mark_powers(axes, min(map(min, shown)), max(map(max, shown)))


def _mark_powers(axes: "Axes", low: float, high: float) -> None:
    """Set ticks at the logarithms of 1, 2, 5, 10 and so on."""
    marks = [(digit, power) for power in range(int(low) - 2, int(high) + 2) for digit in (1, 2, 5)]
    kept = [(log10(digit) + power, digit * 10.0**power) for digit, power in marks]
    kept = [(place, value) for place, value in kept if low - 0.1 <= place <= high + 0.15]
    axes.set_yticks([place for place, _ in kept], [f"{value:g}" for _, value in kept])
