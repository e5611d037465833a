"""The canvas of pictures, and the only module that loads matplotlib.

Figures are created without `pyplot`, so that there is no global state and no display is needed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tradewind.pictures.style import SETTINGS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TIMELESS: dict[str, dict[str, Any]] = {
    "svg": {"Date": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None},
}
"""By format, the metadata to leave out so that the same picture gives the same bytes."""


def load_matplotlib() -> Any:
    """Import matplotlib, or explain how to install it."""
    try:
        import matplotlib as mpl  # noqa: PLC0415  # an extra, and slow to load
    except ImportError:
        raise ValueError("pictures need matplotlib: pip install 'tradewind[plot]'") from None
    return mpl


def picture_format(path: Path) -> str:
    """Return `svg`, `png` or `pdf`, by the suffix of the file."""
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in _TIMELESS:
        raise ValueError(f"{path}: the name of a picture must end in .svg, .png or .pdf")
    return suffix


@contextmanager
def canvas(path: Path, width: float, height: float) -> "Iterator[Figure]":
    """Yield a figure of a size in inches, and write it to the file afterwards."""
    kind = picture_format(path)
    with load_matplotlib().rc_context(dict(SETTINGS)):
        from matplotlib.figure import Figure  # noqa: PLC0415

        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format=kind, metadata=_TIMELESS[kind])
