"""Why a call did not end well."""


class Failure(Exception):  # noqa: N818 - it is what `Broke` reports
    """A call cannot begin, or has not left what it should."""

    def __init__(self, cause: str, reason: str) -> None:
        self.cause = cause
        self.reason = reason
        super().__init__(reason)


def unwritable(folder: str, problem: OSError) -> Failure:
    """The failure of making a folder or a file in it."""
    if isinstance(problem, FileExistsError):
        return Failure("start", f"folder {folder} is already there")
    return Failure("start", f"cannot write to folder {folder}: {problem.strerror}")
