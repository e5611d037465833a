"""Logs to report on: one made by hand, others simulated."""

from typing import Any

from tradewind.core.log import Encoder, Record, Sink
from tradewind.core.state import State
from tradewind.model.machine import MachineType
from tradewind.model.scenario import Scenario, Submission
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, SECOND, Money
from tradewind.model.workflow import Task, Workflow
from tradewind.sim.defaults import MACHINES
from tradewind.sim.simulate import simulate

_TASKS = (("split", "split"), ("work_1", "work"), ("work_2", "work"), ("join", "join"))
FORK = Workflow("fork", tuple(Task(id, name, runtime=10 * SECOND) for id, name in _TASKS), ((), (0,), (0,), (1, 2)))


def fork_log() -> list[dict[str, Any]]:
    """A split, two works of which one fails once and one waits for the budget, and a join; costs are 1 a second."""
    run = {"run": 0, "tenant": "lab"}
    return [
        {"at": 0.0, "event": "submitted", "seq": 1, "tenant": "lab", "workflow": "fork"},
        {
            "at": 0.0,
            "event": "admitted",
            "cause": 1,
            **run,
            "workflow": "fork",
            "first": 0,
            "tasks": 4,
            "deadline": 60.0,
        },
        {"at": 0.0, "event": "eligible", "cause": 1, **run, "change": 1},
        {"at": 0.0, "event": "acquire", "cause": 1, "machine": 0, "kind": "m", "tenant": "lab", "because": "1 task"},
        {"at": 0.0, "event": "charged", "cause": 1, "machine": 0, "tenant": "lab", "amount": 120.0, "until": 120.0},
        {"at": 10.0, "event": "machine-ready", "seq": 2, "machine": 0},
        start(10.0, 2, 0, "split"),
        finished(20.0, 3, 0, "split"),
        {"at": 20.0, "event": "eligible", "cause": 3, **run, "change": 2},
        start(20.0, 3, 2, "work_2"),
        {"at": 25.0, "event": "cut", "cause": 4, "tenant": "lab", "kind": "m", "asked": 1, "granted": 0}
        | {"because": "0 of the budget is left, and each takes 1"},
        {"at": 30.0, "event": "failed", "seq": 5, "unit": 2, "attempt": 1, "machine": 0, "reason": "exit code 1"}
        | {"run": 0, "task": "work_2"},
        {"at": 35.0, "event": "timer", "seq": 6},
        start(35.0, 6, 2, "work_2", 2),
        start(45.0, 7, 1, "work_1"),
        finished(55.0, 8, 1, "work_1"),
        finished(60.0, 9, 2, "work_2", 2),
        {"at": 60.0, "event": "eligible", "cause": 9, **run, "change": 1},
        start(60.0, 9, 3, "join"),
        finished(80.0, 10, 3, "join"),
        {"at": 80.0, "event": "ended", "cause": 10, **run, "status": "done"},
        {"at": 100.0, "event": "release", "cause": 11, "machine": 0, "because": "idle"},
        {"at": 100.0, "event": "refunded", "cause": 11, "machine": 0, "tenant": "lab", "amount": 20.0},
    ]


def start(at: float, cause: int, unit: int, task: str, attempt: int = 1) -> dict[str, Any]:
    plain = {"at": at, "event": "start", "cause": cause, "unit": unit, "attempt": attempt, "machine": 0}
    return plain | {"run": 0, "task": task}


def finished(at: float, seq: int, unit: int, task: str, attempt: int = 1) -> dict[str, Any]:
    plain = {"at": at, "event": "finished", "seq": seq, "unit": unit, "attempt": attempt, "machine": 0}
    return plain | {"run": 0, "task": task}


def simulated(
    workflow: Workflow, machines: tuple[MachineType, ...] = MACHINES, *, seed: int = 0, budget: Money | None = None
) -> list[dict[str, Any]]:
    """The plain log of a simulation."""
    records: list[dict[str, Any]] = []

    def sink_for(state: State) -> Sink:
        encoder = Encoder(state)

        def sink(record: Record) -> None:
            records.append(encoder.encode(record))

        return sink

    tenants = (Tenant("default", budget, MINUTE),)
    policy = "demand" if budget is None else "pfa"
    simulate(Scenario((), machines, tenants=tenants, policy=policy, seed=seed), [Submission(0, workflow)], [sink_for])
    return records
