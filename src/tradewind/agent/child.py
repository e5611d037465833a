"""Runs a Python function over the chunks of a partition: `python -m tradewind.agent.child module:function`.

With `--inputs` first, the job's input data are keyword arguments of the function, as JSON.
"""

import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from tradewind.agent.sdk import Iterations


def main(where: str, *, takes_inputs: bool = False) -> None:
    """Call the function with each chunk, a `range`, and deliver what it returns."""
    work = function(where)
    with Iterations() as chunks:
        given = json.loads(Path(chunks.input).read_bytes()) if takes_inputs and chunks.input else {}
        for chunk in chunks:
            chunks.deliver(work(chunk, **given))


def function(where: str) -> Callable[..., Any]:
    """The function of a name such as `module:function`, with modules of this folder at hand."""
    module, _, name = where.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    found: Any = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    made: Callable[..., Any] = found
    return made


if __name__ == "__main__":
    main(sys.argv[-1], takes_inputs="--inputs" in sys.argv[1:-1])
