"""The folders of attempts. To make one is much of what a small call costs: one that was left empty is used again."""
# pathlib costs more than the calls that it wraps
# ruff: noqa: PTH102, PTH103, PTH104, PTH120, PTH208

import os


class Folders:
    """Makes the folders of a worker's attempts."""

    def __init__(self) -> None:
        self._spare: list[str] = []
        """Empty folders that nobody can know of."""

    def make(self, folder: str) -> None:
        """Make a new folder; that around it, of the run, is there already, unless this is its first attempt."""
        if self._spare:
            try:
                os.rename(self._spare.pop(), folder)
            except OSError:
                pass
            else:
                return
        try:
            os.mkdir(folder)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(folder), exist_ok=True)
            os.mkdir(folder)
        except FileExistsError:  # of an attempt that the store forgot when this host failed
            _put_aside(folder)
            os.mkdir(folder)

    def give_back(self, folder: str) -> None:
        """Take the folder of an attempt that has returned nothing; if it has left nothing either, another gets it."""
        try:
            if not os.listdir(folder):
                self._spare.append(folder)
        except OSError:
            pass


def _put_aside(folder: str) -> None:
    """Keep what is in a folder under another name."""
    number = 1
    while os.path.lexists(f"{folder}~{number}"):
        number += 1
    os.rename(folder, f"{folder}~{number}")
