"""Transfer functions: by name if a worker can import them, otherwise pickled; and compute digests of their code."""

import base64
import hashlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tradewind.api.values import INLINE, MARK, dumps

_DEEPEST = 5
"""Maximum depth to which calls of functions in the same file are followed."""


def reference(function: Callable[..., Any], spill: Callable[[bytes], str] | None) -> Any:
    """Return a function as a worker finds it; without `spill`, which stores large ones in files, always pickled."""
    module, name = function.__module__, function.__qualname__
    if spill is not None and _is_importable(module, name):
        return f"{module}:{name}"
    data = _by_value(function)
    if spill is not None and len(data) > INLINE:
        return {MARK: "file", "of": spill(data)}
    return {MARK: "pickle", "of": base64.b64encode(data).decode()}


def digest(function: Callable[..., Any]) -> str:
    """Return a digest of a function's code, defaults and closure, which changes with any of them."""
    whole = hashlib.blake2b(digest_size=20)
    for part in _parts(function, 0, set()):
        whole.update(part)
    return whole.hexdigest()


def folders() -> tuple[str, ...]:
    """Return the import path of workers: that of this process."""
    return tuple(dict.fromkeys(str(Path(folder).resolve()) for folder in sys.path if not folder.endswith(".zip")))


def _is_importable(module: str, name: str) -> bool:
    found = sys.modules.get(module)
    if module == "__main__" or "<" in name or found is None or getattr(found, "__file__", None) is None:
        return False
    here: Any = found
    for part in name.split("."):
        here = getattr(here, part, None)
    return here is not None


def _by_value(function: Callable[..., Any]) -> bytes:
    """Pickle a function with everything it uses from its own module."""
    import cloudpickle  # type: ignore[import-untyped]  # noqa: PLC0415 - slow

    module = sys.modules.get(function.__module__)
    if module is None or module.__name__ == "__main__" or module.__name__.partition(".")[0] == "tradewind":
        return dumps(function)
    cloudpickle.register_pickle_by_value(module)
    try:
        return dumps(function)
    finally:
        cloudpickle.unregister_pickle_by_value(module)


def _parts(function: Any, depth: int, seen: set[int]) -> Iterator[bytes]:
    if id(function) in seen or depth > _DEEPEST:
        return
    seen.add(id(function))
    function = getattr(function, "function", function)
    if not isinstance(function, FunctionType):
        yield repr(type(function)).encode()
        return
    yield from _code(function.__code__)
    yield repr((function.__defaults__, function.__kwdefaults__)).encode()
    for cell in function.__closure__ or ():
        yield from _thing(cell.cell_contents, function, depth, seen)
    for name in sorted(_names(function.__code__)):
        if name in function.__globals__:
            yield name.encode()
            yield from _thing(function.__globals__[name], function, depth, seen)


def _thing(thing: Any, around: FunctionType, depth: int, seen: set[int]) -> Iterator[bytes]:
    """Yield the identity of something a function uses: code of its own file, plain values, and names of all else."""
    inner = getattr(thing, "function", thing)
    if isinstance(inner, FunctionType) and inner.__module__ == around.__module__:
        yield from _parts(inner, depth + 1, seen)
    elif isinstance(thing, ModuleType):
        yield f"{thing.__name__} {getattr(thing, '__version__', '')}".encode()
    elif isinstance(thing, bool | int | float | str | bytes | tuple | frozenset | type(None)):
        yield repr(thing).encode()
    else:
        yield f"{type(thing).__module__}.{type(thing).__qualname__}".encode()


def _code(code: CodeType) -> Iterator[bytes]:
    yield code.co_code
    yield repr((code.co_names, code.co_varnames, code.co_freevars)).encode()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant)
        else:
            yield repr(constant).encode()


def _names(code: CodeType) -> set[str]:
    inner = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*inner)
