"""What is remembered of late, and not for ever: a driver may live for years."""

from typing import Generic, TypeVar

MOST = 1_000
"""How many things of a kind are remembered."""

_Value = TypeVar("_Value")


class Latest(dict[int, _Value], Generic[_Value]):
    """Values by number, of which the oldest are forgotten."""

    def __setitem__(self, number: int, value: _Value) -> None:
        super().__setitem__(number, value)
        while len(self) > MOST:
            del self[next(iter(self))]
