"""From the results of a divisible job to one: what is built in, a command, or a Python function.

A command finds the names of files on its standard input, one per line, in the order of iterations: `.json` files for
results that were delivered as values, others for those that were uploaded. What it prints is the result. A function is
called with the list of results, values or paths, and what it returns is the result as JSON:
`python -m tradewind.worker.reducing module:function`.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from tradewind.live.divisible.words import SHELL, at_home, homes
from tradewind.worker.child import function


class ReduceError(Exception):
    """A reducer that failed."""


def command_of(reducer: str, reduce: str) -> list[str]:
    """What runs a reducer that is not built in."""
    if reducer == "run":
        return [SHELL, "-c", at_home(reduce, homes())]
    return [sys.executable, "-m", "tradewind.worker.reducing", reduce]


def lay_out(results: Iterable[Any], read: Callable[[str], bytes], folder: Path) -> list[Path]:
    """Write results to files, in their order; `read` finds those that were uploaded."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for number, result in enumerate(results):
        if "object" in result:
            file = folder / f"{number:08}"
            file.write_bytes(read(result["object"]))
        else:
            file = folder / f"{number:08}.json"
            file.write_text(json.dumps(result["inline"]))
        files.append(file)
    return files


def reduce_files(command: Sequence[str], files: Sequence[Path], folder: Path) -> bytes:
    """Run a reducer over files; what it printed."""
    names = "".join(f"{file.absolute()}\n" for file in files)
    done = subprocess.run(  # noqa: S603  that is what it is for
        list(command), input=names.encode(), cwd=folder, capture_output=True, check=False
    )
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise ReduceError(f"the reducer ended with code {done.returncode}: {said[-1][:300] if said else 'no word'}")
    return done.stdout


def main(where: str) -> None:
    """Call a function with the results whose files are named on standard input; print what it returns as JSON."""
    reduce = function(where)
    names = [Path(line) for line in sys.stdin.read().splitlines()]
    results = [json.loads(name.read_bytes()) if name.suffix == ".json" else name for name in names]
    printed, sys.stdout = sys.stdout, sys.stderr  # what it prints itself is no result
    printed.write(json.dumps(reduce(results)))


if __name__ == "__main__":
    main(sys.argv[-1])
