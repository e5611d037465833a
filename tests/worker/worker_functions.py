"""What workers call in tests."""

import time


def square_sum(chunk: range) -> int:
    time.sleep(0.0005 * len(chunk))
    return sum(number * number for number in chunk)


def summed(chunk: range) -> dict[str, int]:
    """How many there are, and their sum."""
    return {"n": len(chunk), "total": sum(chunk)}


def added(results: list[dict[str, int]]) -> dict[str, int]:
    """Results of `summed` as one."""
    return {name: sum(each[name] for each in results) for name in ("n", "total")}
