"""Rows: all tracks of one machine type, oldest first, in blocks that can be skipped if none has room.

All tracks are considered, however many there are. If only some were, including those that are free first, then no
machine would ever become idle, and none could be returned.
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from tradewind.model.units import Duration, Time
from tradewind.policies.deadline.shape import NEVER
from tradewind.policies.deadline.track import Track

BLOCK = 16
"""Number of tracks that are skipped together."""
SHORT = 4 * BLOCK
"""Rows up to this length have no blocks: looking at each track is as fast."""
Mark: TypeAlias = tuple[Time, Duration]
"""When the first of some tracks is permanently free; no earlier gap is longer."""


class Row:
    """The tracks of one machine type, on which plans are tried."""

    __slots__ = ("_marks", "_new", "tracks")

    def __init__(self, tracks: Sequence[Track], new: Time) -> None:
        self.tracks = list(tracks)
        self._new = new
        """When a machine requested now is ready."""
        self._marks: list[Mark | None] | None = None
        """One entry per block, if there are blocks; None: to be recomputed."""

    def roomy(self, time: Duration, latest: Time) -> Iterable[tuple[int, Sequence[Track]]]:
        """Return all tracks on which something of a length may start by some time, possibly with others.

        They come in pieces, each with the position of its first track.
        """
        if len(self.tracks) <= SHORT:
            return ((0, self.tracks),)
        marks = self._marked()
        # A block can be skipped if all its tracks are busy past `latest` and none has a long enough gap.
        firsts = (number * BLOCK for number, (tail, gap) in enumerate(marks) if tail <= latest or gap >= time)
        return ((first, self.tracks[first : first + BLOCK]) for first in firsts)

    def add(self, track: Track) -> None:
        """Append a track."""
        self.tracks.append(track)
        self.changed(len(self.tracks) - 1)

    def remove_last(self) -> None:
        """Remove the last track."""
        self.tracks.pop()
        self.changed(len(self.tracks))

    def changed(self, number: int) -> None:
        """Record that a track was modified, added or removed."""
        if self._marks is not None:
            block = number // BLOCK
            # Only the marks of this block become invalid; an empty last block disappears.
            self._marks[block : block + 1] = [None] if block * BLOCK < len(self.tracks) else []

    def _marked(self) -> Sequence[Mark]:
        tracks = self.tracks
        if self._marks is None:
            self._marks = [None] * -(-len(tracks) // BLOCK)
        found: list[Mark] = []
        for block, mark in enumerate(self._marks):
            known = mark
            if known is None:
                known = self._marks[block] = _mark(tracks[block * BLOCK : (block + 1) * BLOCK], self._new)
            found.append(known)
        return found


def _mark(tracks: Sequence[Track], new: Time) -> Mark:
    first: Time = NEVER
    longest: Duration = 0
    for track in tracks:
        gap = track.gap
        if track.machine is None and track.opens > new:  # it could be requested earlier
            gap += track.opens - new
        if gap > longest:
            longest = gap
        if track.tail < first:
            first = track.tail
    return first, longest
