"""Linking a static workflow, against the definition spelled out."""

import random
import time
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind.core.chains import Linked, link
from tradewind.model.requirement import Requirement
from tradewind.model.workflow import File, Retry, Task, Workflow, edges
from tradewind.sim.generators import FAMILIES, generate

KINDS = (Requirement(), Requirement(frozenset({"gpu"})))


@st.composite
def workflows(draw: st.DrawFn) -> Workflow:
    count = draw(st.integers(1, 14))
    dense = draw(st.sampled_from([1, 2, 4]))
    parents = [
        tuple(sorted(draw(st.sets(st.integers(max(0, at - 5), at - 1), max_size=dense)))) if at else ()
        for at in range(count)
    ]
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=count, max_size=count))
    return Workflow("w", tuple(Task(f"t{at}", "t", kinds[at]) for at in range(count)), tuple(parents))


def defined(workflow: Workflow) -> set[tuple[int, int]]:
    """All pairs that follow each other in a chain, by the definition."""
    count = len(workflow.tasks)
    before: list[set[int]] = []
    for row in workflow.parents:
        before.append(set(row).union(*(before[parent] for parent in row)))
    after = [{node for node in range(count) if at in before[node]} for at in range(count)]
    return {
        (one, other)
        for one, other in edges(workflow)
        if before[other] == before[one] | {one}
        and after[one] == after[other] | {other}
        and workflow.tasks[one].requirement == workflow.tasks[other].requirement
    }


def is_sound(linked: Linked) -> bool:
    """Whether every task is in one chain, and chains wait for each other as their tasks do."""
    workflow = linked.workflow
    assert sorted(at for chain in linked.chains for at in chain) == list(range(len(workflow.tasks)))
    assert all(linked.chain_of[at] == number for number, chain in enumerate(linked.chains) for at in chain)
    for parent, child in edges(workflow):
        one, other = linked.chain_of[parent], linked.chain_of[child]
        if one == other:
            assert linked.chains[one].index(parent) < linked.chains[one].index(child)
        else:
            assert one in linked.parents[other]
    return all(parent < number for number, row in enumerate(linked.parents) for parent in row)


@settings(max_examples=400)
@given(workflows())
def test_links_exactly_what_the_definition_says(workflow: Workflow) -> None:
    linked = link(workflow)
    assert {pair for chain in linked.chains for pair in pairwise(chain)} == defined(workflow)
    assert is_sound(linked)


@given(st.sampled_from(sorted(FAMILIES)), st.integers(20, 200), st.integers(0, 9))
def test_links_workflows_of_every_family(family: str, tasks: int, seed: int) -> None:
    workflow = generate(family, tasks, random.Random(seed))
    linked = link(workflow)
    assert {pair for chain in linked.chains for pair in pairwise(chain)} == defined(workflow)
    assert is_sound(linked)
    condensed = linked.condensed()
    assert sum(task.runtime or 0 for task in condensed.tasks) == sum(task.runtime or 0 for task in workflow.tasks)


def test_a_chain_becomes_one_task_with_all_that_its_tasks_ask_for() -> None:
    a = Task("a", "x", runtime=2, outputs=(File("f"),), retry=Retry(3), timeout=5, command="one")
    b = Task(
        "b", "y", runtime=3, inputs=(File("f"), File("g")), retry=Retry(2, {"memory": 4}), timeout=6, command="two"
    )
    (task,) = link(Workflow("w", (a, b), ((), (0,)))).condensed().tasks
    assert (task.id, task.name, task.runtime, task.timeout, task.command) == ("a", "x+y", 5, 11, "one\ntwo")
    assert (task.inputs, task.outputs) == ((File("g"),), (File("f"),))
    assert (task.retry.attempts, dict(task.retry.by_cause)) == (3, {"memory": 4})


def test_time_grows_with_tasks_and_edges_alone() -> None:
    def cost(width: int) -> float:
        """Seconds per edge of a web in which every search is long and in vain."""
        parents = [()] + [tuple(range(max(0, at - 40), at, 3)) for at in range(1, width)]
        workflow = Workflow("w", tuple(Task(f"t{at}", "t") for at in range(width)), tuple(parents))
        begun = time.process_time()
        link(workflow)
        return (time.process_time() - begun) / sum(map(len, parents))

    cost(1_000)
    assert min(cost(20_000) for _ in range(2)) < 4 * max(cost(2_000) for _ in range(3))
