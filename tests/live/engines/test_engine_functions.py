"""Python functions in warm interpreters."""

from pathlib import Path
from typing import Any

import pytest
from engine_rig import Rig, alive, function, gone, shell

from tradewind.live.port import Done
from tradewind.model.action import Call, Function, Output, Ref

MODULE = "engine_functions"


def test_returns_a_value_and_leaves_an_empty_folder(rig: Rig, machine: int) -> None:
    folder, done = rig.done(machine, function(f"{MODULE}:add", a=2, b=3))
    assert done.results == {"task": {"value": 5}}
    assert list(folder.iterdir()) == []
    assert done.usage.memory > 1_000_000


def test_a_folder_in_which_nothing_was_left_serves_the_next(rig: Rig, machine: int) -> None:
    """Unless somebody was told of it: what a function returns may name its folder."""
    empty = rig.done(machine, Call("task", Function(f"{MODULE}:quit_with"), {"code": None}))[0]
    told = rig.done(machine, function(f"{MODULE}:add", a=2, b=3))[0]
    assert (empty.exists(), told.exists()) == (False, True)
    written, _ = rig.done(machine, Call("task", Function(f"{MODULE}:talk"), {"text": "words"}))
    command, _ = rig.done(machine, shell("pwd"))
    assert sorted(path.name for path in written.iterdir()) == ["err", "out"]
    assert (command / "out").read_text().strip() == str(command)


def test_entries_of_a_mapping_are_outputs(rig: Rig, machine: int) -> None:
    outputs = {"sum": Output(value="return"), "product": Output(value="return")}
    _, done = rig.done(machine, Call("task", Function(f"{MODULE}:both"), {"a": 2, "b": 5}, outputs))
    assert done.results == {"task": {"sum": 7, "product": 10}}


def test_an_interpreter_is_used_again(rig: Rig) -> None:
    machine = rig.machine()
    counts = [rig.done(machine, function(f"{MODULE}:count"))[1].results["task"]["value"] for _ in range(3)]
    assert counts == [1, 2, 3]


def test_functions_run_side_by_side_in_their_own_interpreters(rig: Rig) -> None:
    machine = rig.machine()
    for _ in range(2):
        rig.start(machine, function(f"{MODULE}:nap", call="nap", duration=0.1), function(f"{MODULE}:pid"))
    assert len({rig.expect(Done).results["task"]["value"] for _ in range(2)}) == 2


def test_a_chain_of_functions_and_commands_hands_outputs_on(rig: Rig, machine: int) -> None:
    first = function(f"{MODULE}:add", call="first", a=1, b=1)
    second = function(f"{MODULE}:add", call="second", a=Ref("first", "value"), b=1)
    third = shell(
        "expr {{ x }} + 1", name="third", inputs={"x": Ref("second", "value")}, outputs={"n": Output(value="json")}
    )
    last = function(f"{MODULE}:add", call="last", a=Ref("third", "n"), b=Ref("first", "value"))
    folder, done = rig.done(machine, first, second, third, last)
    assert done.results["last"] == {"value": 6}
    assert sorted(path.name for path in folder.iterdir()) == ["1-first", "2-second", "3-third", "4-last"]


def test_what_is_printed_is_captured(rig: Rig, machine: int) -> None:
    folder, _ = rig.done(machine, Call("task", Function(f"{MODULE}:talk"), {"text": "words"}))
    assert (folder / "out").read_text() == "words\nwords of a child\n"
    assert (folder / "err").read_text() == "words of errors\n"


def test_what_is_written_past_python_is_captured(rig: Rig, machine: int) -> None:
    folder, done = rig.done(
        machine, Call("task", Function(f"{MODULE}:talk_past_python"), {"text": "words"}, {"x": Output(value="stdout")})
    )
    assert done.results == {"task": {"x": "words"}}
    folder, _ = rig.done(machine, function(f"{MODULE}:add", a=1, b=1))
    assert not (folder / "out").exists()


def test_a_flood_past_python_is_cut(rig: Rig, machine: int) -> None:
    folder, _ = rig.done(machine, Call("task", Function(f"{MODULE}:flood"), {"size": 3_000_000, "pause": 0.3}))
    assert (folder / "out").stat().st_size < (1 << 20) + 5000
    assert (folder / "out").read_bytes().endswith(b"the end\n")


def test_files_lie_in_the_folder(rig: Rig, machine: int) -> None:
    call = Call("task", Function(f"{MODULE}:write"), {"name": "a.txt", "text": "x"}, {"file": Output(path="*.txt")})
    folder, done = rig.done(machine, call)
    assert done.results == {"task": {"file": str(folder / "a.txt")}}


