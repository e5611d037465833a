"""What workers call in tests."""

import time


def square_sum(chunk: range) -> int:
    time.sleep(0.0005 * len(chunk))
    return sum(number * number for number in chunk)
