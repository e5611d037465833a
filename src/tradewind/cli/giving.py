"""Format the outputs of a run for people."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson


def lines(outputs: Mapping[str, Any]) -> Iterator[str]:
    """Yield one line per output: text as it is, files as paths, other values as JSON."""
    for name, value in outputs.items():
        yield f"{name}: {value if isinstance(value, str) else orjson.dumps(value).decode()}"
