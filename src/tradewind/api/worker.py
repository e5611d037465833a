"""Run a task in a warm interpreter: load the function, unpack its arguments, call it, and pack the result."""

import hashlib
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tradewind.api.values import dumps, pack, unpack

EXCEPTION = "exception.pkl"
"""The file that a failed task leaves: its exception, and its traceback as text."""

_loaded: dict[str, Callable[..., Any]] = {}


def call(function: Any, args: list[Any], kwargs: dict[str, Any], split: bool = False) -> dict[str, Any]:
    """Call a function with packed arguments, and return its packed result."""
    try:
        returned = load(function)(*unpack(args), **unpack(kwargs))
        if hasattr(returned, "__await__"):
            returned = _awaited(returned)
        return {"value": pack(returned, _spill, split=split)}
    except Exception as problem:
        _leave(problem)
        raise


def load(function: Any) -> Callable[..., Any]:
    """Return the function: by module and name, or unpickled."""
    if isinstance(function, str):
        key = function
        found = _loaded.get(key)
        if found is None:
            found = _imported(function)
    else:
        key = function["of"]
        found = _loaded.get(key)
        if found is None:
            found = unpack(function)
    while hasattr(found, "function"):  # the name of a decorated function refers to its task
        found = found.function
    assert callable(found)  # noqa: S101 - nothing else is ever sent
    _loaded[key] = found
    return found


def _imported(name: str) -> Any:
    import importlib  # noqa: PLC0415 - pickled functions need none

    module, _, path = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _awaited(returned: Any) -> Any:
    import asyncio  # noqa: PLC0415 - seldom needed

    async def wait() -> Any:
        return await returned

    return asyncio.run(wait())


def _spill(data: bytes) -> str:
    path = Path(os.getcwd(), f"value-{hashlib.blake2b(data, digest_size=8).hexdigest()}.pkl")  # noqa: PTH109
    path.write_bytes(data)
    return str(path)


def _leave(problem: BaseException) -> None:
    """Store the exception for the process that waits for the result; otherwise only its text is available."""
    import traceback  # noqa: PLC0415 - seldom needed

    below = problem.__traceback__.tb_next if problem.__traceback__ else None
    text = "".join(traceback.format_exception(type(problem), problem, below))
    try:
        data = dumps((problem.with_traceback(None), text))
    except Exception:  # the exception cannot be pickled
        data = pickle.dumps((None, text))
    try:
        Path(EXCEPTION).write_bytes(data)
    except OSError as error:
        sys.stderr.write(f"the exception cannot be stored: {error}\n")
