"""Start slow parts of `tradewind run` before its options are parsed: the keeper, and loading the workflow.

It guesses from the raw command line. If the guess is wrong, the processes are discarded.
"""

import gc
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from tradewind.cli.wish import Wish
from tradewind.live.ahead import Ahead, is_small
from tradewind.live.engines.keeper import Newborn

_SUFFIXES = (".yaml", ".yml", ".json")
_ASKING = {"-h", "--help", "--dry-run"}


class Early:
    """Processes that were started early."""

    def __init__(self, words: Sequence[str] = ()) -> None:
        self._file: Path | None = None
        self._ahead: Ahead | None = None
        self._keeper: Newborn | None = None
        if words[:1] != ["run"] or not _ASKING.isdisjoint(words):
            return
        files = [Path(word) for word in words[1:] if word.endswith(_SUFFIXES)]
        if len(files) == 1 and not any(word.startswith("--machines") for word in words):
            self.ahead(files[0])  # started first, because it takes longer than a keeper
        self.keeper()

    def ahead(self, file: Path) -> Ahead | None:
        """Return the loading of a file, starting it if necessary; None if loading ahead does not help."""
        if self._file != file:
            self._abandon_file()
            if is_small(file):
                self._file, self._ahead = file, Ahead(file)
        return self._ahead

    def keeper(self) -> Newborn:
        """Return a keeper that is starting."""
        if self._keeper is None:
            self._keeper = Newborn()
        return self._keeper

    def close(self) -> None:
        """End processes that were not used."""
        self._abandon_file()
        if self._keeper is not None:
            self._keeper.abandon()
            self._keeper = None

    def _abandon_file(self) -> None:
        if self._ahead is not None:
            self._ahead.abandon()
        self._file = self._ahead = None


def fulfil(wish: Wish, early: Early) -> int:
    """Run the request with the processes that were started early, and return the exit code."""
    with closing(early):
        is_for_this_host = wish.machines is None and not wish.services and wish.replay is None
        ahead = early.ahead(wish.file) if wish.file is not None and is_for_this_host else None
        keeper = None if wish.dry_run else early.keeper()
        gc.disable()  # module loading produces no garbage, so collections only cost time
        from tradewind.cli.running import carry_out  # noqa: PLC0415 - slow

        gc.enable()
        return carry_out(wish, ahead, keeper)
