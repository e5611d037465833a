"""The balancers by name: our own, and those that other packages ship under `tradewind.balancers`."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib.metadata import entry_points
from typing import TypeAlias

from tradewind.model.units import Duration
from tradewind.policies.divisible.original import Original
from tradewind.policies.divisible.protocol import Balancer
from tradewind.policies.divisible.ruper import Ruper
from tradewind.policies.divisible.static import Static

GROUP = "tradewind.balancers"
Make: TypeAlias = Callable[[Duration], Balancer]
"""Makes a balancer, given the shortest time between two reports."""


class Balancers(Mapping[str, Make]):
    """All that are installed; other packages are only asked when a name is not one of ours."""

    _OURS: Mapping[str, Make] = {"ruper": Ruper, "ruper-original": Original, "static": Static}

    @cached_property
    def _all(self) -> dict[str, Make]:
        others = {point.name: point.load() for point in entry_points(group=GROUP)}
        return dict(sorted({**others, **self._OURS}.items()))

    def __getitem__(self, name: str) -> Make:
        return self._OURS.get(name) or self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


BALANCERS = Balancers()
