"""Run the benchmarks: `python -m benchmarks [--quick] [--json FILE] [NAME ...]`."""

import argparse
import json
import platform
from collections.abc import Callable
from os import cpu_count
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import (
    control,
    deadline,
    decisions,
    divisible,
    divisible_kills,
    floor,
    harvest,
    kills,
    large,
    loading,
    memory,
    server,
    simulator,
    startup,
    store,
    tasks,
)

BENCHMARKS: dict[str, tuple[str, Callable[..., list[dict[str, Any]]]]] = {
    "simulator": ("Simulator speed, tasks per CPU second", simulator.run),
    "growth": ("How the cost of a task grows with their number", simulator.growth),
    "memory": ("Memory for each pending task", memory.run),
    "decisions": ("Time of one decision", decisions.run),
    "harvest": ("Machines that change, CPU time", harvest.run),
    "deadline": ("One step of SCS over many jobs", deadline.steps),
    "plans": ("SCS+ planning many new jobs", deadline.plans),
    "assignment": ("Deadline assignment of one job of 1,000 tasks", deadline.assignment),
    "large-plans": ("`tradewind plan` of large workflows", large.plans),
    "backlog": ("Simulated fork-join on a budget, tasks per CPU second", large.backlog),
    "startup": ("From the command to the first task, milliseconds", startup.run),
    "shell": ("Commands, milliseconds for each", tasks.shell),
    "python": ("Python calls, milliseconds for each", tasks.python),
    "chains": ("Chains of Python calls, milliseconds for each call", tasks.chains),
    "forkjoin": ("Fork and join, milliseconds for each call", tasks.forkjoin),
    "control": ("The control plane alone, milliseconds for each chain", control.run),
    "kills": ("The control plane killed and resumed", kills.run),
    "store": ("The durable store, microseconds for each chain", store.run),
    "engine": ("The local engine beside a bare process loop, milliseconds for each task", floor.run),
    "server": ("One server process, from other processes on this host", server.run),
    "divisible": ("Shares of one step that report to one server process", divisible.run),
    "divisible-kills": ("Programs, machines and server killed during a divisible step", divisible_kills.run),
    "loading": ("Generating, writing and loading a workflow, CPU seconds", loading.run),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, []], metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    arguments = parser.parse_args()
    console = Console()
    results: dict[str, Any] = {"python": platform.python_version(), "cores": cpu_count()}
    for name in arguments.names or BENCHMARKS:
        title, run = BENCHMARKS[name]
        rows = results[name] = run(quick=arguments.quick)
        table = Table(title=title, title_justify="left")
        for heading in rows[0]:
            table.add_column(heading.replace("_", " "), justify="right")
        for row in rows:
            table.add_row(*(f"{value:,}" if isinstance(value, int | float) else value for value in row.values()))
        console.print(table)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
