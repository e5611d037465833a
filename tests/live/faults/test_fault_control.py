"""Control planes that are killed or interrupted at any moment, over work that does not want to end."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from faults_rig import Story, is_gone, names, once, wait

from tradewind.live.store.open import open_store

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
COMMAND = [sys.executable, "-m", "tradewind", "run"]
STUBBORN = "trap '' TERM HUP INT; (setsid sh -c 'trap \"\" TERM HUP; sleep 100; sleep 100' &); sleep 100; sleep 100"


def begin(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([*COMMAND, *arguments], cwd=folder, stderr=subprocess.PIPE, text=True)


def end(child: subprocess.Popen[str], patience: float = 20.0) -> tuple[int, str]:
    """Its exit code, and what it said."""
    assert child.stderr is not None
    with child.stderr:
        code = child.wait(patience)
        return code, child.stderr.read()


def recorded(folder: Path) -> Story:
    """What the store says of the only run."""
    store = open_store(folder / ".tradewind" / "store.db")
    (head,) = store.runs()
    story = Story(folder, status=head.status, detail=store.run(head.id))
    store.close()
    return story


@pytest.mark.parametrize("seed", [1, 2])
def test_a_control_plane_killed_at_any_moment_goes_on(tmp_path: Path, seed: int) -> None:
    """While it starts, while it works, while it ends: each kill may hit anything."""
    chance = random.Random(seed)
    tasks = 40
    (tmp_path / "flow.yaml").write_text(f"steps: {{each: {{for_each: '{{{{ range({tasks}) }}}}', run: sleep 0.05}}}}")
    child = begin(tmp_path, "flow.yaml")
    wait(lambda: list(tmp_path.glob(".tradewind/runs/*/*.1")))
    for _ in range(4):
        time.sleep(chance.uniform(0, 0.6))
        child.kill()
        end(child)
        child = begin(tmp_path, "--resume")
    code, text = end(child)
    assert code == 0, text
    story = recorded(tmp_path)
    once(story)
    assert story.detail is not None
    assert len(story.detail.units) == tasks


@pytest.fixture
def stubborn(tmp_path: Path) -> tuple[subprocess.Popen[str], list[psutil.Process]]:
    """A run whose steps heed no signal and have processes that left them; with all of its processes."""
    (tmp_path / "flow.yaml").write_text(
        f"steps: {{each: {{for_each: [1, 2], run: {STUBBORN!r}}}}}".replace("\\'", "''")
    )
    child = begin(tmp_path, "flow.yaml")
    ours = psutil.Process(child.pid)
    wait(lambda: names(ours.children(recursive=True)).count("sleep") == 4)
    return child, ours.children(recursive=True)


def test_a_killed_control_plane_takes_along_what_does_not_want_to_end(
    stubborn: tuple[subprocess.Popen[str], list[psutil.Process]],
) -> None:
    child, processes = stubborn
    child.kill()
    end(child)
    wait(lambda: all(map(is_gone, processes)))


def test_a_second_interruption_does_not_wait(stubborn: tuple[subprocess.Popen[str], list[psutil.Process]]) -> None:
    child, processes = stubborn
    child.send_signal(signal.SIGINT)
    assert child.stderr is not None
    while "once more: do not wait" not in child.stderr.readline():
        assert child.poll() is None
    child.send_signal(signal.SIGINT)
    code, text = end(child)
    assert code == 130
    assert text == "", "there is no summary any more"
    wait(lambda: all(map(is_gone, processes)))
