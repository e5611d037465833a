"""How much a chain reads, as far as that can be seen before it runs: run times are learned by input size."""

import os
from collections.abc import Iterable
from stat import S_ISREG

from tradewind.core.chains.chain import Chain, task_of
from tradewind.model.action import Json
from tradewind.model.workflow import File, Task

MOST = 1_000
"""So many files of a chain are looked at."""


def sized_task_of(chain: Chain) -> Task:
    """A chain as the core sees it, with the bytes that it reads from files that are there already."""
    paths: list[str] = []
    for call in chain.calls:
        if call.inputs:
            _collect(call.inputs.values(), paths)
    size = sum(map(_size, paths[:MOST])) if paths else 0
    return task_of(chain, (File("inputs", size),)) if size else task_of(chain)


def _collect(values: Iterable[Json], paths: list[str]) -> None:
    """Add what could be a file, anywhere inside of values."""
    for value in values:
        kind = type(value)  # several times as fast as isinstance, and JSON has no other types
        if kind is str:
            if value[:1] == "/":
                paths.append(value)
        elif kind is list:
            _collect(value, paths)
        elif kind is dict:
            _collect(value.values(), paths)


def _size(path: str) -> int:
    try:
        found = os.stat(path)  # noqa: PTH116 - a third of the time
    except (OSError, ValueError):
        return 0
    return found.st_size if S_ISREG(found.st_mode) else 0
