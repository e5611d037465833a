"""What a run gives, in lines for people."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson


def lines(outputs: Mapping[str, Any]) -> Iterator[str]:
    """Outputs by name, files by where they are; text as it is, other values as JSON."""
    for name, value in outputs.items():
        yield f"{name}: {value if isinstance(value, str) else orjson.dumps(value).decode()}"
