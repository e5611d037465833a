"""The rules by which steps become chains, one by one."""

from collections.abc import Mapping, Sequence

import pytest
from chain_replay import Run, at_random, results_of

from tradewind.core.chains import Generator, ProgramError, prepare
from tradewind.model.action import Derived, Function, Json, Limits, Output, Ref, Shell
from tradewind.model.expression import resolve
from tradewind.model.program import Kind, Loop, Parameter, Program, Retries, Step
from tradewind.model.requirement import Requirement, amounts
from tradewind.model.workflow import Retry

GPU = Requirement(frozenset({"gpu"}))


def step(id: str, *after: str, **fields: object) -> Step:
    """A step that uses the outputs of others."""
    command = " ".join((id, *(f"{{{{ {name}.out }}}}" for name in after)))
    fields.setdefault("outputs", {"out": Output(path=f"{id}.txt")})
    return Step(id, id, Shell(command), **fields)  # type: ignore[arg-type]


def chains(*steps: Step, given: Mapping[str, Mapping[str, Json]] | None = None) -> list[list[str]]:
    """The calls of each chain, in the order of their ids."""
    run = Run(Program("p", steps), given or {}).complete()
    assert run.generator.is_done
    return [[call.id for call in chain.calls] for _, chain in sorted(run.all.items())]


def test_a_linear_run_is_one_chain() -> None:
    assert chains(step("a"), step("b", "a"), step("c", "b")) == [["a", "b", "c"]]


def test_a_fork_ends_a_chain() -> None:
    assert chains(step("a"), step("b", "a"), step("c", "a")) == [["a"], ["b"], ["c"]]


def test_a_fork_that_one_successor_leads_does_not() -> None:
    assert chains(step("a"), step("b", "a"), step("c", "a", "b")) == [["a", "b", "c"]]
    assert chains(step("a"), step("b", "a"), step("c", "b"), step("d", "a", "c")) == [["a", "b", "c", "d"]]


def test_a_fork_that_is_led_by_another_machine_does_not_end_a_chain_but_the_machine_does() -> None:
    assert chains(step("a"), step("b", "a", requirement=GPU), step("c", "a", "b")) == [["a"], ["b"], ["c"]]


def test_a_join_that_still_waits_begins_a_chain() -> None:
    assert chains(step("a"), step("b"), step("c", "a", "b"), step("d", "c")) == [["a"], ["b"], ["c", "d"]]


def test_a_join_with_something_that_ended_before_does_not() -> None:
    steps = step("a", requirement=GPU), step("b", "a"), step("c", "a", "b")
    assert chains(*steps) == [["a"], ["b", "c"]]


def test_a_join_is_cut_even_if_the_other_side_happens_to_have_finished() -> None:
    program = Program("p", (step("w"), step("z"), step("x", "w"), step("y", "x", "z")))
    late, early = Run(program, {}), Run(program, {})
    for chain in ("w", "z", "y"):
        late.finish(chain)
    for chain in ("z", "w", "y"):
        early.finish(chain)
    assert late.end == early.end
    assert sorted(late.all) == ["w", "y", "z"]


def test_a_change_of_capabilities_or_amounts_ends_a_chain_and_nothing_is_united() -> None:
    big = Requirement(amounts=amounts(memory=8))
    run = Run(
        Program("p", (step("a"), step("b", "a", requirement=GPU), step("c", "b", requirement=big))), {}
    ).complete()
    assert {name: chain.requirement for name, chain in run.all.items()} == {"a": Requirement(), "b": GPU, "c": big}


@pytest.mark.parametrize("fields", [{"alone": True}, {"total": 5}])
def test_a_step_that_is_alone_or_has_an_overall_limit_is_a_chain_of_its_own(fields: dict[str, object]) -> None:
    assert chains(step("a"), step("b", "a", **fields), step("c", "b")) == [["a"], ["b"], ["c"]]


def test_order_without_data_links_too() -> None:
    assert chains(step("a"), step("b", needs=("a",))) == [["a", "b"]]


def test_what_must_be_known_beforehand_ends_a_chain() -> None:
    asks = step("b", when="{{ a.out != '' }}")
    names = step("c", outputs={"out": Output(path="{{ b.out }}.gz")})
    warm = step("d", environment={"X": "{{ c.out }}"})
    assert chains(step("a"), asks, names, warm) == [["a"], ["b"], ["c"], ["d"]]


