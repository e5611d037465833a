import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tradewind.experiments.parallel import run_jobs

SLEEPERS = """
import os, signal, time
from pathlib import Path
from tradewind.experiments.parallel import run_jobs

def work(job):
    Path(f"{job}.began").write_text(str(os.getpid()))
    time.sleep(1)
    return job

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
    for _ in run_jobs(work, range(40), workers=2):
        pass
"""


def half(number: int) -> float:
    return 12 / number


def test_each_job_comes_back_with_its_result() -> None:
    assert list(run_jobs(half, [3, 4], workers=1)) == [(3, 4.0), (4, 3.0)]
    assert dict(run_jobs(half, [1, 2, 3, 4], workers=2)) == {1: 12.0, 2: 6.0, 3: 4.0, 4: 3.0}
    assert list(run_jobs(half, [])) == []


def test_an_error_in_a_worker_ends_it_all() -> None:
    with pytest.raises(ZeroDivisionError):
        dict(run_jobs(half, [0, 1, 2], workers=2))


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_stops_all_workers_and_starts_no_more_jobs(tmp_path: Path) -> None:
    script = tmp_path / "sleepers.py"
    script.write_text(SLEEPERS)
    process = subprocess.Popen(
        [sys.executable, str(script)], cwd=tmp_path, start_new_session=True, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 30
    while not list(tmp_path.glob("*.began")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the whole group
    _, errors = process.communicate(timeout=20)
    assert process.returncode != 0
    assert errors.count("Traceback") == 1  # ours, and none from a worker
    began = list(tmp_path.glob("*.began"))
    assert len(began) < 20
    for worker in {int(path.read_text()) for path in began}:
        with pytest.raises(ProcessLookupError):
            os.kill(worker, 0)
