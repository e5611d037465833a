"""The chains of a program that have not finished: some at hand, the others made anew whenever they are asked for."""

from collections.abc import Iterator

from tradewind.core.chains.chain import Chain
from tradewind.core.chains.generator import Generator

AT_HAND = 4_000
"""How many chains are held; more of them wait than are at work, and to make one takes less than to run it."""


class OpenChains:
    """Open chains by id; what else than the generator's is to be run for one is held as long as it is open."""

    __slots__ = ("_at_hand", "_generator", "_replaced")

    def __init__(self) -> None:
        self._generator: Generator | None = None
        self._at_hand: dict[str, Chain] = {}
        self._replaced: dict[str, Chain] = {}

    def follow(self, generator: Generator) -> None:
        """Hold the chains of a program."""
        self._generator = generator

    def __contains__(self, id: str) -> bool:
        return id in self._replaced or (self._generator is not None and id in self._generator.open)

    def __iter__(self) -> Iterator[str]:
        yield from () if self._generator is None else self._generator.open

    def __getitem__(self, id: str) -> Chain:
        found = self._replaced.get(id) or self._at_hand.get(id)
        if found is None:
            if self._generator is None:
                raise KeyError(id)
            found = self._generator.chain(id)
            self.hold(found)
        return found

    def get(self, id: str) -> Chain | None:
        """A chain; None: it is not open."""
        try:
            return self[id]
        except KeyError:
            return None

    def values(self) -> Iterator[Chain]:
        """All of them."""
        return (self[id] for id in self)

    def hold(self, chain: Chain) -> None:
        """Have a chain at hand that was just made, if there is room."""
        if len(self._at_hand) < AT_HAND:
            self._at_hand[chain.id] = chain

    def replace(self, chain: Chain) -> None:
        """Run this for the chain of the same id."""
        self._replaced[chain.id] = chain

    def drop(self, id: str) -> None:
        """A chain is open no longer."""
        self._at_hand.pop(id, None)
        self._replaced.pop(id, None)
