"""Shells: errors are fatal unless a step says otherwise, and a plain command means the same to the fastest one."""

import os
import subprocess
from pathlib import Path

import pytest
from engine_rig import Rig

from tradewind.live.worker import containers, shells
from tradewind.live.worker.wire import PackedCall, PackedOrder
from tradewind.model.action import Call, Output, Shell

STDOUT = {"text": Output(value="stdout")}


@pytest.mark.parametrize("command", ["cat missing | sort > out", "false; echo on", "echo $UNSET_VARIABLE"])
def test_whatever_fails_in_a_command_is_fatal(rig: Rig, machine: int, command: str) -> None:
    _, broke = rig.broke(machine, Call("task", Shell(command)))
    assert broke.cause == "error"


@pytest.mark.parametrize(
    ("shell", "command"),
    [
        ("sh", "false | true"),
        ("bash -e", "false | true"),
        ("bash +e", "false; [[ -z $UNSET_VARIABLE ]]"),
        ("/bin/bash -c", "true"),
    ],
)
def test_a_step_chooses_its_shell(rig: Rig, machine: int, shell: str, command: str) -> None:
    rig.done(machine, Call("task", Shell(command, shell)))


def test_a_shell_that_is_not_there_says_so(rig: Rig, machine: int) -> None:
    _, broke = rig.broke(machine, Call("task", Shell("true", "/nowhere/zsh")))
    assert (broke.cause, broke.reason.partition(":")[0]) == ("start", "cannot start /nowhere/zsh")


def test_a_command_too_long_for_an_argument_is_as_strict(rig: Rig, machine: int) -> None:
    rig.broke(machine, Call("task", Shell(f"false | echo {'x' * 200_000}")))


@pytest.mark.parametrize("command", ["true", "cat a.txt -n", "./run.sh --n=3", "/usr/bin/env x", "timeout 5 cat\n"])
def test_a_plain_command_goes_to_sh(command: str) -> None:
    assert shells.words(command) == ["/bin/sh", "-c", command]


@pytest.mark.parametrize(
    "command",
    [
        "",
        " x",
        "echo -e x",
        "printf %q x",
        "test a == b",
        "source x",
        ". x",
        "A=1 x",
        "a\nb",
        "x | y",
        "x $Y",
        "x ~",
        "-x",
    ],
)
def test_what_shells_could_read_differently_goes_to_bash(command: str) -> None:
    assert shells.words(command) == [*shells.usual(), "-c", command]
    assert shells.usual()[1:] == ("-euo", "pipefail")


def test_what_bash_loads_first_counts_for_plain_commands_too() -> None:
    assert shells.words("true", (), {"BASH_ENV": "setup.sh"}) == [*shells.usual(), "-c", "true"]


def test_words_of_shells_are_known() -> None:
    """Bash itself tells which words it understands."""
    bash = subprocess.run(["bash", "-c", "compgen -bk"], capture_output=True, text=True, check=True)
    found = {word for word in bash.stdout.split() if shells.is_plain(f"{word} x")}
    assert found == {"true", "false"}


def test_without_bash_sh_is_strict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    shells.usual.cache_clear()
    try:
        assert shells.words("a | b") == ["/bin/sh", "-eu", "-c", "a | b"]
    finally:
        shells.usual.cache_clear()


@pytest.mark.parametrize(("has_bash", "code"), [(True, 1), (False, 0)])
def test_elsewhere_bash_is_used_if_there_is_one(tmp_path: Path, *, has_bash: bool, code: int) -> None:
    for name in ("sh", "bash") if has_bash else ("sh",):
        (tmp_path / name).symlink_to(f"/bin/{name}")
    script = tmp_path / "command.sh"
    script.write_text("false | true\n")
    for words in (shells.words_anywhere("false | true"), shells.words_anywhere("false | true", file=str(script))):
        assert subprocess.run(words, env=os.environ | {"PATH": str(tmp_path)}, check=False).returncode == code


def test_a_container_has_the_shell_of_its_step() -> None:
    order = PackedOrder("r", 1, 1, "/f", "", 1, None, 1, {}, [])
    call = PackedCall("c", "container", "", "image", {}, {}, {}, None, None, (False,), ("zsh", "-e"))
    words = containers.words("podman", call, "a | b", {}, order, "/f", {}, "1.1")
    assert words[-4:] == ["zsh", "image", "-e", "command.sh"]
    assert containers.words("apptainer", call, "a | b", {}, order, "/f", {}, "1.1")[-3:] == ["zsh", "-e", "command.sh"]


@pytest.mark.parametrize("tool", ["podman", "docker", "apptainer"])
def test_other_users_see_no_secret_in_the_words_that_start_a_container(tool: str) -> None:
    order = PackedOrder("r", 1, 1, "/f", "", 1, None, 1, {}, [])
    call = PackedCall("c", "container", "", "image", {}, {}, {}, None, None, (False,))
    variables = {"TOKEN": "s3cr3t"}
    words = containers.words(tool, call, "login s3cr3t | x", {"x": "s3cr3t"}, order, "/f", variables, "1.1")
    assert not [word for word in words if "s3cr3t" in word]
    assert variables["APPTAINERENV_TOKEN" if tool == "apptainer" else "TOKEN"] == "s3cr3t"
