"""Outlines: what programs are expected to do, and how policies use it."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind.core.chains.outline import MOST, outline
from tradewind.core.estimates import Learned
from tradewind.core.log import Record
from tradewind.formats.load import load_text
from tradewind.model.command import Admitted, Ended, Predicted
from tradewind.model.machine import Billing, BootLag, MachineType
from tradewind.model.program import Program
from tradewind.model.scenario import Rehearsal, Scenario, Submission
from tradewind.model.units import MINUTE, SECOND, UNIT
from tradewind.policies.protocol import Policy
from tradewind.policies.registry import build
from tradewind.sim.driver import Simulation
from tradewind.sim.rehearsal import first_part

SLOW = MachineType("slow", UNIT, Billing(MINUTE), BootLag(10 * SECOND), limit=20, capabilities=frozenset("abc"))
FAST = MachineType("fast", 9 * UNIT, Billing(MINUTE), BootLag(10 * SECOND), limit=20, capabilities=frozenset("abc"))
STAGES = """\
deadline: 22m
steps:
  first: {run: "true", runtimes: {slow: 10m, fast: 4m}, capabilities: [a], outputs: {items: {value: json}}}
  second:
    for_each: "{{ first.items }}"
    expect: 3
    run: "true"
    runtimes: {slow: 10m, fast: 4m}
    capabilities: [b]
    outputs: {done: {value: json}}
  third: {run: "true", needs: [second], runtimes: {slow: 10m, fast: 4m}, capabilities: [c]}
"""


def program(text: str = STAGES) -> Program:
    found = load_text(text.encode(), "stages.yaml").content
    assert isinstance(found, Program)
    return found


def play(policy: Policy, work: Program, items: int = 3) -> list[Record]:
    rehearsal = Rehearsal(work, {}, {"first.items": list(range(items)), "second.done": 1})
    records: list[Record] = []
    submission = Submission(0, first_part(rehearsal), rehearsal=rehearsal)
    Simulation(Scenario((), (SLOW, FAST), interval=10 * SECOND), [submission], policy).run(records.append)
    return records


def end(records: list[Record]) -> int:
    (ended,) = [record for record in records if isinstance(record, Ended)]
    assert ended.status == "done"
    return ended.at


def test_an_outline_has_every_stage_with_the_expected_number_of_chains() -> None:
    found = outline(program(), {}, lambda _: None)
    assert [task.name for task in found.tasks] == ["first", "second", "second", "second", "third"]
    assert found.parents == ((), (0,), (0,), (0,), (1, 2, 3))


def test_what_earlier_runs_had_outweighs_what_is_declared() -> None:
    learned = Learned()
    learned.learn_items({"stages.second": 2})
    again = Learned()
    again.load(learned.changes())
    assert [task.name for task in outline(program(), {}, again.items).tasks].count("second") == 2


def test_a_list_that_depends_on_parameters_alone_is_counted() -> None:
    work = program("params: {n: {}}\nsteps: {a: {for_each: '{{ params.n }}', run: 'true'}}")
    assert len(outline(work, {"n": [1, 2, 3, 4]}, lambda _: 9).tasks) == 4


def test_an_outline_stays_small_whatever_loops_promise() -> None:
    first = "a: {run: 'true', outputs: {n: {value: json}}}"
    text = f"steps: {{{first}, b: {{for_each: '{{{{ a.n }}}}', expect: 900000, run: 'true'}}}}"
    assert len(outline(program(text), {}, lambda _: None).tasks) <= MOST + 1


@pytest.mark.parametrize("policy", ["scs+", "scs", "greedy", "gain"])
def test_a_deadline_is_met_by_looking_ahead_and_missed_without(policy: str) -> None:
    sighted = build(policy)
    blind = replace(build(policy), looks_ahead=False)
    assert end(play(sighted, program())) <= 22 * MINUTE
    assert end(play(blind, program())) > 22 * MINUTE


def test_pfa_sees_the_stages_to_come() -> None:
    wide = program(STAGES.replace("expect: 3", "expect: 12"))
    seen = [r for r in play(build("pfa"), wide, items=12) if isinstance(r, Admitted)]
    assert seen
    with_outline, without = (play(p, wide, items=12) for p in (build("pfa"), replace(build("pfa"), looks_ahead=False)))
    assert end(with_outline) <= end(without)


@given(
    expected=st.integers(0, 6),
    items=st.integers(0, 6),
    policy=st.sampled_from(("scs+", "scs", "pfa", "plf", "scf", "greedy", "gain", "capability")),
)
@settings(max_examples=80, deadline=None)
def test_runs_end_whatever_was_expected_of_them(expected: int, items: int, policy: str) -> None:
    work = program(STAGES.replace("expect: 3", f"expect: {expected}").replace("deadline: 22m", "deadline: 60m"))
    chosen = build(policy)
    rehearsal = Rehearsal(work, {}, {"first.items": list(range(items)), "second.done": 1})
    simulation = Simulation(
        Scenario((), (SLOW, FAST), interval=10 * SECOND),
        [Submission(0, first_part(rehearsal), rehearsal=rehearsal)],
        chosen,
    )
    records: list[Record] = []
    simulation.run(records.append)
    end(records)
    assert not simulation.state.expected
    (admitted,) = [record for record in records if isinstance(record, Admitted)]
    assert admitted.tasks == 1


def test_a_deadline_that_cannot_be_met_is_foreseen_at_admission() -> None:
    tight = program(STAGES.replace("deadline: 22m", "deadline: 8m"))
    foreseen = [record for record in play(build("scs+"), tight) if isinstance(record, Predicted)]
    assert foreseen
    assert foreseen[0].at == 0
    assert foreseen[0].slack is not None
    assert foreseen[0].slack < 0
