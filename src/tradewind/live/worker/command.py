"""Starting a shell command, or one in a container, in a process group of its own.

`posix_spawn` costs about half of what `subprocess.Popen` does in the parent: it neither copies page tables nor builds
an object. It cannot change the folder, so that the worker, which has one thread, steps into it first; the child opens
its own output files. A session of its own would cost a tenth more, for Linux shares processor time by session; what is
harvested needs one, to run at the lowest priority while its worker does not.
"""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from tradewind.live.worker import containers, inputs, outputs, processes, shells
from tradewind.live.worker.failure import Failure, unwritable
from tradewind.live.worker.folders import Folders, write
from tradewind.live.worker.wire import PackedCall, PackedOrder

_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND
_FILES = (
    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
    (os.POSIX_SPAWN_OPEN, 1, "out", _APPEND, 0o666),
    (os.POSIX_SPAWN_OPEN, 2, "err", _APPEND, 0o666),
)
_RESTORED = (signal.SIGPIPE, signal.SIGXFSZ)
"""Ignored by Python, and expected by other programs to be fatal."""

_ENVIRONMENT = dict(os.environb)
"""As bytes, since nothing is dearer about starting a program than to encode all this each time."""

_encoded = lru_cache(256)(os.fsencode)

COMMAND = "command.sh"
"""The file that holds a command, in its folder."""
_DIVISIBLE = ("share", "reduce")
_LONGEST = 100_000
"""Bytes of a command that can be passed as an argument."""


def prepare(call: PackedCall, folder: str, values: Mapping[str, Any], homes: Sequence[str] = ()) -> str:
    """Put into its folder what a command needs there; its text. A `Failure` tells why that cannot be done."""
    text = inputs.fill(call.target, values) if call.kind not in _DIVISIBLE else _divisible(call, values, homes)
    try:
        if call.kind == "share":
            import json  # noqa: PLC0415 - seldom needed

            write(f"{folder}/inputs.json", json.dumps(values))
        if call.outputs:
            outputs.prepare(call, folder)
        write(f"{folder}/{COMMAND}", text if text.endswith("\n") else text + "\n")
    except (OSError, UnicodeEncodeError) as problem:
        raise _unable(folder, problem) from None
    return text


def start(
    call: PackedCall,
    order: PackedOrder,
    folder: str,
    text: str,
    values: Mapping[str, Any],
    variables: dict[str, str],
    label: str,
    tool: str,
) -> int:
    """Start a prepared command; its process, which leads a group. A `Failure` tells why it did not."""
    try:
        os.chdir(folder)
    except OSError as problem:
        raise unwritable(folder, problem) from None
    if values:
        variables.update(inputs.exported(values))
    variables.update(call.environment)
    if call.kind == "container":
        words = containers.words(tool, call, text, values, order, folder, variables, label)
    elif len(text) < _LONGEST:
        words = shells.words(text, call.shell, variables, COMMAND)
    else:
        words = [*(call.shell or shells.usual()), COMMAND]
    try:
        return _spawn(words, variables)
    except (OSError, ValueError) as problem:
        raise Failure("start", f"cannot start {words[0]}: {problem}") from None


def _divisible(call: PackedCall, values: Mapping[str, Any], homes: Sequence[str]) -> str:
    """The command of a share, or of what reduces the results of an elastic unit."""
    import shlex  # noqa: PLC0415 - seldom needed
    from pathlib import Path  # noqa: PLC0415

    from tradewind.live.worker.words import at_home  # noqa: PLC0415

    function, reducer = call.container
    if call.kind == "share" and call.target:
        return at_home(inputs.fill(call.target, values), [Path(home) for home in homes])
    words = ["child", "--inputs", function] if call.kind == "share" else ["reduce", reducer, call.target, *call.shell]
    return f"exec {shlex.join([sys.executable, '-m', f'tradewind.agent.{words[0]}', *words[1:]])}"


def end(folder: str, status: int, folders: Folders) -> int:
    """Note the exit code of a command that has ended, as a shell would give it."""
    code = os.waitstatus_to_exitcode(status)
    code = 128 - code if code < 0 else code
    try:
        folders.note(folder, code)
    except OSError as problem:
        raise unwritable(folder, problem, "error") from None
    return code


def _spawn(words: list[str], variables: dict[str, str]) -> int:
    environment: dict[bytes, bytes | str] = dict(_ENVIRONMENT)
    for name, value in variables.items():
        environment[_encoded(name)] = value
    start = os.posix_spawn if words[0][0] == "/" else os.posix_spawnp
    if (level := processes.own_level()) > 0:
        pid = start(words[0], words, environment, file_actions=_FILES, setsid=True, setsigdef=_RESTORED)
        processes.lower_session(pid, level)
        return pid
    return start(words[0], words, environment, file_actions=_FILES, setpgroup=0, setsigdef=_RESTORED)


def _unable(folder: str, problem: Exception) -> Failure:
    return unwritable(folder, problem) if isinstance(problem, OSError) else Failure("start", f"the command: {problem}")
