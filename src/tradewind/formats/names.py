"""Derive the kind of a task from its id."""

import re

_NUMBER = re.compile(r"(?:[_\-.]?ID|[_\-.])?[0-9]+$")
_RECORDED_NUMBER = re.compile(r"_(?:ID)?[0-9]+$")


def kind_of(identity: str) -> str:
    """Return the id without its number: `mAdd` for `mAdd_2`, `align` for `align-07`."""
    return _NUMBER.sub("", identity) or identity


def recorded_kind_of(name: str) -> str:
    """Return the name of a recorded task without its unique suffix: `mProject` for `mProject_ID0000001`."""
    return _RECORDED_NUMBER.sub("", name) or name
