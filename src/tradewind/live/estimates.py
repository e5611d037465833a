"""Run times and boot lags that were learned in a folder, for whoever wants to plan with them."""

from collections.abc import Callable
from pathlib import Path

from tradewind.core.estimates import Learned
from tradewind.live.folder import store_of
from tradewind.live.store import coding
from tradewind.live.store.readers import Readers
from tradewind.live.store.statements import ALL_MEMORIES


def learned_in(folder: Path, warn: Callable[[str], None] = lambda _: None) -> Learned:
    """What sessions have learned in a folder, to be read only; nothing if there were none."""
    learned = Learned(warn=warn)
    where = store_of(folder)
    if isinstance(where, str) or where.exists():
        readers = Readers(where if isinstance(where, str) else f"sqlite:///{where}")
        try:
            learned.load(coding.values_of(readers.fetch(ALL_MEMORIES)))
        finally:
            readers.close()
    return learned
