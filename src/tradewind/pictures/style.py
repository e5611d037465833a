"""The style of pictures: colours that are distinguishable with any colour vision, and one colour per thing.

The hues are those of Okabe and Ito. Machine types are shades of one blue, from light to dark in the order of the
scenario, so that a stack of them reads as one quantity.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

BLACK, GREY, PALE = "#1a1a1a", "#6b6b6b", "#d9d9d9"
BLUE, ORANGE, GREEN, PINK, SKY, RED, YELLOW = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#d55e00",
    "#f0e442",
)

DEMAND, BUSY, BUDGET = RED, BLACK, RED

_POLICIES = MappingProxyType(
    {"pfa": BLUE, "plf": ORANGE, "scf": GREEN, "demand": PINK, "fixed": GREY, "optimum": BLACK},
)
_OTHERS = (SKY, RED, YELLOW, BLUE, ORANGE, GREEN, PINK)
_SHADES = ("#a6cee3", "#4f9bcb", "#1f5f99", "#0b2f5b")
_MORE_SHADES = ("#c7e9c0", "#74c476", "#238b45", "#00441b")

SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "figure.dpi": 120,
        "savefig.dpi": 150,
        "font.family": "DejaVu Sans",  # ships with matplotlib, so that pictures are the same everywhere
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.titlelocation": "left",
        "axes.titleweight": "bold",
        "axes.labelsize": 9,
        "axes.edgecolor": GREY,
        "axes.labelcolor": BLACK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.grid.axis": "y",
        "axes.axisbelow": True,
        "grid.color": PALE,
        "grid.linewidth": 0.6,
        "xtick.color": GREY,
        "ytick.color": GREY,
        "xtick.labelcolor": BLACK,
        "ytick.labelcolor": BLACK,
        "legend.frameon": False,
        "legend.fontsize": 9,
        "lines.linewidth": 1.2,
        "svg.hashsalt": "tradewind",  # the same picture, the same bytes
        "svg.fonttype": "path",
    }
)


def policy_colour(name: str, place: int = 0) -> str:
    """Return the colour of a policy by the first word of its label; others by their position."""
    return _POLICIES.get(name.lower().split(" ")[0], _OTHERS[place % len(_OTHERS)])


def type_colours(count: int) -> list[str]:
    """Return a shade for each machine type; with more than four, some in green."""
    spread = {1: (1,), 2: (0, 2), 3: (0, 1, 2)}.get(count)
    if spread is not None:
        return [_SHADES[index] for index in spread]
    shades = (*_SHADES, *_MORE_SHADES)
    return [shades[index % len(shades)] for index in range(count)]
