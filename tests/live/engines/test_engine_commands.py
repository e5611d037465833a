"""Shell commands: their folder, environment, inputs, outputs and exit codes."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_rig import Rig, shell

from tradewind.live.engines.local import LocalEngine
from tradewind.live.port import Broke, Done, Order
from tradewind.live.worker.shells import words_anywhere
from tradewind.model.action import Call, Container, Output, Ref, Shell

STDOUT = {"text": Output(value="stdout")}


def test_leaves_a_folder_with_its_command_output_and_exit_code(rig: Rig, machine: int) -> None:
    folder, done = rig.done(machine, shell("echo hello; echo oops >&2"))
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "command.sh": "echo hello; echo oops >&2\n",
        "out": "hello\n",
        "err": "oops\n",
        "exitcode": "0\n",
    }
    assert done.usage.cpu > 0
    assert done.usage.memory > 100_000


def test_good_ends_share_a_file_as_long_as_it_is_there(rig: Rig) -> None:
    machine = rig.machine()
    first, second = ((rig.done(machine, shell("true"))[0] / "exitcode") for _ in range(2))
    assert first.samefile(second)
    second.unlink()
    first.unlink()
    third = rig.done(machine, shell("true"))[0] / "exitcode"
    assert third.read_text() == "0\n"
    assert third.stat().st_nlink == 1


@pytest.mark.parametrize(("command", "code"), [("exit 3", 3), ("kill -9 $$", 137), ("no-such-program", 127)])
def test_an_exit_code_breaks_the_attempt(rig: Rig, machine: int, command: str, code: int) -> None:
    folder, broke = rig.broke(machine, shell(f"echo before; {command}"))
    assert (broke.cause, broke.reason, broke.call) == ("error", f"exit code {code}", "task")
    assert (folder / "exitcode").read_text() == f"{code}\n"
    assert broke.tail


def test_the_tail_holds_the_last_lines_of_the_errors(rig: Rig, machine: int) -> None:
    _, broke = rig.broke(machine, shell("seq 100 >&2; echo other; exit 1"))
    assert broke.tail.splitlines()[-1] == "100"
    assert len(broke.tail.splitlines()) == 20


def test_knows_who_it_is(rig: Rig, machine: int) -> None:
    command = "echo $TRADEWIND_RUN_ID $TRADEWIND_TASK_ID $TRADEWIND_ATTEMPT $TRADEWIND_CPUS $TRADEWIND_MEMORY_MB $MINE"
    call = shell(command, name="align[2]", outputs=STDOUT, environment={"MINE": "yes"})
    _, done = rig.done(machine, call, run="r7", cpus=3, memory=500_000_000)
    assert done.results == {"align[2]": {"text": "r7 align[2] 1 3 500 yes"}}


def test_a_checkpoint_folder_outlives_the_attempt(rig: Rig, machine: int, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    command = "cat $TRADEWIND_CHECKPOINT_DIR/state || true; echo more >> $TRADEWIND_CHECKPOINT_DIR/state"
    rig.done(machine, shell(command), checkpoint=str(kept))
    _, done = rig.done(machine, shell(command, outputs=STDOUT), checkpoint=str(kept))
    assert done.results["task"] == {"text": "more"}


def test_inputs_are_quoted_for_the_shell(rig: Rig, machine: int) -> None:
    inputs = {
        "word": "it's; rm -rf $HOME `x`",
        "list": ["a b", "c"],
        "n": 1.5,
        "yes": True,
        "no": None,
        "map": {"k": 1},
    }
    command = 'for w in {{ word }} {{list}} {{ n }} {{yes}} x{{ no }} {{ map }}; do echo "<$w>"; done'
    _, done = rig.done(machine, shell(command, inputs=inputs, outputs=STDOUT))
    words = ["it's; rm -rf $HOME `x`", "a b", "c", "1.5", "true", "x", '{"k": 1}']
    assert done.results["task"]["text"].splitlines() == [f"<{word}>" for word in words]


def test_inputs_are_exported(rig: Rig, machine: int) -> None:
    inputs = {"in-file": "a b", "list": ["x y", "z"], "long": "l" * 200_000}
    command = 'echo "$INPUT_IN_FILE|$INPUT_LIST|${INPUT_LONG-}"'
    _, done = rig.done(machine, shell(command, inputs=inputs, outputs=STDOUT))
    assert done.results["task"]["text"] == "a b|x y\nz|"


def test_an_unknown_name_in_a_command_stops_it(rig: Rig, machine: int) -> None:
    _, broke = rig.broke(machine, shell("echo {{ nme }}", inputs={"name": 1}))
    assert (broke.cause, broke.reason) == ("start", "the command uses the input 'nme', which is missing")


def test_an_input_that_is_no_json_stops_only_its_order(rig: Rig, machine: int) -> None:
    fine, bad = shell("true"), shell("true", inputs={"x": object()})
    orders = [
        Order("run", 900_000 + index, 1, machine, "chain", (call,), str(rig.root / f"json{index}"))
        for index, call in enumerate((fine, bad, fine))
    ]
    rig.engine.start(orders)
    assert rig.expect(Broke)[:5] == (900_001, 1, machine, "start", "an input is not JSON")
    assert {rig.expect(Done).unit for _ in range(2)} == {900_000, 900_002}


def test_what_nobody_thought_of_breaks_one_attempt(rig: Rig, machine: int) -> None:
    order = Order("run", 900_003, 1, machine, "chain", (shell("true"),), str(rig.root) + "/null\0")
    rig.engine.start([order])
    broke = rig.expect(Broke)
    assert (broke.unit, broke.cause) == (900_003, "error")
    assert "embedded null byte" in broke.reason
    rig.done(machine, shell("true"))


@pytest.mark.parametrize("names_shell", [False, True])
def test_other_users_do_not_see_a_command_among_the_processes(rig: Rig, machine: int, *, names_shell: bool) -> None:
    action = Shell("x={{ key }}; tr '\\0' ' ' < /proc/$$/cmdline; true", shell="/bin/sh -e" if names_shell else "")
    _, done = rig.done(machine, Call("task", action, inputs={"key": "s3cr3t"}, outputs=STDOUT))
    assert done.results["task"]["text"].split()[-1] == "command.sh"
    assert "s3cr3t" not in done.results["task"]["text"]


def test_a_very_long_command_runs(rig: Rig, machine: int) -> None:
    _, done = rig.done(machine, shell("echo " + "x" * 300_000 + " | wc -c", outputs=STDOUT))
    assert done.results["task"]["text"].strip() == "300001"


def test_outputs_are_files_and_values(rig: Rig, machine: int) -> None:
    outputs = {
        "one": Output(path="one.txt"),
        "found": Output(path="*.dat"),
        "parts": Output(path="parts/**/*.csv", many=True),
        "text": Output(value="stdout"),
        "last": Output(value="json"),
        "read": Output(value="answer.json"),
    }
    command = """
    touch one.txt only.dat; mkdir -p parts/deep; touch parts/b.csv parts/deep/a.csv
    echo '[1, 2]' > answer.json; echo first; echo '{"n": 3}'
    """
    folder, done = rig.done(machine, shell(command, outputs=outputs))
    assert done.results["task"] == {
        "one": str(folder / "one.txt"),
        "found": str(folder / "only.dat"),
        "parts": [str(folder / "parts/b.csv"), str(folder / "parts/deep/a.csv")],
        "text": 'first\n{"n": 3}',
        "last": {"n": 3},
        "read": [1, 2],
    }


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (Output(path="none.txt"), "no file 'none.txt' was left behind"),
        (Output(path="*", many=True), "no file '*' was left behind"),
        (Output(path="../*/exitcod?"), "should be one file"),
        (Output(value="json"), "the last line of stdout is not JSON"),
        (Output(value="none.json"), "cannot read"),
    ],
)
def test_a_missing_output_breaks_the_attempt(rig: Rig, machine: int, output: Output, reason: str) -> None:
    _, broke = rig.broke(machine, shell("true", outputs={"it": output}))
    assert broke.cause == "missing"
    assert broke.reason.startswith("output 'it': ")
    assert reason in broke.reason


def test_a_chain_hands_outputs_on(rig: Rig, machine: int) -> None:
    make = shell(
        "echo content > file.txt; echo '{\"deep\": [4, 5]}'",
        name="make[0]",
        outputs={
            "file": Output(path="file.txt"),
            "data": Output(value="json"),
        },
    )
    use = shell(
        "cat {{ file }}; echo {{ item }}",
        name="use",
        outputs=STDOUT,
        inputs={
            "file": Ref("make[0]", "file"),
            "item": Ref("make[0]", "data", ("deep", 1)),
        },
    )
    folder, done = rig.done(machine, make, use)
    assert done.results["use"] == {"text": "content\n5"}
    assert sorted(path.name for path in folder.iterdir()) == ["1-make.0", "2-use"]
    assert (folder / "2-use" / "exitcode").read_text() == "0\n"


def test_a_reference_to_nothing_is_missing(rig: Rig, machine: int) -> None:
    make = shell("echo '[]'", name="make", outputs={"data": Output(value="json")})
    _, broke = rig.broke(machine, make, shell("echo {{ x }}", inputs={"x": Ref("make", "data", (0,))}))
    assert (broke.cause, broke.reason, broke.call) == ("missing", "output 'data' of 'make' has nothing at 0", "task")


def test_a_chain_ends_with_its_first_error(rig: Rig, machine: int) -> None:
    folder, broke = rig.broke(machine, shell("true", name="a"), shell("exit 5", name="b"), shell("true", name="c"))
    assert (broke.call, broke.reason) == ("b", "exit code 5")
    assert not (folder / "3-c").exists()


def test_a_folder_that_is_there_is_put_aside(rig: Rig, machine: int) -> None:
    folder, _ = rig.done(machine, shell("echo old"))
    rig.engine.start([Order("run", 999_999, 1, machine, "chain", (shell("echo new"),), str(folder))])
    rig.expect(Done)
    assert (folder / "out").read_text() == "new\n"
    assert folder.with_name(f"{folder.name}~1").joinpath("out").read_text() == "old\n"


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    yield from _mounted(tmp_path / "full", "size=16k,nr_inodes=4")


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    yield from _mounted(tmp_path / "fixed", "size=16k,ro")


def _mounted(folder: Path, options: str) -> Iterator[Path]:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("needs the right to mount")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_is_told(rig: Rig, machine: int, full_disk: Path) -> None:
    rig.root, before = full_disk, rig.root
    try:
        reasons = [rig.broke(machine, shell("true"))[1] for _ in range(3)]
    finally:
        rig.root = before
    assert {broke.cause for broke in reasons} <= {"start", "error"}
    assert "No space left on device" in reasons[-1].reason
    rig.done(machine, shell("true"))


def test_a_read_only_folder_is_told(rig: Rig, machine: int, read_only: Path) -> None:
    rig.root, before = read_only, rig.root
    try:
        _, broke = rig.broke(machine, shell("true"))
    finally:
        rig.root = before
    assert broke.cause == "start"
    assert broke.reason.endswith("Read-only file system")


def test_a_folder_inside_a_file_is_told(rig: Rig, machine: int, tmp_path: Path) -> None:
    rig.root, before = tmp_path / "file", rig.root
    rig.root.touch()
    try:
        _, broke = rig.broke(machine, shell("true"))
    finally:
        rig.root = before
    assert broke.cause == "start"
    assert broke.reason.endswith("Not a directory")


def test_commands_run_side_by_side(rig: Rig, machine: int, tmp_path: Path) -> None:
    """Each end of a named pipe waits for the other."""
    os.mkfifo(tmp_path / "pipe")
    rig.start(machine, shell(f"echo hello > {tmp_path}/pipe"))
    rig.start(machine, shell(f"cat {tmp_path}/pipe"))
    assert {rig.expect(Done).results == {"task": {}} for _ in range(2)} == {True}


def test_a_container_needs_a_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tools are looked for where the keeper looks, so it takes a new engine."""
    monkeypatch.setenv("PATH", str(tmp_path))
    bare = Rig(lambda listener: LocalEngine(listener, tmp_path, grace=0.5), tmp_path)
    try:
        _, broke = bare.broke(bare.machine(), Call("task", Container("alpine", "true")))
    finally:
        bare.close()
    assert (broke.cause, broke.reason) == ("start", "container: none of podman, docker, apptainer is installed")


def test_a_container_gets_its_folder_and_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "podman"
    tool.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    other = Rig(lambda listener: LocalEngine(listener, tmp_path, grace=0.5), tmp_path)
    try:
        call = Call("task", Container("alpine", "echo {{ x }}"), inputs={"x": "a b"}, outputs=STDOUT)
        folder, done = other.done(other.machine(), call, cpus=2, memory=1000)
    finally:
        other.close()
    words = done.results["task"]["text"].splitlines()
    assert words[:2] == ["run", "--rm"]
    shell, *rest = words_anywhere("echo 'a b'", file="command.sh")
    assert words[-7:] == ["--entrypoint", shell, "alpine", *rest]
    assert words[words.index("--workdir") + 1] == str(folder)
    assert words[words.index("--volume") + 1] == f"{folder}:{folder}"
    assert "INPUT_X" in words
    assert (folder / "command.sh").read_text() == "echo 'a b'\n"
