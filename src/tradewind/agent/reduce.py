"""Reduces the results of an elastic unit: `python -m tradewind.agent.reduce REDUCER WHAT [SHELL...]`.

The reducer is `concatenate` or `sum`, which are built in, or `run` with a command, or `python` with a function. The
result is left in the file `result`.

A command finds the names of files on its standard input, one per line, in the order of iterations: `.json` files for
results that were delivered as values, others for those that were uploaded. What it prints is the result. A function is
called with the list of results, values or paths, and what it returns is the result as JSON.

One uploaded result is in memory at a time, and the deliveries of one attempt; what is to be concatenated waits in a
file for its turn. So the size of a result is bounded by the disk.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Any, NamedTuple

from tradewind.agent.calls import CallError, Client
from tradewind.agent.child import function
from tradewind.live.worker import shells
from tradewind.live.worker.words import at_home, homes

_SPOOLED = 1 << 20
"""Bytes of results that wait for their turn in memory; more do so in a file."""
Read = Callable[[str], bytes]
"""Reads an uploaded result by its address."""


class ReduceError(Exception):
    """A reduction that failed."""


class Piece(NamedTuple):
    """A result, and the first iteration that it is for."""

    first: int
    result: dict[str, Any]


class Pieces:
    """Results in the order of iterations: where each lies in a file is in memory, and one of them at a time."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._places: list[tuple[int, int, int]] = []
        """The first iteration of each, where it begins, and how long it is."""

    def add(self, pieces: Iterable[Piece]) -> None:
        """Write them down, in whatever order they come."""
        end = self._file.seek(0, os.SEEK_END)
        for piece in pieces:
            size = self._file.write(json.dumps(piece.result).encode())
            self._places.append((piece.first, end, size))
            end += size
        self._places.sort()

    def __iter__(self) -> Iterator[Piece]:
        for first, begin, size in self._places:
            self._file.seek(begin)
            yield Piece(first, json.loads(self._file.read(size)))


def standing(rows: Iterable[dict[str, Any]]) -> Iterator[Piece]:
    """Return what counts of some deliveries: a checkpoint stands for all that its attempt delivered before."""
    for _, of_attempt in groupby(rows, key=lambda row: row["share"]):
        kept: list[Piece] = []
        for row in of_attempt:
            if row["checkpoint"]:
                kept.clear()
            kept.append(Piece(row["first"], row))
        yield from kept


def summed(pieces: Iterable[Piece], read: Read) -> Iterator[bytes]:
    """Return the sum of results."""
    total: Any = None
    for piece in pieces:
        value = _value(piece, read)
        total = value if total is None else added(total, value)
    yield json.dumps(total).encode()


def concatenated(pieces: Pieces, read: Read) -> Iterator[bytes]:
    """Return results one after the other: as they are if some were uploaded, else as a list."""
    if any("url" in piece.result for piece in pieces):
        for piece in pieces:
            result = piece.result
            yield read(result["url"]) if "url" in result else json.dumps(result["inline"]).encode()
        return
    mark = b"["
    for piece in pieces:
        value = piece.result["inline"]
        for each in value if isinstance(value, list) else [value]:
            yield mark + json.dumps(each).encode()
            mark = b","
    yield b"[]" if mark == b"[" else b"]"


def added(one: Any, other: Any) -> Any:
    """Return the sum of two values of the same shape, number by number."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return {key: added(value, other[key]) for key, value in one.items()}
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [added(left, right) for left, right in zip(one, other, strict=True)]
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one + other
    raise ReduceError("results of different shapes cannot be summed; let every delivery have the same shape")


def _value(piece: Piece, read: Read) -> Any:
    if "url" not in piece.result:
        return piece.result["inline"]
    try:
        return json.loads(read(piece.result["url"]))
    except ValueError as error:
        raise ReduceError(f"a result that is to be summed is not JSON ({error})") from error


def lay_out(pieces: Iterable[Piece], read: Read, folder: Path) -> list[Path]:
    """Write results to files, in their order."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for number, (_, result) in enumerate(pieces):
        if "url" in result:
            file = folder / f"{number:08}"
            file.write_bytes(read(result["url"]))
        else:
            file = folder / f"{number:08}.json"
            file.write_text(json.dumps(result["inline"]))
        files.append(file)
    return files


def run_reducer(command: Sequence[str], files: Sequence[Path], folder: Path) -> bytes:
    """Run a command over files; what it printed."""
    names = "".join(f"{file.absolute()}\n" for file in files)
    done = subprocess.run(  # noqa: S603  that is what it is for
        list(command), input=names.encode(), cwd=folder, capture_output=True, check=False
    )
    sys.stderr.write(done.stderr.decode("utf-8", "replace"))
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise ReduceError(f"the reducer ended with code {done.returncode}: {said[-1][:300] if said else 'no word'}")
    return done.stdout


def call_reducer(where: str, files: Sequence[Path]) -> bytes:
    """Call a function with results; what it returns, as JSON."""
    results = [json.loads(file.read_bytes()) if file.suffix == ".json" else file for file in files]
    return json.dumps(function(where)(results)).encode()


def reduced(reducer: str, what: str, shell: Sequence[str], pieces: Iterator[Piece], read: Read) -> Iterator[bytes]:
    """Return the result, piece by piece."""
    if reducer == "sum":
        yield from summed(pieces, read)
        return
    with SpooledTemporaryFile(_SPOOLED) as file:
        found = Pieces(file)
        found.add(pieces)
        if reducer == "concatenate":
            yield from concatenated(found, read)
            return
        files = lay_out(found, read, Path("results"))
    if reducer == "run":
        yield run_reducer(shells.words(at_home(what, homes()), shell), files, Path.cwd())
    else:
        yield call_reducer(what, files)


def fetched(client: Client, url: str) -> Iterator[dict[str, Any]]:
    """Return all deliveries, a page at a time."""
    after = ""
    while True:
        page = client.call("GET", f"{url}/results?after={after}")
        yield from page["results"]
        after = page["next"]
        if not after:
            return


def main(reducer: str, what: str, *shell: str) -> None:
    """Fetch the results, reduce them, and leave what comes of it."""
    client = Client(os.environ["TRADEWIND_SERVER"], os.environ["TRADEWIND_LEASE"])
    draft = Path(".result")
    try:
        pieces = standing(fetched(client, os.environ["TRADEWIND_URL"]))
        with draft.open("wb") as file:
            file.writelines(reduced(reducer, what, shell, pieces, lambda address: client.transfer("GET", address)))
    except (ReduceError, CallError) as error:
        raise SystemExit(f"error: {error}") from error
    finally:
        client.close()
    draft.replace("result")


if __name__ == "__main__":
    main(*sys.argv[1:])
