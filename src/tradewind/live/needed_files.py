"""The files on this host that an attempt elsewhere needs: uploads of its submission and outputs of earlier steps.

They are found by their paths in the inputs of calls. A path counts if it leads into the folder of runs or of uploads
and something is there. Whether the run may read it is checked when it is fetched.
"""

import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from tradewind.live.folder import RUNS
from tradewind.live.order_json import Sent
from tradewind.live.port import Order
from tradewind.live.uploads import INPUTS
from tradewind.model.action import Derived, Json

MOST = 10_000
"""Files of one attempt."""


def needed_files(order: Order, root: str) -> tuple[Sent, ...]:
    """The files that an order names, below the folder of a server."""
    found: dict[str, None] = {}
    for call in order.calls:
        for text in _texts(call.inputs):
            if root in text:
                found |= dict.fromkeys(_paths(text, root))
    return tuple(sent for path in found for sent in _sent(path))[:MOST]


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Derived):
        yield from _texts(value.names)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)


def _paths(text: str, root: str) -> Iterator[str]:
    """The whole text, if it is a path; else the paths in it, as far as they have no blanks and quotes."""
    is_path = _inside(root).match(text) and Path(text).exists()
    candidates = [text] if is_path else _inside(root).findall(text)
    yield from (path for path in candidates if ".." not in Path(path).parts and Path(path).exists())


@lru_cache(4)
def _inside(root: str) -> "re.Pattern[str]":
    return re.compile(rf"{re.escape(root)}/(?:{RUNS}|{INPUTS})/[^\s'\",;:]+")


def _sent(path: str) -> Iterator[Sent]:
    place = Path(path)
    try:
        status = place.stat()
    except OSError:
        return
    if S_ISREG(status.st_mode):
        yield Sent(path, place.name, status.st_size)
    elif S_ISDIR(status.st_mode):
        for folder, folders, files in os.walk(place):
            folders.sort()
            for name in sorted(files):
                file = Path(folder) / name
                if file.is_file():
                    yield Sent(path, file.relative_to(place.parent).as_posix(), file.stat().st_size)
