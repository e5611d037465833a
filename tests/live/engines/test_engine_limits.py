"""Limits of time, silence, memory and output, and attempts that do not want to end."""

import os
import time
from pathlib import Path

import pytest
from engine_rig import Rig, function, gone, processes_of, shell

from tradewind.live.port import Broke, Done

MODULE = "engine_functions"
HOARD = "python3 -c 'b = bytearray(200_000_000); b[::4096] = b[::4096]; import time; time.sleep(30)'"
ODD = f"100.{os.getpid()}"
STUBBORN = "trap '' TERM; echo up; while :; do sleep 0.1; done"


@pytest.mark.parametrize("call", [shell("sleep 60", run=0.2), function(f"{MODULE}:nap", run=0.2, duration=60)])
def test_a_time_out_ends_a_call(rig: Rig, machine: int, call: object) -> None:
    began = time.monotonic()
    _, broke = rig.broke(machine, call)  # type: ignore[arg-type]
    assert (broke.cause, broke.reason) == ("timeout", "ran longer than 0.2 s")
    assert 0.2 <= time.monotonic() - began < 5


def test_who_ignores_a_polite_signal_is_killed(rig: Rig, machine: int) -> None:
    order = rig.start(machine, shell(f'sh -c "{STUBBORN}" & {STUBBORN}', run=0.2))
    began = time.monotonic()
    assert rig.expect(Broke).cause == "timeout"
    assert time.monotonic() - began > 0.5
    assert processes_of(order.run) == []


def test_a_polite_signal_leaves_time_to_tidy_up(rig: Rig, machine: int) -> None:
    folder, broke = rig.broke(machine, shell("trap 'echo tidy; exit 0' TERM; sleep 60 & wait", run=0.2))
    assert broke.cause == "timeout"
    assert (folder / "out").read_text() == "tidy\n"


def test_silence_ends_a_call_but_output_keeps_it(rig: Rig, machine: int) -> None:
    began = time.monotonic()
    _, broke = rig.broke(machine, shell("for i in 1 2 3; do echo $i; sleep 0.2; done; sleep 60", silence=0.4))
    assert (broke.cause, broke.reason) == ("silence", "wrote nothing for 0.4 s")
    assert time.monotonic() - began > 0.8


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
    long = rig.start(machine, shell("(setsid sleep 0.6; echo late > late) & sleep 1"))
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
