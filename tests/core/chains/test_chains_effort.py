"""The work that the expressions of one run may cause, however many there are, and the values its steps may be given."""

import pytest
from chain_replay import Run

from tradewind.core.chains import Generator
from tradewind.core.chains.outline import outline
from tradewind.model import values
from tradewind.model.action import Json, Output, Shell
from tradewind.model.program import Loop, Program, Step

COSTLY = "{{ len(str(range(2000))) > 0 }}"
VALUE = {"out": Output(value="json")}


def loop(items: int, *, when: Json = True, inputs: dict[str, Json] | None = None) -> Program:
    """A step, and a loop whose items look at what it gave."""
    inner = Step("c", "c", Shell("c"), when=when, inputs=inputs or {})
    over = f"{{{{ range({items}) if a.out else [] }}}}"
    return Program("p", (Step("a", "a", Shell("a"), outputs=VALUE), Step("b", "b", loop=Loop(over), steps=(inner,))))


def finished(program: Program, gives: Json) -> Generator:
    run = Run(program, {"a": {"out": gives}})
    run.finish("a")
    return run.generator


def test_a_loop_of_costly_expressions_fails_once_its_run_has_used_up_its_effort(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(values, "RUN_EFFORT", 50_000)
    generator = finished(loop(100, when=COSTLY), 1)
    assert 5 < len(generator.open) < 20
    assert "goes over more than 50,000 items" in generator.faults[0].reason


def test_nothing_is_evaluated_once_the_effort_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "RUN_EFFORT", 50_000)
    weighed = 0
    weight = values.weight

    def counted(value: Json, most: int) -> int:
        nonlocal weighed
        weighed += 1
        return weight(value, most)

    monkeypatch.setattr(values, "weight", counted)
    generator = finished(loop(10_000, when=COSTLY), 1)
    assert len(generator.faults) > 9_900
    assert weighed < 500


def test_cheap_expressions_cost_a_run_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "RUN_EFFORT", 1_000)
    generator = finished(loop(1_000, when="{{ len(str([a.out, item])) > 0 }}", inputs={"x": "{{ a.out }}"}), "x" * 500)
    assert len(generator.open) == 1_000
    assert not generator.faults


def test_loops_of_one_run_share_its_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "RUN_EFFORT", 50_000)
    inner = Step("c", "c", loop=Loop("{{ range(3) }}"), steps=(Step("d", "d", Shell("d"), when=COSTLY),))
    steps = tuple(Step(f"b{at}", "b", loop=Loop("{{ range(2) }}"), steps=(inner,)) for at in range(10))
    generator = Generator(Program("p", steps), {})
    assert 5 < len(generator.begin()) < 20


@pytest.mark.parametrize(
    "inputs", [{"x": "{{ a.out }}"}, {"x": {"y": ["{{ a.out }}"]}}, {"x": "<{{ a.out }}>"}], ids=["plain", "in", "text"]
)
def test_a_large_value_is_not_given_to_any_number_of_steps(inputs: dict[str, Json]) -> None:
    generator = finished(loop(1_000, inputs=inputs), "x" * (4 << 20))
    assert 50 < len(generator.open) < 70, "256 MB in all"
    assert "files" in generator.faults[0].reason


def test_a_large_value_is_counted_where_a_worker_evaluates_what_it_is_part_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "PASSED", 1_000)
    first = Step("c", "c", Shell("c"), outputs=VALUE)
    then = Step("d", "d", Shell("d"), inputs={"x": "{{ [a.out, c.out] }}"})
    over = Loop("{{ range(100) if a.out else [] }}")
    steps = (Step("a", "a", Shell("a"), outputs=VALUE), Step("b", "b", loop=over, steps=(first, then)))
    run = Run(Program("p", steps), {"a": {"out": "x" * 64_000}}).complete()
    assert run.generator.faults
    assert all("files" in fault.reason for fault in run.generator.faults)


@pytest.mark.parametrize("gives", ["{{ b.all }}", ["{{ b.all }}"], "{{ {'x': b.all} }}"])
def test_a_large_value_is_not_collected_any_number_of_times(gives: Json) -> None:
    inner = Step("c", "c", Shell("c"))
    body = Step("b", "b", loop=Loop("{{ range(1000) if a.out else [] }}"), steps=(inner,), gives={"all": "{{ a.out }}"})
    program = Program("p", (Step("a", "a", Shell("a"), outputs=VALUE), body), outputs={"out": gives})
    run = Run(program, {"a": {"out": "x" * (4 << 20)}}).complete()
    assert not run.generator.is_done
    assert "files" in run.generator.faults[0].reason


def test_drawing_an_outline_is_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "RUN_EFFORT", 50_000)
    over = Loop("{{ range(2) if len(str(range(2000))) else [] }}")
    inner = (Step("c", "c", Shell("c")),)
    drawn = outline(
        Program("p", tuple(Step(f"b{at}", "b", loop=over, steps=inner) for at in range(20))), {}, lambda _: 1
    )
    assert 20 < len(drawn.tasks) < 40
