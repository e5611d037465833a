"""What the steps of a replayed recording do: nothing, for as long as it took, or work for nothing."""

import time


def sleep(seconds: float) -> None:
    """Wait."""
    time.sleep(seconds)


def burn(seconds: float) -> None:
    """Use a processor for so many seconds of its time."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for _ in range(1000):
            pass
