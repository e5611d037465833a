"""Resource profiles: the number of machines of each type that a budget pays for, scaled to the demand.

Sections 3.3.1 (step 2) and 3.3.3 of the PFA paper, equations 10 to 12 and 18. The paper assumes that the budget pays
for one machine of each type; if it does not, the most expensive types are dropped until it does.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil

from tradewind.model.units import Money


def supply(budget: Money, prices: Sequence[Money], ratios: Sequence[float], limits: Sequence[int]) -> list[int]:
    """Return the number of machines of each type that the budget pays for in the given proportion."""
    kept = _within(budget, prices)
    cost = sum(prices[i] * ratios[i] for i in kept)
    profile = [0] * len(prices)
    for i in kept:
        if prices[i] == 0 or cost == 0:
            profile[i] = limits[i]
        else:
            # The budget in proportion, but never more than it pays for of this type alone.
            profile[i] = min(int(budget * ratios[i] / cost), budget // prices[i], limits[i])
    return profile


def scale_down(profile: Sequence[int], demand: int) -> list[int]:
    """Shrink a profile to a demand in proportion (equation 18)."""
    total = sum(profile)
    return [ceil(demand * number / total) for number in profile] if total > demand else list(profile)


def inflate(
    profile: Sequence[int], demand: int, budget: Money, prices: Sequence[Money], limits: Sequence[int]
) -> list[int]:
    """Raise the number of machines to a demand: buy cheap types with the rest, then trade expensive for cheap ones."""
    order = sorted(range(len(prices)), key=lambda i: (prices[i], i))
    numbers = list(profile)
    left = budget - sum(number * price for number, price in zip(numbers, prices, strict=True))
    total = sum(numbers)
    # Every type but the most expensive: what is left buys more machines of the cheaper ones.
    for i in order[:-1]:
        added = min(demand - total, limits[i] - numbers[i], left // prices[i] if prices[i] else demand)
        if added > 0:
            numbers[i] += added
            total += added
            left -= added * prices[i]
    for cheaper, dearer in pairwise(order):
        while total < demand and numbers[dearer] > 0:
            freed = left + prices[dearer]
            added = min(
                freed // prices[cheaper] if prices[cheaper] else demand,
                limits[cheaper] - numbers[cheaper],
                demand - total + 1,
            )
            # One for one gains nothing.
            if added <= 1:
                break
            numbers[dearer] -= 1
            numbers[cheaper] += added
            total += added - 1
            left = freed - added * prices[cheaper]
    return numbers


def most_machines(budget: Money, prices: Sequence[Money], limits: Sequence[int]) -> int:
    """Return an upper bound on the machines that budget and limits allow: a larger demand changes nothing."""
    bounds = zip(prices, limits, strict=True)
    return 1 + sum(max(0, min(limit, budget // price if price else limit)) for price, limit in bounds)


def _within(budget: Money, prices: Sequence[Money]) -> list[int]:
    """Return the types that the budget can pay for, one machine each, dropping the most expensive first."""
    kept = sorted(range(len(prices)), key=lambda i: (prices[i], i))
    # Sorted by price, so the last one is the most expensive.
    while kept and sum(prices[i] for i in kept) > budget:
        kept.pop()
    return kept
