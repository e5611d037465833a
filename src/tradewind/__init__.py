"""Tradewind runs workloads of workflows on rented machines, and simulates them with the same decisions."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tradewind.agent.sdk import iterations
    from tradewind.api import Future, RunError, Task, TaskError, Workflow, task, workflow

__all__ = ["Future", "RunError", "Task", "TaskError", "Workflow", "iterations", "task", "workflow"]


def __getattr__(name: str) -> Any:
    """What is looked up only when somebody asks, for that takes longer than starting a worker should."""
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415

        return version("tradewind")
    if name == "iterations":
        from tradewind.agent.sdk import iterations  # noqa: PLC0415

        return iterations
    if name in __all__:
        from tradewind import api  # noqa: PLC0415

        return getattr(api, name)
    raise AttributeError(name)
