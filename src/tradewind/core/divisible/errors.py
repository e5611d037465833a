"""Why a call is refused; nothing has changed then."""

from typing import Literal, TypeAlias

Why: TypeAlias = Literal["unknown", "stale", "invalid", "conflict", "denied"]


class Refused(Exception):  # noqa: N818  # an answer rather than a defect
    """A call that cannot be done; `stale` ones come from a lease that is over, and should be dropped by the caller."""

    def __init__(self, why: Why, message: str) -> None:
        super().__init__(message)
        self.why: Why = why
