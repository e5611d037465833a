"""Why a call did not end well."""

import errno

_FULL = (errno.ENOSPC, errno.EDQUOT)


class Failure(Exception):  # noqa: N818 - it is what `Broke` reports
    """A call cannot begin, or has not left what it should."""

    def __init__(self, cause: str, reason: str, *, lacks_room: bool = False) -> None:
        self.cause = cause
        self.reason = reason
        self.lacks_room = lacks_room
        """Whether a disk is full, which somebody may mend."""
        super().__init__(reason)


def unwritable(folder: str, problem: OSError, cause: str = "start") -> Failure:
    """The failure of making a folder or a file in it."""
    if isinstance(problem, FileExistsError):
        return Failure(cause, f"folder {folder} is already there")
    lacks_room = problem.errno in _FULL
    return Failure(cause, f"cannot write to folder {folder}: {problem.strerror}", lacks_room=lacks_room)
