"""How long it takes from the command `tradewind run` to the first line of its first task."""

import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.measure import fresh_folder

PROGRAM = [str(Path(sys.executable).with_name("tradewind")), "run", "flow.yaml"]
FLOW = """name: startup
steps:
  first: {run: date +%s.%N > time.txt, outputs: {time: time.txt}}
  second: {run: "cat {{ first.time }}", alone: true}
"""


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Milliseconds, with an interpreter that does nothing as the floor."""
    times: dict[str, list[float]] = {"python -c pass": [], "first task begins": [], "command ends": []}
    for _ in range(3 if quick else 21):
        folder = fresh_folder()
        (folder / "flow.yaml").write_text(FLOW)
        began = time.time()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        times["python -c pass"].append(time.time() - began)
        began = time.time()
        subprocess.run(PROGRAM, cwd=folder, stderr=subprocess.DEVNULL, check=True)
        times["command ends"].append(time.time() - began)
        (stamp,) = (folder / ".tradewind" / "runs").rglob("time.txt")
        times["first task begins"].append(float(stamp.read_text()) - began)
    return [
        {
            "until": name,
            "runs": len(taken),
            "median_ms": round(1000 * median(taken)),
            "fastest_ms": round(1000 * min(taken)),
            "slowest_ms": round(1000 * max(taken)),
        }
        for name, taken in times.items()
    ]
