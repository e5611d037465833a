"""What `tradewind run` can begin before it has even read its own options: the keeper, and the loading of the workflow.

It looks at the words of the command as they are. Should it guess wrong, what it has begun is thrown away.
"""

from collections.abc import Sequence
from pathlib import Path

from tradewind.live.ahead import Ahead, is_small
from tradewind.live.engines.keeper import Newborn

_SUFFIXES = (".yaml", ".yml", ".json")
_ASKING = {"-h", "--help", "--dry-run"}


class Early:
    """Processes that are on their way."""

    def __init__(self, words: Sequence[str] = ()) -> None:
        self._file: Path | None = None
        self._ahead: Ahead | None = None
        self._keeper: Newborn | None = None
        if words[:1] != ["run"] or not _ASKING.isdisjoint(words):
            return
        self.keeper()
        files = [Path(word) for word in words[1:] if word.endswith(_SUFFIXES)]
        if len(files) == 1 and not any(word.startswith("--machines") for word in words):
            self.ahead(files[0])

    def ahead(self, file: Path) -> Ahead | None:
        """A file that is being loaded; None: that makes no sense."""
        if self._file != file:
            self._abandon_file()
            if is_small(file):
                self._file, self._ahead = file, Ahead(file)
        return self._ahead

    def keeper(self) -> Newborn:
        """A keeper that is starting."""
        if self._keeper is None:
            self._keeper = Newborn()
        return self._keeper

    def close(self) -> None:
        """Throw away what nobody has taken."""
        self._abandon_file()
        if self._keeper is not None:
            self._keeper.abandon()
            self._keeper = None

    def _abandon_file(self) -> None:
        if self._ahead is not None:
            self._ahead.abandon()
        self._file = self._ahead = None
