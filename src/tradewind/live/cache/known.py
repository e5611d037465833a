"""What the cache tells of a chain, and whom it speaks to."""

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from tradewind.core.chains.chain import Chain
from tradewind.live.store.rows import CacheRow
from tradewind.model.action import Json

Results: TypeAlias = Mapping[str, Mapping[str, Json]]
"""Outputs by call."""


class Known(NamedTuple):
    """What is known of a chain beforehand."""

    results: dict[str, dict[str, Json]]
    """Of its first calls."""
    rest: Chain
    """What is left to be run; without calls if nothing is."""
    rows: tuple[CacheRow, ...] = ()
    """Of the cache, as they are from now on."""
    source: str = ""
    """The run that had the results of the first call before."""


class Place(NamedTuple):
    """Whose calls they are."""

    tenant: str
    program: str
    run: str
    folder: str
    """Of the run."""
