"""The status of the runs of a folder, and whether a process is working on unfinished ones."""

import shlex
import time
from collections.abc import Sequence
from pathlib import Path

from tradewind.client.backend import Plain
from tradewind.client.open import FOLDER
from tradewind.client.shapes import plain_run
from tradewind.live.folder import is_worked_in
from tradewind.live.notes import predicted_note
from tradewind.live.store.pages import Head, Pages
from tradewind.model.units import Time

OPEN = ("active", "suspended", "interrupted")
"""Statuses of unfinished runs; the store knows them all as active."""


class Standing:
    """A source of run statuses."""

    def __init__(self, folder: Path, pages: Pages, *, is_shared: bool) -> None:
        """`is_shared`: whether a process in another folder may work on the runs, because their store is elsewhere."""
        self._folder = folder
        self._pages = pages
        self._is_shared = is_shared

    def shown(self, heads: Sequence[Head]) -> list[Plain]:
        """Return runs as shown to users; an abandoned one with the command that resumes it."""
        is_attended = all(head.ended is not None for head in heads) or self.is_attended()
        if not is_attended:  # read again: runs may have ended in the meantime, and their session exited for that reason
            latest = self._pages.heads([head.number for head in heads])
            heads = [latest.get(head.number, head) for head in heads]
        counts, suspended = self._pages.counts([head.number for head in heads]), self._suspended()
        shown = []
        for head in heads:
            run = plain_run(head, counts[head.number], self._predicted(head))
            if head.ended is None:
                if not is_attended:
                    run |= {"status": "interrupted", "remedy": self._remedy()}
                if head.number in suspended:
                    run["status"] = "suspended"
            shown.append(run)
        return shown

    def is_attended(self) -> bool:
        """Return whether a process is working on the runs, in this folder or in another one with the same store."""
        if is_worked_in(self._folder):
            return True
        if not self._is_shared:
            return False
        from tradewind.live.leading import NAME, holder_in  # noqa: PLC0415 - seldom needed

        led = "SELECT 1 FROM leases WHERE name = :name AND until > :now AND holder <> :us"
        return bool(self._pages.fetch(led, name=NAME, now=time.time_ns() // 1000, us=holder_in(self._folder)))

    def _remedy(self) -> str:
        where = "" if self._folder == FOLDER.resolve() else f" --folder {shlex.quote(str(self._folder))}"
        return f"tradewind run --resume{where}"

    def _suspended(self) -> set[int]:
        statement = "SELECT name FROM notes WHERE name LIKE :name AND value = 'true'"
        return {int(name.partition("/")[2]) for (name,) in self._pages.fetch(statement, name="suspended/%")}

    def _predicted(self, head: Head) -> Time | None:
        """Return the predicted end of a run."""
        is_over = head.ended is not None or head.deadline is None
        return None if is_over else self._pages.note(predicted_note(head.number))
