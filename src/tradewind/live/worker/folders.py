"""The folders of attempts. To make one, or a file in it, is much of what a small call costs.

So a folder that was left empty is used again, and the exit code of all that ends well is one file with many names.
"""
# pathlib costs more than the calls that it wraps
# ruff: noqa: PTH102, PTH103, PTH104, PTH108, PTH118, PTH120, PTH208

import os

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class Folders:
    """Makes the folders of a worker's attempts."""

    def __init__(self) -> None:
        self._spare: list[str] = []
        """Empty folders that nobody can know of."""
        self._success = ""
        """A file that says 0."""

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

    def note(self, folder: str, code: int) -> None:
        """Leave the exit code of a command in its folder."""
        path = os.path.join(folder, "exitcode")
        if code == 0 and self._success:
            try:
                os.link(self._success, path)
            except OSError:  # it is gone, has too many names, or lies elsewhere
                pass
            else:
                return
        write(path, f"{code}\n")
        self._success = path if code == 0 else self._success


def write(path: str, text: str) -> None:
    """Write a new file."""
    data = text.encode()
    file = os.open(path, _NEW, 0o666)
    try:
        os.write(file, data)
    except OSError:
        os.unlink(path)  # so that it can be tried again
        raise
    finally:
        os.close(file)


def _put_aside(folder: str) -> None:
    """Keep what is in a folder under another name."""
    number = 1
    while os.path.lexists(f"{folder}~{number}"):
        number += 1
    os.rename(folder, f"{folder}~{number}")
