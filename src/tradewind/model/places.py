"""Places inside plain values, written `name/0/key`, which locate the files in a run's outputs."""

from collections.abc import Callable, Iterator
from pathlib import PurePath

from tradewind.model.action import Json


def texts_in(value: Json, place: str = "") -> Iterator[tuple[str, str]]:
    """Yield all texts inside a value, with their places."""
    if isinstance(value, str):
        yield place, value
        return
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        if "/" not in str(key):
            yield from texts_in(each, f"{place}/{key}" if place else str(key))


def changed(value: Json, change: Callable[[str, str], str], place: str = "") -> Json:
    """Return a value with each text replaced by a function of the text and its place."""
    if isinstance(value, str):
        return change(place, value)
    if isinstance(value, dict):
        return {key: changed(each, change, f"{place}/{key}" if place else str(key)) for key, each in value.items()}
    if isinstance(value, list):
        return [changed(each, change, f"{place}/{at}") for at, each in enumerate(value)]
    return value


def base_name(path: str) -> str:
    """Return the last part of a path."""
    return PurePath(path).name
