"""Prevent starvation: every waiting unit needs at least one machine that can run it.

The budget papers assume that every machine can run every task. If tasks require capabilities or amounts that only some
types offer, a profile of other types would leave them waiting forever.
"""

from collections.abc import Iterable, Sequence

from tradewind.model.units import Money


def with_capable(
    target: Sequence[int],
    groups: Iterable[frozenset[int]],
    prices: Sequence[Money],
    limits: Sequence[int],
    budget: Money,
) -> list[int]:
    """Raise a target so that each group of types has a machine, at the expense of others if the budget is short."""
    numbers = list(target)
    kept: set[int] = set()
    for group in sorted(groups, key=lambda group: (len(group), sorted(group))):  # groups with few options first
        if any(numbers[kind] for kind in group):
            kept |= {kind for kind in group if numbers[kind]} if len(group) == 1 else set()
            continue
        possible = [kind for kind in group if limits[kind] > 0 and prices[kind] <= budget]
        if possible:
            cheapest = min(possible, key=lambda kind: (prices[kind], kind))
            numbers[cheapest] = 1
            kept.add(cheapest)
    cost = sum(number * price for number, price in zip(numbers, prices, strict=True))
    for kind in sorted(range(len(numbers)), key=lambda kind: (-prices[kind], kind)):
        while cost > budget and numbers[kind] > (1 if kind in kept else 0):
            numbers[kind] -= 1
            cost -= prices[kind]
    return numbers
