"""Random programs: whatever the order of results, and reloaded at any step, they become the same chains and outputs."""

import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from chain_replay import Run, at_random
from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind.core.chains import link
from tradewind.model.action import Json, Output, Shell
from tradewind.model.program import Loop, Program, Step
from tradewind.model.requirement import Requirement
from tradewind.model.workflow import Task, Workflow

KINDS = (Requirement(), Requirement(), Requirement(frozenset({"gpu"})))


class Invented(Mapping[str, Mapping[str, Json]]):
    """Results that depend on the call alone: each gives a list of up to two numbers."""

    def __getitem__(self, call: str) -> Mapping[str, Json]:
        code = zlib.crc32(call.encode())
        return {"list": [code % 7, code % 5][: code % 3]}

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def get(self, call: str, _: object = None) -> Mapping[str, Json]:
        return self[call]


INVENTED = Invented()


@st.composite
def bodies(draw: Any, seen: tuple[str, ...], variables: tuple[str, ...], prefix: str, depth: int) -> list[Step]:
    """Steps that look at each other, at steps and variables around them, and hold bodies of their own."""
    steps: list[Step] = []
    for number in range(draw(st.integers(1, 4 if depth else 3))):
        name = f"{prefix}{number}"
        here = (*seen, *(step.id for step in steps))
        looks = draw(st.lists(st.sampled_from(here), max_size=2, unique=True)) if here else []
        words = [f"{{{{ {look}.list }}}}" for look in looks]
        if variables and draw(st.booleans()):
            words.append(f"{{{{ {draw(st.sampled_from(variables))} }}}}")
        if looks and draw(st.integers(0, 4)) == 0:
            words.append(f"{{{{ default({looks[0]}.list, [0]) + [len(default({looks[-1]}.list, ''))] }}}}")
        when: Json = True
        if here and draw(st.integers(0, 4)) == 0:
            when = f"{{{{ len({draw(st.sampled_from(here))}.list) > 0 }}}}"
        needs = tuple(draw(st.lists(st.sampled_from(here), max_size=1))) if here else ()
        kind = draw(st.sampled_from(["act", "act", "act", "group", "loop", "feed"] if depth else ["act"]))
        loop = None
        if kind in ("loop", "feed"):
            lists: list[Json] = [[1, 2], [], [3], *(f"{{{{ {look}.list }}}}" for look in here)]
            feed = "{{ steps['" + name + "_0'].list if round < 2 else null }}" if kind == "feed" else ""
            loop = Loop(draw(st.sampled_from(lists)), f"{name}_v", feed)
        if kind == "act":
            outputs = {"list": Output(value="json")}
            requirement = draw(st.sampled_from(KINDS))
            alone = draw(st.integers(0, 9)) == 0
            command = " ".join((name, *words))
            steps.append(
                Step(
                    name,
                    name,
                    Shell(command),
                    outputs=outputs,
                    requirement=requirement,
                    alone=alone,
                    when=when,
                    needs=needs,
                )
            )
        else:
            inner_variables = variables if loop is None else (*variables, loop.variable, "index")
            inside = draw(bodies(here, inner_variables, f"{name}_", depth - 1))
            given = {"list": f"{{{{ {inside[-1].id}.list }}}}"}
            steps.append(Step(name, name, steps=tuple(inside), gives=given, when=when, needs=needs, loop=loop))
    return steps


@st.composite
def programs(draw: st.DrawFn) -> Program:
    steps = draw(bodies((), (), "s", 2))
    return Program(
        "p", tuple(draw(st.permutations(steps))), outputs={step.id: f"{{{{ {step.id}.list }}}}" for step in steps}
    )


@settings(max_examples=1500)
@given(programs(), st.integers(0, 99))
def test_the_order_of_results_makes_no_difference(program: Program, seed: int) -> None:
    first = Run(program, INVENTED).complete()
    assert first.generator.is_done or first.generator.faults
    for order in range(3):
        other = Run(program, INVENTED).complete(at_random(seed + order), reload=True)
        assert other.end == first.end


@settings(max_examples=1500)
@given(programs(), st.integers(0, 99))
def test_results_replayed_in_any_order_lead_to_the_same_state(program: Program, seed: int) -> None:
    run = Run(program, INVENTED)
    half = Run(program, INVENTED)
    choose = at_random(seed)
    done: list[str] = []
    while run.open and len(done) < 5:
        ready = sorted(run.open)
        done.append(ready[choose(ready)])
        run.finish(done[-1])
    waiting = set(done)
    while waiting:  # in the order of their ids, as far as they are open
        for chain in sorted(waiting & set(half.open)):
            half.finish(chain)
            waiting.discard(chain)
    assert half.all == run.all
    assert half.open == run.open


@st.composite
def flat(draw: st.DrawFn) -> tuple[Program, Workflow]:
    count = draw(st.integers(1, 10))
    rows = [sorted(draw(st.sets(st.integers(0, at - 1), max_size=3))) if at else [] for at in range(count)]
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=count, max_size=count))
    outputs = {"list": Output(value="json")}
    steps = tuple(
        Step(
            f"t{at}",
            "t",
            Shell(" ".join(f"{{{{ t{one}.list }}}}" for one in rows[at])),
            outputs=outputs,
            requirement=kinds[at],
        )
        for at in range(count)
    )
    tasks = tuple(Task(f"t{at}", "t", kinds[at]) for at in range(count))
    return Program("p", steps), Workflow("w", tasks, tuple(map(tuple, rows)))


@settings(max_examples=1500)
@given(flat())
def test_a_program_without_loops_becomes_the_chains_of_the_workflow(both: tuple[Program, Workflow]) -> None:
    program, workflow = both
    run = Run(program, INVENTED).complete()
    assert {tuple(call.id for call in chain.calls) for chain in run.all.values()} == {
        tuple(workflow.tasks[at].id for at in chain) for chain in link(workflow).chains
    }
