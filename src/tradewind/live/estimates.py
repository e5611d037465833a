"""Run times that sessions and servers learn, kept in a file of their folder from one to the next."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import orjson

from tradewind.core.estimates import Learned

ESTIMATES = "estimates.json"


@contextmanager
def learned_in(folder: Path, warn: Callable[[str], None] = lambda _: None) -> Iterator[Learned]:
    """What was learned in a folder; what is learned now is written there at the end."""
    path = folder / ESTIMATES
    learned = Learned(warn=warn)
    with suppress(OSError, ValueError, KeyError, TypeError):  # a file that cannot be read is as good as none
        learned.load(orjson.loads(path.read_bytes()))
    yield learned
    saved = learned.save()
    if saved:
        fresh = path.with_suffix(".new")
        fresh.write_bytes(orjson.dumps(saved))
        fresh.replace(path)