def test_what_is_computed_from_an_earlier_call_is_left_to_the_worker() -> None:
    uses = Step(
        "b",
        action=Function("m:f"),
        inputs={"name": "{{ a.out }}.gz", "pick": "{{ a.out }}", "n": [1, "{{ params.n }}"]},
    )
    program = Program("p", (step("a"), uses), {"n": Parameter(7)})
    run = Run(program, {})
    (chain,) = run.open.values()
    inputs = chain.calls[1].inputs
    assert inputs["pick"] == Ref("a", "out")
    assert inputs["n"] == [1, 7]
    assert isinstance(inputs["name"], Derived)
    assert resolve(inputs, {"a": {"out": "x"}}) == {"name": "x.gz", "pick": "x", "n": [1, 7]}


def test_expressions_of_a_command_become_inputs_once_each() -> None:
    program = Program(
        "p",
        (
            Step(
                "a",
                action=Shell("x {{ f }} {{ f + '1' }} {{ params.n }} {{ f + '1' }}"),
                inputs={"f": "{{ params.n }}.txt"},
            ),
        ),
        {"n": Parameter(3)},
    )
    (chain,) = Generator(program, {"n": 3}).begin()
    (call,) = chain.calls
    assert call.action == Shell("x {{ f }} {{ _1 }} {{ _2 }} {{ _1 }}")
    assert call.inputs == {"f": "3.txt", "_1": "3.txt1", "_2": 3}


def test_a_chain_is_as_patient_as_its_most_patient_step_and_lasts_as_long_as_all() -> None:
    often = Retries(error=Retry(3), growth=2.0)
    rarely = Retries(error=Retry(2), timeout=Retry(4))
    first = step("a", retries=often, runtime=5, runtimes={"big": 2}, limits=Limits(run=9))
    second = step("b", "a", retries=rarely, runtime=7, checkpoint=True)
    (chain,) = Generator(Program("p", (first, second)), {}).begin()
    assert (chain.retries.error.attempts, chain.retries.timeout.attempts, chain.retries.growth) == (3, 4, 2.0)
    assert (chain.runtime, dict(chain.runtimes), chain.checkpoint) == (12, {"big": 9}, True)
    assert [call.limits.run for call in chain.calls] == [9, None]
    assert chain.kind == "a+b"


def test_the_worker_is_given_no_more_than_an_expression_looks_up() -> None:
    first = step("a-b", outputs={"out": Output("o"), "other": Output("p")})
    uses = Step("b", action=Shell("x {{ basename(steps['a-b'].out) + params.n + item.x }}"))
    loop = Step("l", steps=(first, uses), loop=Loop([{"x": "!", "y": 2}]))
    (chain,) = Generator(Program("p", (loop,), {"n": Parameter("1"), "m": Parameter(2)}), {"n": "1", "m": 2}).begin()
    (derived,) = chain.calls[1].inputs.values()
    assert isinstance(derived, Derived)
    assert derived.names == {
        "steps": {"a-b": {"out": Ref("a-b[0]", "out")}},
        "params": {"n": "1"},
        "item": {"x": "!"},
    }
    assert resolve(derived, {"a-b[0]": {"out": "/f/o"}}) == "o1!"


def test_an_expression_over_a_skipped_step_and_one_that_has_not_run_waits_for_both() -> None:
    skipped = step("b", "a", when=False)
    either = Step("c", action=Shell("x {{ default(b.out, a.out) }}"))
    assert chains(step("a"), skipped, either) == [["a"], ["c"]]


def test_a_skipped_step_in_the_middle_of_a_chain_is_passed_over() -> None:
    assert chains(step("a"), step("b", "a", when=False), step("c", needs=("b",))) == [["a", "c"]]


def test_inputs_that_are_not_known_yet_can_be_computed_with_in_the_command() -> None:
    uses = Step("b", action=Shell("x {{ f }} {{ stem(f) }} {{ f[0] }}"), inputs={"f": "{{ a.out }}"})
    (chain,) = Generator(Program("p", (step("a"), uses)), {}).begin()
    assert resolve(chain.calls[1].inputs, {"a": {"out": "/f/o.txt"}}) == {"f": "/f/o.txt", "_1": "o", "_2": "/"}


