"""How long it takes from the command `tradewind run` to the first line of its first task.

Modules are compiled beforehand, as they are wherever a package was installed. Where Python may not keep what it has
compiled, a checkout compiles all of ours with each command: that is measured besides, if it is so here.
"""

import os
import subprocess
import sys
import time
from collections.abc import Mapping
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
_KEEPS_NOTHING = "PYTHONDONTWRITEBYTECODE"


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Milliseconds, with an interpreter that does nothing as the floor."""
    compiled = {name: value for name, value in os.environ.items() if name != _KEEPS_NOTHING}
    compiled["PYTHONPYCACHEPREFIX"] = str(fresh_folder())
    _start(compiled)
    places: dict[str, Mapping[str, str]] = {"": compiled}
    if os.environ.get(_KEEPS_NOTHING):
        places[", compiling"] = dict(os.environ)
    times: dict[str, list[float]] = {}
    for _ in range(3 if quick else 21):
        began = time.time()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        times.setdefault("python -c pass", []).append(time.time() - began)
        for how, environment in places.items():
            first, end = _start(environment)
            times.setdefault(f"first task begins{how}", []).append(first)
            times.setdefault(f"command ends{how}", []).append(end)
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


def _start(environment: Mapping[str, str]) -> tuple[float, float]:
    """Seconds until the first task begins, and until the command ends."""
    folder = fresh_folder()
    (folder / "flow.yaml").write_text(FLOW)
    began = time.time()
    subprocess.run(PROGRAM, cwd=folder, env=environment, stderr=subprocess.DEVNULL, check=True)
    end = time.time() - began
    (stamp,) = (folder / ".tradewind" / "runs").rglob("time.txt")
    return float(stamp.read_text()) - began, end
