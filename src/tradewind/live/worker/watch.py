"""Limits on what runs: time, silence, memory, and the size of the output; looked at every half second."""

import os

from tradewind.live.worker import processes, streams
from tradewind.live.worker.wire import Settings

_HURRY = 0.05
"""Seconds until the next look at a flood."""


class Watch:
    """Looks after one call, or several that run together."""

    def __init__(
        self,
        folders: list[str],
        spools: tuple[int, ...],
        run: float | None,
        silence: float | None,
        memory: int | None,
        settings: Settings,
        now: float,
    ) -> None:
        self._folders = folders
        self._spools = spools
        self._run = run
        self._silence = silence
        self._memory = memory
        self._settings = settings
        self._began = now
        self._changed = now
        self._size = 0
        self._hurry = False
        self.peak = 0

    def due(self, now: float) -> float:
        """When to look again."""
        due = now + (_HURRY if self._hurry else self._settings.pause)
        if self._run is not None:
            due = min(due, self._began + self._run)
        if self._silence is not None:
            due = min(due, self._changed + self._silence)
        return due

    def verdict(self, now: float, pids: list[int]) -> tuple[str, str] | None:
        """The limit that has been passed: its cause, and the reason for people."""
        if self._run is not None and now >= self._began + self._run:
            return "timeout", f"ran longer than {self._run:g} s"
        self._measure_output(now)
        if self._silence is not None and now >= self._changed + self._silence:
            return "silence", f"wrote nothing for {self._silence:g} s"
        if self._memory is not None:
            used = sum(map(processes.resident, {each for pid in pids for each in processes.descendants(pid)}))
            self.peak = max(self.peak, used)
            if used > self._memory:
                return "memory", f"used {used / 1e6:.0f} MB of memory, of {self._memory / 1e6:.0f} MB allowed"
        return None

    def end(self, now: float) -> None:
        """Cut what was written too much; in a blink no flood can happen."""
        if now > self._began + _HURRY / 2:
            for folder in self._folders:
                streams.close(folder, self._settings.flood)

    def _measure_output(self, now: float) -> None:
        size = sum(map(streams.size, self._folders)) + sum(os.fstat(spool).st_size for spool in self._spools)
        if size != self._size:
            self._changed = now
        self._hurry = size - self._size > self._settings.flood // 8
        most = self._settings.flood
        if size > most:
            size -= sum(streams.cut(folder, most) for folder in self._folders)
            size -= sum(streams.cut_file(spool, most) for spool in self._spools)
        self._size = size
