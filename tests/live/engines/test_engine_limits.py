"""Limits of time, silence, memory and output, and attempts that do not want to end."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from engine_rig import Rig, function, gone, processes_of, shell

from tradewind.live.port import Broke, Done, Order
from tradewind.model.action import Call

MODULE = "engine_functions"
HOARD = "python3 -c 'b = bytearray(200_000_000); b[::4096] = b[::4096]; import time; time.sleep(30)'"
ODD = f"100.{os.getpid()}"
STUBBORN = "trap '' TERM; echo up; while :; do sleep 0.1; done"


@pytest.mark.parametrize("call", [shell("sleep 60", run=0.2), function(f"{MODULE}:nap", run=0.2, duration=60)])
def test_a_time_out_ends_a_call(rig: Rig, machine: int, call: object) -> None:
    _, broke = rig.broke(machine, call)  # type: ignore[arg-type]
    assert (broke.cause, broke.reason) == ("timeout", "ran longer than 0.2 s")


def until_out(rig: Rig, machine: int, begins: str, tries: Sequence[Call]) -> tuple[Order, str]:
    """The first of some tries that wrote this before its time was up, and all that it wrote.

    On a busy host a program may be ended before it has begun; that says nothing, and the next one has more time.
    """
    out = ""
    for call in tries:
        order = rig.start(machine, call)
        assert rig.expect(Broke).cause in ("timeout", "silence")
        out = (Path(order.folder) / "out").read_text()
        if out.startswith(begins):
            return order, out
    raise AssertionError(f"{begins!r} was not written, but {out!r}")


def test_who_ignores_a_polite_signal_is_killed(rig: Rig, machine: int) -> None:
    command = f'sh -c "{STUBBORN}" & {STUBBORN}'
    order, _ = until_out(rig, machine, "up\nup\n", [shell(command, run=run) for run in (0.2, 1.0, 5.0)])
    assert processes_of(order.run) == []


def test_a_polite_signal_leaves_time_to_tidy_up(rig: Rig, machine: int) -> None:
    command = "trap 'echo tidy; exit 0' TERM; echo up; sleep 60 & wait"
    _, out = until_out(rig, machine, "up\n", [shell(command, run=run) for run in (0.2, 1.0, 5.0)])
    assert out == "up\ntidy\n"


def test_silence_ends_a_call_but_output_keeps_it(rig: Rig, machine: int) -> None:
    """It writes for longer than it may be silent, and is ended once it no longer does."""
    command = "for i in 1 2 3 4; do echo $i; sleep {}; done; sleep 60"
    tries = [shell(command.format(pause), silence=2 * pause) for pause in (0.2, 0.8)]
    until_out(rig, machine, "1\n2\n3\n4\n", tries)


def test_silence_of_a_function_ends_it(rig: Rig, machine: int) -> None:
    _, broke = rig.broke(machine, function(f"{MODULE}:nap", silence=0.2, duration=60))
    assert broke.cause == "silence"


def test_memory_is_limited(rig: Rig, machine: int) -> None:
    _, broke = rig.broke(machine, shell(HOARD), memory=100_000_000)
    assert broke.cause == "memory"
    assert "of 100 MB allowed" in broke.reason
    assert broke.usage.memory > 100_000_000


def test_memory_of_a_function_is_limited(rig: Rig, machine: int) -> None:
    _, broke = rig.broke(machine, function(f"{MODULE}:hoard", size=200_000_000), memory=100_000_000)
    assert broke.cause == "memory"


def test_memory_is_that_of_all_processes_together(rig: Rig, machine: int) -> None:
    _, broke = rig.broke(machine, shell(f"{HOARD} & {HOARD} & wait"), memory=300_000_000)
    assert broke.cause == "memory"


def test_the_peak_is_told(rig: Rig, machine: int) -> None:
    _, done = rig.done(machine, shell("python3 -c 'bytearray(100_000_000)[::4096] = bytes(24415)'"))
    assert 100_000_000 < done.usage.memory < 200_000_000
    assert done.usage.cpu > 0.005


def test_a_flood_is_cut_and_the_task_goes_on(rig: Rig, machine: int) -> None:
    command = (
        "head -c 8000000 /dev/zero; sleep 0.4; head -c 8000000 /dev/zero >&2; sleep 0.3; echo the end; touch after"
    )
    folder, _ = rig.done(machine, shell(command))
    for name in ("out", "err"):
        assert (folder / name).stat().st_size < (1 << 20) + 5000
        assert b"[tradewind: output was cut here at 1048576 bytes" in (folder / name).read_bytes()
    assert (folder / "out").read_bytes().endswith(b"the end\n")
    assert (folder / "after").exists()


def test_a_flood_is_bounded_while_it_lasts(rig: Rig, machine: int) -> None:
    order = rig.start(machine, shell("yes", run=1.0))
    largest = 0
    while not any(isinstance(report, Broke) for report in rig.reports):
        rig.sleep(0.02)
        out = Path(order.folder) / "out"
        largest = max(largest, out.stat().st_size if out.exists() else 0)
    assert rig.expect(Broke).cause == "timeout"
    assert largest < 3_000_000_000
    assert out.stat().st_size < (1 << 20) + 5000


@pytest.mark.parametrize(
    "command",
    [
        "sleep 100 &",
        "setsid sleep 100 &",
        "(setsid sh -c 'sleep 100 & sleep 100 & wait' &)",
        f"env -i setsid sleep {ODD} & sleep 0.2",
        "nohup sh -c \"trap '' TERM HUP; sleep 100; sleep 100\" >/dev/null 2>&1 &",
    ],
    ids=["child", "session", "grandchildren", "no-environment", "stubborn"],
)
def test_what_forks_away_is_killed_when_the_attempt_ends(rig: Rig, machine: int, command: str) -> None:
    order = rig.start(machine, shell(command))
    rig.expect(Done)
    assert processes_of(order.run) == []
    assert _with_words("sleep", ODD) == []


def test_what_forked_away_from_one_attempt_does_not_harm_another(rig: Rig, machine: int) -> None:
    wait = "while [ ! -e late ]; do sleep 0.05; done"
    long = rig.start(machine, shell(f"(setsid sleep 0.6 && echo late > late) & {wait}"))
    rig.sleep(0.1)
    rig.done(machine, shell("setsid sleep 100 &"))
    rig.expect(Done)
    assert (Path(long.folder) / "late").exists()


def test_a_killed_attempt_is_ended_with_all_its_processes(rig: Rig, machine: int) -> None:
    order = rig.start(machine, shell(f"setsid sleep 100 & {STUBBORN}"))
    while not processes_of(order.run):
        rig.sleep(0.02)
    rig.sleep(0.1)
    rig.engine.kill(order.unit, order.attempt, machine)
    rig.sleep(0.01)
    assert gone(lambda: processes_of(order.run))
    rig.done(machine, shell("true"))
    assert rig.reports == []


def test_a_killed_function_is_ended(rig: Rig, machine: int) -> None:
    order = rig.start(machine, function(f"{MODULE}:nap", duration=60))
    rig.sleep(0.1)
    rig.engine.kill(order.unit, order.attempt, machine)
    _, done = rig.done(machine, function(f"{MODULE}:add", a=1, b=1))
    assert done.results["task"]["value"] == 2


def _with_words(*words: str) -> list[int]:
    wanted = "\0".join(words).encode() + b"\0"
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if (folder / "cmdline").read_bytes() == wanted:
                    found.append(int(folder.name))
            except OSError:
                continue
    return found


def test_who_is_killed_at_once_has_no_time_to_tidy_up(rig: Rig, machine: int) -> None:
    order = rig.start(machine, shell("trap 'echo tidy > tidy; exit 0' TERM; echo up; sleep 60 & wait"))
    out = Path(order.folder) / "out"
    while not (out.exists() and "up" in out.read_text()):
        rig.sleep(0.02)
    rig.engine.kill(order.unit, order.attempt, machine, at_once=True)
    while processes_of(order.run):
        rig.sleep(0.02)
    assert not (Path(order.folder) / "tidy").exists()
