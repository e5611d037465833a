"""A server whose machines run nothing: `python -m benchmarks.idle_server server --port N --folder F`.

What shares would be told is written to the file `orders` instead, one line each, for whoever plays their programs.
"""

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tradewind.cli import main as cli
from tradewind.live.engines.fake import FakeEngine
from tradewind.live.port import Expected, Listener, Order, Report
from tradewind.server import app


class IdleEngine(FakeEngine):
    """Has machines at once, and starts nothing."""

    folder = Path()

    def __init__(self, listener: Listener) -> None:
        super().__init__(listener, soon=asyncio.get_running_loop().call_soon)

    def start(self, orders: Sequence[Order]) -> None:
        """Write down what programs would be told."""
        with (self.folder / "orders").open("a") as file:
            file.writelines(f"{json.dumps(order.share[:2])}\n" for order in orders if order.share is not None)

    def check(self, expected: Mapping[int, Expected]) -> list[Report]:  # noqa: ARG002
        """Nothing is ever missing."""
        return []


def main(folder: str) -> None:
    """Serve until it is ended."""
    IdleEngine.folder = Path(folder)
    prepared = app.prepared
    app.prepared = lambda settings, say: prepared(settings, say, IdleEngine)  # type: ignore[assignment,misc]
    cli()


if __name__ == "__main__":
    main(sys.argv[sys.argv.index("--folder") + 1])
