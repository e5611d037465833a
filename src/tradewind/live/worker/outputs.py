"""What a call leaves behind: files found by pattern, and values read from its output, its files or its return."""
# pathlib costs more than the calls that it wraps
# ruff: noqa: PTH103, PTH110, PTH112, PTH116, PTH118, PTH120, PTH123, PTH207

import os
import re
from collections.abc import Mapping
from typing import Any

from tradewind.live.worker.failure import Failure
from tradewind.live.worker.wire import PackedCall
from tradewind.model.bounds import LARGEST, flaw

_WILD = re.compile(r"[*?\[]")

OURS = frozenset(("command.sh", "inputs.json", "out", "err", "exitcode"))
"""Files that a pattern does not find: they are no work of the call."""


def collect(call: PackedCall, folder: str, returned: Any = None) -> dict[str, Any]:
    """The outputs of a call by name; a `Failure` names the first that is missing, or out of bounds."""
    found: dict[str, Any] = {}
    for name, (path, many, value, optional) in call.outputs.items():
        if not value:
            found[name] = _files(name, path, folder, many=many, optional=optional)
        elif value == "stdout":
            found[name] = _read(name, os.path.join(folder, "out")).strip()
        elif value == "json":
            lines = _read(name, os.path.join(folder, "out")).strip().splitlines()
            found[name] = _parsed(name, lines[-1] if lines else "", "the last line of stdout")
        elif value == "return":
            sole = sum(each[2] == "return" for each in call.outputs.values()) == 1
            if call.kind == "reduce":
                returned = _parsed(name, _read(name, os.path.join(folder, "result")), "the reduced result")
            found[name] = _returned(name, returned, folder, sole=sole)
        else:
            found[name] = _parsed(name, _read(name, os.path.join(folder, value)), value)
        if reason := flaw(found[name]):
            raise Failure("error", f"output {name!r} {reason}")
    return found


def prepare(call: PackedCall, folder: str) -> None:
    """Make the folders that the paths of a call's outputs lead into."""
    for path, _, value, _ in call.outputs.values():
        if "/" in path and not value:
            plain_part = os.path.join(folder, _WILD.split(path, maxsplit=1)[0])
            os.makedirs(os.path.dirname(plain_part), exist_ok=True)


def _files(name: str, pattern: str, folder: str, *, many: bool, optional: bool) -> str | list[str] | None:
    if not any(sign in pattern for sign in "*?["):
        path = os.path.join(folder, pattern)
        paths = [path] if os.path.exists(path) else []
    else:
        import glob  # noqa: PLC0415 - seldom needed

        names = glob.glob(pattern, root_dir=folder, recursive=True)
        paths = sorted(os.path.join(folder, each) for each in names if each not in OURS)
        if "**" in pattern:  # all that lies below, whatever the folders in between
            paths = [path for path in paths if not os.path.isdir(path)]
    if not paths and optional:
        return [] if many else None
    if not paths:
        raise Failure("missing", f"output {name!r}: no file {pattern!r} was left behind")
    if many:
        return paths
    if len(paths) > 1:
        raise Failure("missing", f"output {name!r}: {pattern!r} should be one file, but {len(paths)} match")
    return paths[0]


def _returned(name: str, value: Any, folder: str, *, sole: bool) -> Any:
    if isinstance(value, Mapping) and name in value:
        return plain(value[name], name, folder)
    if sole:
        return plain(value, name, folder)
    raise Failure("missing", f"output {name!r}: the function returned no mapping with this entry")


def plain(value: Any, name: str, folder: str) -> Any:
    """A value as JSON knows it: exact types, lists for tuples, and for paths, seen from the folder, their text."""
    kind = type(value)
    if value is None or kind in (str, bool, float):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, Mapping):
        return {_key(key, name): plain(each, name, folder) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each, name, folder) for each in value]
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, os.PathLike):
        return os.path.join(folder, os.fsdecode(value))
    if hasattr(value, "tolist"):  # arrays and their scalars
        return plain(value.tolist(), name, folder)
    raise Failure("error", f"output {name!r}: a {kind.__name__} cannot be written as JSON")


def _key(key: Any, name: str) -> str:
    if not isinstance(key, str):
        raise Failure("error", f"output {name!r}: the key {key!r} of a mapping is not text")
    return str.__str__(key)


def _read(name: str, path: str) -> str:
    try:
        if os.stat(path).st_size > LARGEST:
            raise Failure("missing", f"output {name!r}: {path} is larger than {LARGEST >> 20} MiB")
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as problem:
        raise Failure("missing", f"output {name!r}: cannot read {path}: {problem.strerror}") from None


def _parsed(name: str, content: str, where: str) -> Any:
    import json  # noqa: PLC0415 - seldom needed

    try:
        return json.loads(content)
    except ValueError:
        raise Failure("missing", f"output {name!r}: {where} is not JSON") from None
    except RecursionError:
        raise Failure("error", f"output {name!r}: {where} is nested too deeply") from None
