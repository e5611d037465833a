"""What the kernel knows about processes: who descends from whom, what they use, and who must die with whom.

On Linux a worker adopts whatever its tasks leave behind (`PR_SET_CHILD_SUBREAPER`), so that no process gets away.
Elsewhere there is no such thing: only process groups are killed, and memory is not watched.
"""
# pathlib costs more than the calls that it wraps
# ruff: noqa: PTH110, PTH208

import ctypes
import os
import signal
import sys
from contextlib import suppress

LINUX = sys.platform == "linux"
UNIT = 1024 if sys.platform != "darwin" else 1
"""Bytes in which the kernel counts the memory of a process that has ended."""

PAGE = os.sysconf("SC_PAGESIZE")
_PIECE = 3_000
_SET_PDEATHSIG = 1
_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True) if LINUX else None


def adopt_orphans() -> None:
    """Become the parent of every descendant whose parent ends."""
    if _libc is not None:
        _libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with(parent: int, how: int = signal.SIGKILL) -> None:
    """Have a signal sent to this process as soon as its parent ends."""
    if _libc is not None:
        _libc.prctl(_SET_PDEATHSIG, how, 0, 0, 0)
    if os.getppid() != parent:  # it was faster
        os.kill(os.getpid(), how)


def children(pid: int) -> list[int]:
    """The processes whose parent is the given one."""
    if not LINUX:
        return []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
        return [int(child) for thread in threads for child in _read(f"/proc/{pid}/task/{thread}/children").split()]
    except FileNotFoundError:
        return _children_by_scan(pid) if os.path.exists(f"/proc/{pid}") else []
    except OSError:
        return []


class Family:
    """The children of the calling process, which has one thread; its file stays open, for it is read all the time."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        try:
            self._file = os.open(f"/proc/self/task/{self._pid}/children", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._file = -1

    def now(self) -> list[int]:
        """Who they are."""
        if self._file < 0:
            return _children_by_scan(self._pid) if LINUX else []
        data = os.pread(self._file, 65_536, 0)
        if len(data) > _PIECE:  # the kernel gives it in pieces
            data = _read(f"/proc/self/task/{self._pid}/children")
        return [int(child) for child in data.split()]


def descendants(pid: int) -> list[int]:
    """A process and all that descend from it."""
    found = [pid]
    for each in found:  # grows while it is walked
        found += children(each)
    return found


def group(pid: int) -> int:
    """The process group to which a process belongs; 0: it is gone."""
    try:
        return os.getpgid(pid)
    except OSError:
        return 0


def started(pid: int) -> int:
    """When a process began, in the kernel's ticks: with its number it is unique; 0: it is gone, or not known."""
    try:
        fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        return 0 if fields[0] == b"Z" else int(fields[19])
    except (OSError, IndexError):
        return 0


def resident(pid: int) -> int:
    """Bytes of memory that a process has in use."""
    try:
        return int(_read(f"/proc/{pid}/statm").split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


def variable(pid: int, name: bytes) -> str:
    """An environment variable with which a process was started; empty: not known."""
    try:
        environment = b"\0" + _read(f"/proc/{pid}/environ")
    except OSError:
        return ""
    _, found, rest = environment.partition(b"\0" + name + b"=")
    return rest.partition(b"\0")[0].decode(errors="replace") if found else ""


def marked(name: bytes, prefix: str) -> list[int]:
    """All processes that were started with an environment variable whose value begins with a prefix."""
    pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()] if LINUX else []
    return [pid for pid in pids if variable(pid, name).startswith(prefix)]


def oom_kills() -> int:
    """How many processes this host has killed for want of memory since it started."""
    try:
        _, found, rest = _read("/proc/vmstat").partition(b"\noom_kill ")
    except OSError:
        return 0
    return int(rest.split(b"\n", 1)[0]) if found else 0


def kill(pid: int, how: int) -> None:
    """Send a signal to a child, if it is still there."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, how)


def kill_group(pid: int, how: int) -> None:
    """Send a signal to the process group of a child that leads one."""
    if pid <= 1:
        raise ValueError(f"{pid} is no child's process group")  # 0 is our own, -1 is everybody
    try:
        os.killpg(pid, how)
    except (ProcessLookupError, PermissionError):
        kill(pid, how)


def own_level() -> int:
    """How nice this process is, where that can be said of a whole session; else 0."""
    return os.getpriority(os.PRIO_PROCESS, 0) if LINUX else 0


def lower_session(pid: int, level: int) -> bool:
    """Let the session that a process leads be as nice as that, where Linux shares time by session; whether it is.

    There (`sched_autogroup`) being nice counts only among processes of one session. The kernel allows users but few
    such changes a second, so that it may have to be tried again.
    """
    path = f"/proc/{pid}/autogroup"
    try:
        if _read(path).split()[-1:] != [b"%d" % level]:
            file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.write(file, b"%d" % level)
            finally:
                os.close(file)
    except BlockingIOError:
        return False
    except OSError:
        return True  # it has gone, or there is no such thing
    return True


def _read(path: str) -> bytes:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.read(file, 65_536)
        while data and len(data) % 4096 == 0 and (more := os.read(file, 65_536)):
            data += more
        return data
    finally:
        os.close(file)


def _children_by_scan(parent: int) -> list[int]:
    """For kernels without `/proc/PID/task/TID/children`."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if int(_read(f"/proc/{name}/stat").rpartition(b")")[2].split()[1]) == parent:
                    found.append(int(name))
            except (OSError, IndexError):
                continue
    return found
