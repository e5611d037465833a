"""The files among what a call gave: whether they are as they were left, and how another run gets them."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tradewind.live.cache.digests import files_below
from tradewind.model.action import Json, Output


def seals(outputs: Mapping[str, Output], results: Mapping[str, Json]) -> list[list[Json]] | None:
    """Path, size and time of change of each file that a call left behind; None: one cannot be told."""
    found: list[list[Json]] = []
    for path in _paths(outputs, results):
        below = files_below(path) if os.path.isdir(path) else [path]  # noqa: PTH112 - pathlib costs more
        if below is None:
            return None
        for file in below:
            try:
                status = os.stat(file)  # noqa: PTH116
            except OSError:
                return None
            found.append([file, status.st_size, status.st_mtime_ns])
    return found


def are_whole(sealed: Sequence[Sequence[Json]]) -> bool:
    """Whether files are as they were left."""
    for path, size, modified in sealed:
        try:
            status = os.stat(path)  # noqa: PTH116
        except OSError:
            return False
        if status.st_size != size or status.st_mtime_ns != modified:
            return False
    return True


def adopt(
    outputs: Mapping[str, Output], results: Mapping[str, Json], sealed: Sequence[Sequence[Json]], folder: str
) -> tuple[dict[str, Json], list[list[Json]]]:
    """Give another run files of its own in a folder, by links where the disk allows; results and seals with new paths.

    The run that made them may then be removed without harm.
    """
    tops = list(_paths(outputs, results))
    if not tops:
        return dict(results), []
    home = os.path.commonpath([os.path.dirname(path) for path in tops])  # noqa: PTH120
    moved = {path: os.path.join(folder, os.path.relpath(path, home)) for path in tops}  # noqa: PTH118
    for path in tops:
        if os.path.isdir(path):  # noqa: PTH112
            Path(moved[path]).mkdir(parents=True, exist_ok=True)
    again: list[list[Json]] = []
    for path, size, modified in sealed:
        target = os.path.join(folder, os.path.relpath(path, home))  # noqa: PTH118
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        _link(path, target)
        again.append([target, size, modified])
    return {name: _renamed(value, moved) for name, value in results.items()}, again


def _paths(outputs: Mapping[str, Output], results: Mapping[str, Json]) -> Iterator[str]:
    for name, output in outputs.items():
        value = results.get(name)
        if not output.value:
            yield from [value] if isinstance(value, str) else value or ()


def _link(path: str, target: str) -> None:
    Path(target).unlink(missing_ok=True)
    try:
        os.link(path, target)
    except OSError:  # another disk, or one that knows no links
        import shutil  # noqa: PLC0415 - slow, and seldom needed

        shutil.copy2(path, target)


def _renamed(value: Json, moved: Mapping[str, str]) -> Json:
    if isinstance(value, str):
        return moved.get(value, value)
    if isinstance(value, list):
        return [_renamed(item, moved) for item in value]
    return {key: _renamed(item, moved) for key, item in value.items()} if isinstance(value, dict) else value
