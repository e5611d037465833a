"""Runs a Python function over the chunks of a partition: `python -m tradewind.worker.child module:function`."""

import sys
from importlib import import_module
from pathlib import Path

from tradewind.worker.sdk import Iterations


def main(where: str) -> None:
    """Call the function with each chunk, a `range`, and deliver what it returns."""
    module, _, name = where.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    work = getattr(import_module(module), name)
    with Iterations() as chunks:
        for chunk in chunks:
            chunks.deliver(work(chunk))


if __name__ == "__main__":
    main(sys.argv[1])
