"""What workers run in the live part: so many iterations a second, with noise, and a sum that can be checked."""

import os
import random
import time

from tradewind.worker.sdk import Iterations


def added(one: list[int], other: list[int]) -> list[int]:
    """Two results as one."""
    return [left + right for left, right in zip(one, other, strict=True)]


def main() -> None:
    """Wait as long as the iterations would take; deliver how many there were, and the sum of their numbers."""
    speed = float(os.environ["TASCAAS_SPEED"])
    spread = float(os.environ.get("TASCAAS_SPREAD", "0"))
    chance = random.Random(os.getpid())
    with Iterations(combine=added) as chunks:
        for chunk in chunks:
            time.sleep(len(chunk) / speed / max(0.2, chance.gauss(1, spread)))
            chunks.deliver([len(chunk), (chunk.start + chunk.stop - 1) * len(chunk) // 2])


if __name__ == "__main__":
    main()
