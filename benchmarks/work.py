"""The work that is measured: the same jobs as programs of ours, and the functions that they and the peers call."""

from tradewind.model.action import Function, Output
from tradewind.model.program import Loop, Program, Step
from tradewind.model.workflow import Task, Workflow

VALUE = {"value": Output(value="return")}


def nothing(item: int = 0) -> int:
    """A function that does nothing."""
    return item


def after(value: int) -> int:
    """The next number."""
    return value + 1


def join(values: list[int]) -> int:
    """How many there are."""
    return len(values)


def commands(count: int) -> Workflow:
    """Commands that do nothing, each a unit of its own."""
    return Workflow("commands", tuple(Task(f"t{i}", "t", command="true") for i in range(count)), ((),) * count)


def calls(count: int) -> Program:
    """Functions that do nothing, each a unit of its own."""
    step = Step("call", action=Function("benchmarks.work:nothing"), loop=Loop(list(range(count))))
    return Program("calls", (step,))


def chains(count: int, length: int, *, alone: bool) -> Program:
    """Lines of functions, each of which takes what the one before it returned."""
    steps = [
        Step(
            f"c{line}s{place}",
            action=Function("benchmarks.work:after"),
            inputs={"value": 0 if place == 0 else f"{{{{ c{line}s{place - 1}.value }}}}"},
            outputs=VALUE,
            alone=alone,
        )
        for line in range(count)
        for place in range(length)
    ]
    return Program("chains", tuple(steps))


def fork_join(stages: int, width: int) -> Program:
    """Stages of independent functions; between two of them one that takes the results of all."""
    steps: list[Step] = []
    for stage in range(stages):
        wait = (f"join{stage - 1}",) if stage else ()
        steps.append(
            Step(
                f"fork{stage}",
                action=Function("benchmarks.work:nothing"),
                loop=Loop(list(range(width))),
                inputs={"item": "{{ item }}"},
                outputs=VALUE,
                needs=wait,
            )
        )
        values = {"values": f"{{{{ fork{stage}.value }}}}"}
        steps.append(Step(f"join{stage}", action=Function("benchmarks.work:join"), inputs=values, outputs=VALUE))
    return Program("fork-join", tuple(steps))
