"""Exceptions for runs that do not succeed."""

from tradewind.model.errors import TradewindError


class RunError(TradewindError):
    """A run that did not succeed."""


class TaskError(RunError):
    """A failed task whose own exception is not available."""


class RunInterruptedError(RunError):
    """A run that was interrupted; `tradewind run --resume` continues it."""


class RemoteTraceback(Exception):  # noqa: N818 - shown as the cause of another
    """The original traceback, from the process that ran the task."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"\n{self.text}"
