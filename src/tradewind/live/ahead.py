"""Loading a workflow in a process of its own, while this one loads all that is needed to run it.

To check a file and to run what it says each need modules that take a quarter of a second to load, but hardly any in
common. Only a sound workflow for this host comes back: whoever gets none loads the file again, and then learns why.
"""

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tradewind.live.jobs import Document

LARGEST = 1 << 20
"""Bytes of a file above which it would cost more to pass the workflow on than could be gained."""


class Ahead:
    """A file that is being loaded."""

    def __init__(self, file: Path) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-P", "-m", "tradewind.live.ahead", str(file.absolute())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYDANTIC_DISABLE_PLUGINS": "1"},  # to look for them takes a tenth of the time
        )

    def take(self) -> "Document | None":
        """What the file holds; None: no workflow, or not a sound one."""
        from tradewind.live.documents import decode  # noqa: PLC0415 - the loading comes first

        data, _ = self._process.communicate()
        return decode(data) if data and self._process.returncode == 0 else None

    def abandon(self) -> None:
        """Let it be, if nobody has taken it."""
        self._process.kill()
        with self._process:  # closes the pipe and waits
            pass


def is_small(file: Path) -> bool:
    """Whether loading a file ahead makes sense."""
    try:
        return file.stat().st_size <= LARGEST
    except OSError:
        return False


def _load(file: Path) -> bytes:
    from tradewind.formats.load import load  # noqa: I001, PLC0415 - slow
    from tradewind.formats.feasible import check_feasible, check_runnable  # noqa: PLC0415
    from tradewind.live.encoding import encode  # noqa: PLC0415
    from tradewind.live.host import this_host  # noqa: PLC0415
    from tradewind.model.program import Program  # noqa: PLC0415
    from tradewind.model.workflow import Workflow  # noqa: PLC0415

    document = load(file)
    content = document.content
    if not isinstance(content, Workflow | Program):
        return b""
    check_runnable(content, file=document.file, line_of=document.line_of)
    check_feasible(content, (this_host(),), only_certain=True)
    return encode(content)


if __name__ == "__main__":
    gc.disable()  # a seventh of the time; this process ends before there is any garbage to speak of
    sys.stdout.buffer.write(_load(Path(sys.argv[1])))
