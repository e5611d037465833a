"""Workflows in Python: functions become tasks, their calls become steps, and the same core runs them.

from tradewind import task, workflow

@task(cpus=2)
def align(sample: str) -> int: ...

@workflow
def reads(samples: list[str]) -> list[int]:
    return align.map(samples)

reads.run(["a", "b"])
"""

from tradewind.api.errors import RemoteTraceback, RunError, RunInterruptedError, TaskError
from tradewind.api.graph import Future, GraphError
from tradewind.api.tasks import Task, task
from tradewind.api.workflows import Workflow, workflow

__all__ = [
    "Future",
    "GraphError",
    "RemoteTraceback",
    "RunError",
    "RunInterruptedError",
    "Task",
    "TaskError",
    "Workflow",
    "task",
    "workflow",
]
