"""The price of a European call option by Monte Carlo: a divisible program with an answer that can be checked.

Each iteration is one path of the share price. Its randomness is a hash of its number, and payoffs are rounded to
millionths, so that the sum is the same to the last digit whoever does which iterations in whatever order; the price
has to agree with the formula of Black and Scholes.

By hand:            python option.py 1000000
On a server:        tradewind submit --iterations 20000000 --reduce sum -- python option.py
As a step, here:    tradewind run price.yaml
"""

import math
import os
import sys
import time

import numpy as np
from numpy.typing import NDArray

import tradewind

SHARE, STRIKE, RATE, VOLATILITY, YEARS = 100.0, 105.0, 0.03, 0.2, 1.0
DISCOUNT = math.exp(-RATE * YEARS)


def uniform(numbers: NDArray[np.uint64], stream: int) -> NDArray[np.float64]:
    """A number between 0 and 1 for each iteration, by the finaliser of splitmix64."""
    with np.errstate(over="ignore"):
        mixed = (numbers * np.uint64(2) + np.uint64(stream)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return ((mixed >> np.uint64(11)).astype(np.float64) + 0.5) / 2**53


def payoffs(begin: int, end: int) -> dict[str, int]:
    """How many paths, and what they pay together, in millionths."""
    numbers = np.arange(begin, end, dtype=np.uint64)
    normal = np.sqrt(-2 * np.log(uniform(numbers, 0))) * np.cos(2 * np.pi * uniform(numbers, 1))
    drift = (RATE - VOLATILITY**2 / 2) * YEARS
    share = SHARE * np.exp(drift + VOLATILITY * math.sqrt(YEARS) * normal)
    paid = np.maximum(share - STRIKE, 0.0) * DISCOUNT
    return {"paths": end - begin, "paid": int(np.rint(paid * 1e6).astype(np.int64).sum())}


def paid(chunk: range) -> dict[str, int]:
    """The same for a chunk, as a divisible step calls it."""
    return payoffs(chunk.start, chunk.stop)


def formula() -> float:
    """The price by Black and Scholes."""
    spread = VOLATILITY * math.sqrt(YEARS)
    first = (math.log(SHARE / STRIKE) + (RATE + VOLATILITY**2 / 2) * YEARS) / spread
    return SHARE * _normal(first) - STRIKE * DISCOUNT * _normal(first - spread)


def _normal(x: float) -> float:
    return (1 + math.erf(x / math.sqrt(2))) / 2


def joined(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    """Two results as one."""
    return {name: one[name] + other[name] for name in one}


def main() -> None:
    """Do what there is to do; `OPTION_PAUSE` (seconds for a thousand paths) plays a slow machine."""
    total = int(sys.argv[1]) if len(sys.argv) > 1 else None
    pause = float(os.environ.get("OPTION_PAUSE", "0"))
    with tradewind.iterations(total=total, combine=joined) as chunks:
        for chunk in chunks:
            chunks.deliver(payoffs(chunk.start, chunk.stop))
            time.sleep(pause * len(chunk) / 1000)
    if chunks.results:
        found = {"paths": 0, "paid": 0}
        for result in chunks.results:
            found = joined(found, result)
        price = found["paid"] / found["paths"] / 1e6
        print(f"{price:.4f} from {found['paths']:,} paths; exact {formula():.4f}")  # noqa: T201  for people


if __name__ == "__main__":
    main()
