"""Containers: the command line that runs one, and the removal of those that a killed worker has left.

A container of Docker is no descendant of ours, so that neither signals nor the keeper's adoption reach it. Each carries
its machine's and its attempt's label, and a note on disk tells the keeper which tool to ask for them.
"""
# pathlib costs more than the calls that it wraps
# ruff: noqa: PTH108, PTH110, PTH118, PTH123

import os
from collections.abc import Mapping
from typing import Any

from tradewind.live.worker import shells
from tradewind.live.worker.failure import Failure, unwritable
from tradewind.live.worker.wire import PackedCall, PackedOrder

_LONGEST = 4096
"""Characters of a path."""

TOOLS = ("podman", "docker", "apptainer")


def words(
    tool: str,
    call: PackedCall,
    command: str,
    values: Mapping[str, Any],
    order: PackedOrder,
    folder: str,
    variables: dict[str, str],
    label: str,
) -> list[str]:
    """The command line that runs a shell command in a container, in the attempt's folder, with its inputs in sight."""
    image = call.image
    is_own, *options = call.container or (False,)
    folders = [folder, *([order.checkpoint] if order.checkpoint else [])]
    script = shells.words_anywhere(command, call.shell, "command.sh")
    seen = list(_paths(list(values.values()), tuple(folders)))
    if tool == "apptainer":
        if is_own:
            raise Failure("start", f"container: apptainer cannot use the entry point of {image}; install podman")
        binds = [word for each in (*folders, *(f"{path}:{path}:ro" for path in seen)) for word in ("--bind", each)]
        variables.update({f"APPTAINERENV_{name}": value for name, value in variables.items()})  # words are seen by all
        source = image if "://" in image or os.path.exists(image) else f"docker://{image}"
        return [tool, "exec", *binds, "--pwd", folder, *options, source, *script]
    user = [] if tool == "podman" else ["--user", f"{os.getuid()}:{os.getgid()}"]
    memory = ["--memory", str(order.memory)] if order.memory else []
    return [
        *(tool, "run", "--rm", "--label", f"tradewind={label}", "--label", f"tradewind.machine={_machine(label)}"),
        *(*user, *memory, "--cpus", str(order.cpus), "--workdir", folder),
        *(word for each in folders for word in ("--volume", f"{each}:{each}")),
        *(word for path in seen for word in ("--volume", f"{path}:{path}:ro")),
        *(word for name in variables for word in ("--env", name)),
        *options,
        *((image, *_split(command)) if is_own else ("--entrypoint", script[0], image, *script[1:])),
    ]


def _paths(values: list[Any], known: tuple[str, ...]) -> dict[str, None]:
    """The files and folders among values that the container would not see, each once, in their order."""
    found: dict[str, None] = {}
    for value in values:
        if isinstance(value, list | dict):
            found |= _paths(list(value.values()) if isinstance(value, dict) else value, known)
        elif isinstance(value, str) and value.startswith("/") and "\n" not in value and ":" not in value:
            is_known = any(value == folder or value.startswith(f"{folder}/") for folder in known)
            if len(value) > 1 and not is_known and len(value) < _LONGEST and os.path.exists(value):
                found[value] = None
    return found


def _split(command: str) -> list[str]:
    from shlex import split  # noqa: PLC0415 - seldom needed

    return split(command)


def tool() -> str:
    """The first tool that is installed."""
    from shutil import which  # noqa: PLC0415 - seldom needed

    for name in TOOLS:
        if which(name):
            return name
    raise Failure("start", f"container: none of {', '.join(TOOLS)} is installed")


def note(root: str, machine: str, name: str) -> None:
    """Remember on disk that a machine runs containers with a tool; those of Apptainer are plain descendants."""
    path = _note(root, machine)
    if name != "apptainer" and not os.path.exists(path):
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(name)
        except OSError as problem:
            raise unwritable(root, problem) from None


def remove(name: str, label: str) -> int:
    """Have the containers with a label removed by a process of the returned number; 0: none is needed."""
    if name == "apptainer":
        return 0
    script = f"{name} ps -aq --filter label={label} | xargs -r {name} rm -f"
    null = [(os.POSIX_SPAWN_OPEN, file, os.devnull, os.O_RDWR, 0) for file in range(3)]
    return os.posix_spawn("/bin/sh", ["sh", "-c", script], os.environ, file_actions=null)


def remove_left(root: str, machine: str) -> int:
    """Have the containers of a machine that is gone removed by a process of the returned number; 0: it had none."""
    path = _note(root, machine)
    try:
        with open(path, encoding="utf-8") as file:
            name = file.read()
        os.unlink(path)
    except OSError:
        return 0
    return remove(name, f"tradewind.machine={machine}")


def _machine(label: str) -> str:
    return label.partition(".")[0]


def _note(root: str, machine: str) -> str:
    return os.path.join(root, f"containers-{machine}")