# What goes wrong


def test_outputs_of_a_program_that_have_no_value_are_a_fault() -> None:
    run = Run(Program("p", (step("a"),), outputs={"x": "{{ a.out + 1 }}"}), {}).complete(reload=True)
    ((where, reason),) = run.generator.faults
    assert (where, "outputs.x" in reason, run.generator.is_done) == ("", True, False)


def test_an_included_program_checks_what_it_is_given() -> None:
    included = Program("q", (step("a"),), {"n": Parameter(required=True, kind=Kind.INT)})
    program = Program("p", (Step("s", include="q", inputs={"n": "{{ [1] }}"}),), includes={"q": included})
    run = Run(program, {})
    assert [fault.reason for fault in run.generator.faults] == ["the parameter 'n' must be a whole number, not a list"]


def faults(*steps: Step, given: Mapping[str, Mapping[str, Json]] | None = None) -> Sequence[tuple[str, str]]:
    run = Run(Program("p", steps), given or {}).complete(reload=True)
    assert not run.generator.is_done
    return run.generator.faults


def test_a_loop_over_something_that_is_no_list_is_a_fault_and_what_waits_for_it_never_starts() -> None:
    loop = step("b", loop=Loop("{{ a.out }}"))
    run = Run(Program("p", (step("a"), loop, step("c", "b"), step("d"))), {}).complete()
    assert [fault.step for fault in run.generator.faults] == ["b"]
    assert "takes a list, not text" in run.generator.faults[0].reason
    assert sorted(run.all) == ["a", "d"]


def test_a_loop_that_never_ends_is_a_fault() -> None:
    loop = step("a", loop=Loop([1], feed="{{ item + 1 }}", most=50))
    ((where, reason),) = faults(loop)
    assert (where, "more than 50 items" in reason) == ("a", True)


def test_an_expression_without_a_value_is_a_fault() -> None:
    ((where, reason),) = faults(step("a"), Step("b", action=Shell("{{ a.out.size }}"), alone=True))
    assert where == "b"
    assert "size" in reason


def test_a_result_that_lacks_an_output_is_a_fault() -> None:
    generator = Generator(Program("p", (step("a"),)), {})
    generator.begin()
    assert generator.finished("a", {"a": {}}) == []
    assert generator.faults == [("a", "left no output 'out'")]
    assert not generator.is_done


def test_a_chain_finishes_once() -> None:
    generator = Generator(Program("p", (step("a"),)), {})
    (chain,) = generator.begin()
    generator.finished("a", results_of(chain, {}))
    with pytest.raises(KeyError, match="no chain 'a' is open"):
        generator.finished("a", results_of(chain, {}))


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ((step("a", "b"), step("b", "a")), "wait for each other: a, b"),
        ((step("a", "x"),), "nothing is named 'x'"),
        ((step("a"), step("a")), "same id"),
        ((Step("a"),), "nothing to do"),
        ((Step("a", include="x"),), "no program named 'x'"),
    ],
)
def test_a_program_that_makes_no_sense_is_refused(steps: tuple[Step, ...], reason: str) -> None:
    with pytest.raises(ProgramError, match=reason):
        prepare(Program("p", steps))


def test_names_of_chains_are_fit_for_folders_and_never_clash() -> None:
    def name(id: str) -> str:
        (chain,) = Generator(Program("p", (step("x"),)), {}).begin()
        return type(chain)(id, chain.calls).name

    assert name("qc[1].align[0.2]") == "qc.1.align.0-2"
    assert name("v[0.1][2]") != name("v[0][1.2]")
    long = "a" * 400
    assert len(name(long + "b")) < 200
    assert name(long + "b") != name(long + "c")


def item_step(id: str) -> Step:
    return Step(id, id, Shell(f"{id} {{{{ item }}}}"), outputs={"out": Output(path=f"{id}.txt")})


def loop(id: str, over: Json, **fields: object) -> Step:
    """A loop over a list that runs one step for each item, and collects what that leaves behind."""
    inside = item_step(f"{id}_step")
    gives = {"all": f"{{{{ {id}_step.out }}}}"}
    return Step(id, id, steps=(inside,), gives=gives, loop=Loop(over), **fields)  # type: ignore[arg-type]