def test_an_exception_is_told_with_its_traceback(rig: Rig, machine: int) -> None:
    folder, broke = rig.broke(machine, function(f"{MODULE}:fail", message="no luck"))
    assert (broke.cause, broke.reason) == ("error", "RuntimeError: no luck")
    assert "in fail" in broke.tail
    assert "interpreter.py" not in broke.tail
    assert (folder / "err").exists()


@pytest.mark.parametrize(
    ("target", "inputs", "reason"),
    [
        ("leave", {"code": 3}, "its interpreter ended with exit code 3"),
        ("crash", {}, "its interpreter was killed by signal 11"),
        ("quit_with", {"code": 4}, "exit code 4"),
    ],
)
def test_a_crash_breaks_only_its_attempt(
    rig: Rig, machine: int, target: str, inputs: dict[str, Any], reason: str
) -> None:
    rig.start(machine, function(f"{MODULE}:nap", duration=0.2))
    _, broke = rig.broke(machine, function(f"{MODULE}:{target}", **inputs))
    assert (broke.cause, broke.reason) == ("error", reason)
    assert rig.expect(Done).results == {"task": {"value": None}}
    assert rig.done(machine, function(f"{MODULE}:add", a=1, b=1))[1].results["task"]["value"] == 2


def test_a_crash_in_a_chain_names_its_call(rig: Rig, machine: int) -> None:
    calls = [function(f"{MODULE}:add", call="a", a=1, b=1), function(f"{MODULE}:leave", call="b", code=1)]
    _, broke = rig.broke(machine, *calls, function(f"{MODULE}:add", call="c", a=1, b=1))
    assert broke.call == "b"


def test_an_exit_without_a_code_is_fine(rig: Rig, machine: int) -> None:
    rig.done(machine, function(f"{MODULE}:quit_with", code=None))


def test_paths_anywhere_in_what_is_returned_lead_to_the_folder(rig: Rig, machine: int) -> None:
    folder, done = rig.done(machine, function(f"{MODULE}:returned", what="path"))
    there = str(folder / "a/b")
    assert done.results["task"]["value"] == {"one": there, "more": [there, ["/c"]]}


@pytest.mark.parametrize(("what", "value"), [("tuple", [1, 2]), ("nothing", None)])
def test_returns_become_json(rig: Rig, machine: int, what: str, value: object) -> None:
    assert rig.done(machine, function(f"{MODULE}:returned", what=what))[1].results["task"]["value"] == value


@pytest.mark.parametrize(
    ("what", "reason"),
    [("set", "a set cannot be written as JSON"), ("huge", "more than 64 bits"), ("keys", "the key 1 of a mapping")],
)
def test_returns_that_are_no_json_are_refused(rig: Rig, machine: int, what: str, reason: str) -> None:
    _, broke = rig.broke(machine, function(f"{MODULE}:returned", what=what))
    assert broke.cause == "error"
    assert reason in broke.reason


@pytest.mark.parametrize("target", ["no_such_module:f", f"{MODULE}:no_such_function", "without_colon"])
def test_a_function_that_is_not_there_cannot_start(rig: Rig, machine: int, target: str) -> None:
    _, broke = rig.broke(machine, function(target))
    assert broke.cause == "start"
    assert broke.reason.startswith(f"cannot load {target!r}: ")


def test_the_environment_is_that_of_the_call(rig: Rig, machine: int) -> None:
    mine = Call(
        "task", Function(f"{MODULE}:environment"), {"name": "MINE"}, {"value": Output(value="return")}, {"MINE": "yes"}
    )
    assert rig.done(machine, mine)[1].results["task"]["value"] == "yes"
    for name, value in (("MINE", None), ("TRADEWIND_TASK_ID", "task"), ("TRADEWIND_ATTEMPT", "1")):
        _, done = rig.done(machine, function(f"{MODULE}:environment", name=name))
        assert done.results["task"]["value"] == value


def test_large_inputs_and_outputs_pass(rig: Rig, machine: int) -> None:
    text = "x" * 3_000_000
    call = Call("task", Function("builtins:dict"), {"text": text}, {"text": Output(value="return")})
    assert rig.done(machine, call)[1].results["task"]["text"] == text


@pytest.mark.parametrize("how", ["leave_child_behind", "daemonise"])
def test_nothing_is_left_behind(rig: Rig, machine: int, how: str) -> None:
    _, done = rig.done(machine, function(f"{MODULE}:{how}"))
    assert gone(lambda: alive(done.results["task"]["value"]))
    rig.done(machine, function(f"{MODULE}:add", a=1, b=1))


def test_modules_are_found_where_the_engine_says(rig: Rig, machine: int) -> None:
    assert Path(rig.done(machine, function("os:getcwd"))[1].results["task"]["value"]).parent == rig.root
