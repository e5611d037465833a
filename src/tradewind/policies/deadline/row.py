"""Rows: all tracks of one machine type, oldest first, in blocks that are passed over as a whole where none has room.

Every track counts, however many there are. If only some were looked at, and among them those free first, then no
machine would ever fall idle, and none could go back.
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from tradewind.model.units import Duration, Time
from tradewind.policies.deadline.shape import NEVER
from tradewind.policies.deadline.track import Track

BLOCK = 16
"""Tracks that are passed over together."""
SHORT = 4 * BLOCK
"""Rows no longer than this are not divided: that would take as long as to look at each track."""
Mark: TypeAlias = tuple[Time, Duration]
"""When the first slot of some tracks is free for good; no gap before that is longer."""


class Row:
    """The tracks of one machine type; what is tried on it is written on copies."""

    __slots__ = ("_marks", "_new", "tracks")

    def __init__(self, tracks: Sequence[Track], new: Time, marks: list[Mark] | None = None) -> None:
        self.tracks = tracks
        self._new = new
        """When a machine that is asked for now can work."""
        if marks is None and len(tracks) > SHORT:
            marks = [_mark(tracks[first : first + BLOCK], new) for first in range(0, len(tracks), BLOCK)]
        self._marks = marks
        """One for each block, where there are blocks."""

    def roomy(self, time: Duration, latest: Time) -> Iterable[tuple[int, Sequence[Track]]]:
        """All tracks on which something that takes so long may begin by some time, with others beside them.

        They come in pieces, each with the place of its first track.
        """
        if self._marks is None:
            return ((0, self.tracks),)
        blocks = enumerate(self._marks)
        firsts = (number * BLOCK for number, (tail, gap) in blocks if tail <= latest or gap >= time)
        return ((first, self.tracks[first : first + BLOCK]) for first in firsts)

    def written(self, number: int, track: Track) -> "Row":
        """The same row with one track in another state, or one more at its end."""
        tracks = list(self.tracks)
        tracks[number : number + 1] = [track]
        if self._marks is None:
            return Row(tracks, self._new)
        marks = self._marks.copy()
        block, first = number // BLOCK, number - number % BLOCK
        marks[block : block + 1] = [_mark(tracks[first : first + BLOCK], self._new)]
        return Row(tracks, self._new, marks)


def _mark(tracks: Sequence[Track], new: Time) -> Mark:
    first: Time = NEVER
    longest: Duration = 0
    for track in tracks:
        gap = track.gap
        if track.machine is None and track.opens > new:  # it may open earlier
            gap += track.opens - new
        if gap > longest:
            longest = gap
        if track.tail < first:
            first = track.tail
    return first, longest