THREE = (loop("a", [1, 2, 3]), loop("b", "{{ a.all }}"), loop("c", "{{ steps['b']['all'] }}"))


def test_a_loop_over_what_another_one_collects_begins_as_items_arrive() -> None:
    run = Run(Program("p", THREE), {})
    assert sorted(run.all) == ["a_step[0]", "a_step[1]", "a_step[2]"]
    run.finish("a_step[1]")
    assert sorted(run.generator.open) == ["a_step[0]", "a_step[2]", "b_step[1]"]
    assert run.all["b_step[1]"].calls[0].inputs == {"_1": "/a_step[1]/a_step.txt"}
    run.finish("b_step[1]")
    assert sorted(run.generator.open) == ["a_step[0]", "a_step[2]", "c_step[1]"]
    run.finish("c_step[1]")
    assert not run.generator.is_done
    for chain in ("a_step[2]", "a_step[0]", "b_step[0]", "c_step[0]", "b_step[2]"):
        run.finish(chain)
    assert sorted(run.generator.open) == ["c_step[2]"]
    run.finish("c_step[2]")
    assert run.generator.is_done


@pytest.mark.parametrize("seed", range(20))
def test_the_order_in_which_items_arrive_changes_neither_chains_nor_outputs(seed: int) -> None:
    outputs = {name: f"{{{{ {name}.all }}}}" for name in "abc"}
    program = Program("p", (*THREE, step("end", inputs={"x": "{{ c.all }}"})), outputs=outputs)
    run = Run(program, {}).complete(at_random(seed), reload=True)
    assert run.generator.is_done
    assert run.end == Run(program, {}).complete().end
    assert run.generator.outputs()["c"] == [f"/c_step[{at}]/c_step.txt" for at in range(3)]


def test_a_loop_that_waits_for_the_whole_of_another_one_still_does() -> None:
    for later in (
        loop("b", "{{ a.all }}", needs=("a",)),
        loop("b", "{{ a.all[1:] }}"),
        loop("b", "{{ a.all }}", when="{{ len(a.all) > 0 }}"),
    ):
        run = Run(Program("p", (THREE[0], later)), {})
        run.finish("a_step[0]")
        assert sorted(run.generator.open) == ["a_step[1]", "a_step[2]"]
        assert run.complete().generator.is_done


def test_a_step_inside_that_looks_at_the_whole_list_waits_for_it() -> None:
    inside = Step("each", "each", Shell("each {{ item }} {{ len(a.all) }}"), outputs={"out": Output(path="x")})
    run = Run(Program("p", (THREE[0], Step("b", steps=(inside,), loop=Loop("{{ a.all }}")))), {})
    run.finish("a_step[0]")
    run.finish("a_step[2]")
    assert sorted(run.generator.open) == ["a_step[1]"]
    run.finish("a_step[1]")
    assert sorted(run.generator.open) == ["each[0]", "each[1]", "each[2]"]
    assert run.complete().generator.is_done


def test_a_loop_that_is_late_takes_what_has_been_collected_until_then() -> None:
    run = Run(Program("p", (THREE[0], step("x"), loop("b", "{{ a.all }}", needs=("x",)))), {})
    run.finish("a_step[2]")
    assert sorted(run.generator.open) == ["a_step[0]", "a_step[1]", "x"]
    run.finish("x")
    assert sorted(run.generator.open) == ["a_step[0]", "a_step[1]", "b_step[2]"]
    assert run.complete().generator.is_done
    assert len(run.all) == 7


def test_a_loop_over_nothing_ends_the_loops_over_it() -> None:
    program = Program("p", (loop("a", []), loop("b", "{{ a.all }}")), outputs={"b": "{{ b.all }}"})
    run = Run(program, {})
    assert run.generator.outputs() == {"b": []}


def test_too_many_items_are_a_fault_also_as_they_arrive() -> None:
    few = Step("b", steps=(item_step("b_step"),), loop=Loop("{{ a.all }}", most=1))
    run = Run(Program("p", (THREE[0], few)), {})
    run.finish("a_step[0]")
    run.finish("a_step[1]")
    run.finish("a_step[2]")
    assert [fault.step for fault in run.generator.faults] == ["b"]
    assert not run.generator.is_done
