"""Signals as something that can be waited for together with sockets."""

import os
import signal


class Alarm:
    """A pipe that becomes readable when a child ends or another chosen signal comes."""

    def __init__(self) -> None:
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._reading, False)
        os.set_blocking(self._writing, False)
        signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def fileno(self) -> int:
        """The end to wait for."""
        return self._reading

    def clear(self) -> None:
        """Make it silent until the next signal."""
        try:  # cheaper than `suppress`, and this happens with every command
            os.read(self._reading, 4096)
        except BlockingIOError:
            return

    def close(self) -> None:
        """Give it up, in a child that has its own."""
        signal.set_wakeup_fd(-1)
        os.close(self._reading)
        os.close(self._writing)
