"""Functions for warm interpreters to call."""

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

CALLS = 0


def add(a: int, b: int) -> int:
    return a + b


def both(a: int, b: int) -> dict[str, int]:
    return {"sum": a + b, "product": a * b}


def count() -> int:
    """How often this interpreter has called it."""
    global CALLS  # noqa: PLW0603
    CALLS += 1
    return CALLS


def pid() -> int:
    return os.getpid()


def talk(text: str) -> None:
    print(text)  # noqa: T201
    print(text, "of errors", file=sys.stderr)  # noqa: T201
    subprocess.run(["/bin/echo", text, "of a child"], check=True)


def talk_past_python(text: str) -> None:
    os.write(1, text.encode())


def flood(size: int, pause: float) -> None:
    os.write(1, bytes(size))
    time.sleep(pause)
    os.write(1, b"the end\n")


def fail(message: str) -> None:
    raise RuntimeError(message)


def leave(code: int) -> None:
    os._exit(code)


def crash() -> None:
    ctypes.string_at(0)


def quit_with(code: int | None) -> None:
    sys.exit(code)


def nap(duration: float) -> None:
    time.sleep(duration)


def returned(what: str) -> Any:
    paths = {"one": Path("a/b"), "more": [Path("a/b"), (Path("/c"),)]}
    return {"tuple": (1, 2), "path": paths, "set": {1}, "huge": 1 << 70, "keys": {1: 2}, "nothing": None}[what]


def environment(name: str) -> str | None:
    return os.environ.get(name)


def write(name: str, text: str) -> None:
    Path(name).write_text(text)


def hoard(size: int) -> None:
    store = bytearray(size)
    for at in range(0, size, 4096):
        store[at] = 1
    time.sleep(30)


def leave_child_behind() -> int:
    return subprocess.Popen(["/bin/sleep", "100"]).pid


def daemonise() -> int:
    """A process that has shed its parents, its session and its name, without a new program."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(writing, str(os.getpid()).encode())
            time.sleep(100)
        os._exit(0)
    os.wait()
    child = int(os.read(reading, 100))
    os.close(reading)
    os.close(writing)
    return child
