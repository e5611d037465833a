"""The program of the live part: a given number of iterations a second, with noise, and a sum that can be checked."""

import os
import random
import time
from pathlib import Path
from typing import Any

from tradewind.agent.sdk import Iterations


class Timed(Iterations):
    """Iterations whose reports are timed, each in a line of a file of this process."""

    def _post(self, verb: str, body: Any) -> Any:
        began = time.perf_counter()
        answer = super()._post(verb, body)
        if verb == "report":
            with (Path(os.environ["TASCAAS_TIMES"]) / str(os.getpid())).open("a") as file:
                file.write(f"{time.perf_counter() - began:.6f}\n")
        return answer


def added(one: list[int], other: list[int]) -> list[int]:
    """Two results as one."""
    return [left + right for left, right in zip(one, other, strict=True)]


def main() -> None:
    """Wait as long as the iterations would take; deliver how many there were, and the sum of their numbers."""
    speed = float(os.environ["TASCAAS_SPEED"])
    spread = float(os.environ.get("TASCAAS_SPREAD", "0"))
    chance = random.Random(os.getpid())
    with Timed(combine=added) as chunks:
        for chunk in chunks:
            time.sleep(len(chunk) / speed / max(0.2, chance.gauss(1, spread)))
            chunks.deliver([len(chunk), (chunk.start + chunk.stop - 1) * len(chunk) // 2])


if __name__ == "__main__":
    main()
