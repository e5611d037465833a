"""How a run ends for whoever wants its result, where it does not end well."""

from tradewind.model.errors import TradewindError


class RunError(TradewindError):
    """A run that did not end well."""


class TaskError(RunError):
    """A task that failed, where its own exception could not be brought back."""


class RunInterruptedError(RunError):
    """A run that was interrupted; `tradewind run --resume` goes on with it."""


class RemoteTraceback(Exception):  # noqa: N818 - shown as the cause of another
    """Where an exception came from, in the process that ran the task."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"\n{self.text}"
