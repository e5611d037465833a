"""Chains that are made anew are those that were made first; the few at hand are no more than a short cut."""

import gc
import tracemalloc
from pathlib import Path

import pytest

from tradewind.core.chains.chain import Chain
from tradewind.core.chains.generator import Generator
from tradewind.live import open_chains
from tradewind.live.jobs import Job
from tradewind.model.action import Function, Output, Shell
from tradewind.model.program import Loop, Program, Step

VALUE = {"value": Output(value="json")}
PROGRAM = Program(
    "loops",
    (
        Step("first", action=Shell("echo 3"), outputs=VALUE),
        Step(
            "each",
            action=Shell("echo {{ item.x }} {{ index }} {{ first.value }}"),
            inputs={"item": "{{ item }}", "all": "{{ params }}"},
            outputs=VALUE,
            loop=Loop([{"x": 1}, {"x": 2}, {"x": 3}]),
        ),
        Step(
            "pair",
            loop=Loop("{{ each.value }}", variable="n"),
            steps=(
                Step("one", action=Shell("echo {{ n }}"), outputs=VALUE),
                Step("two", action=Function("m:f"), inputs={"one": "{{ one.value }}", "n": "{{ n }}"}, outputs=VALUE),
            ),
            gives={"value": "{{ two.value }}"},
        ),
    ),
)


def made(program: Program) -> dict[str, Chain]:
    """All chains of a program whose calls all give 7, as they are first made."""
    generator = Generator(program, {})
    found: dict[str, Chain] = {}
    waiting = generator.begin()
    while waiting:
        chain = waiting.pop(0)
        found[chain.id] = chain
        waiting += generator.finished(chain.id, {call.id: {"value": 7} for call in chain.calls})
    assert generator.is_done
    return found


@pytest.mark.parametrize("room", [0, 2, 100])
def test_any_open_chain_is_as_it_was_first_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    monkeypatch.setattr(open_chains, "AT_HAND", room)
    wanted = made(PROGRAM)
    assert len(wanted) == 7
    job = Job("run", PROGRAM, {}, tmp_path)
    tasks = list(job.begin()[0].tasks)
    ended = set()
    while tasks:
        id = tasks.pop().id  # the last one first: others stay open meanwhile
        assert {chain.id: chain for chain in job.chains.values()} == {
            each.id: wanted[each.id] for each in job.chains.values()
        }
        assert id in job.chains
        assert len(job.chains._at_hand) <= room
        following = job.finish(id, {call.id: {"value": 7} for call in job.chains[id].calls})
        assert following is not None
        tasks += following[0]
        ended.add(id)
        assert id not in job.chains
        assert job.chains.get(id) is None
    assert ended == set(wanted)


def test_what_is_run_instead_of_a_chain_is_held_until_it_has_ended(tmp_path: Path) -> None:
    job = Job("run", PROGRAM, {}, tmp_path)
    job.begin()
    rest = Chain("first", ())
    job.chains.replace(rest)
    assert job.chains["first"] is rest
    job.finish("first", {"first": {"value": 7}})
    assert job.chains.get("first") is None


def test_without_a_program_there_is_nothing_but_what_was_given() -> None:
    chains = open_chains.OpenChains()
    assert list(chains) == []
    assert chains.get("a") is None
    chains.replace(Chain("a", ()))
    assert "a" in chains


def test_an_item_that_waits_takes_little_room() -> None:
    items = 5_000
    program = Program("wide", (Step("call", action=Function("m:f"), loop=Loop(list(range(items)))),))
    tracemalloc.start()
    try:
        generator = Generator(program, {})
        before, _ = tracemalloc.get_traced_memory()
        generator.begin()
        gc.collect()  # empties the interpreter's free lists, which keep thousands of freed tuples as if in use
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(generator.open) == items
    assert (after - before) / items < 250, "bytes, the id of the chain included"
