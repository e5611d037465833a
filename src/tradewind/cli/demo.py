"""`tradewind demo`: a first impression, a minute after installation."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.console import Console

from tradewind.cli.progress import following
from tradewind.cli.summary import print_summary
from tradewind.core.log import Sink
from tradewind.core.series import Series
from tradewind.core.state import State
from tradewind.formats.picture import svg
from tradewind.formats.write import write_file, write_native
from tradewind.model.scenario import Arrivals, Given, Scenario
from tradewind.model.tenant import Tenant
from tradewind.model.units import UNIT
from tradewind.pictures.comparison import draw_comparison
from tradewind.sim.defaults import MACHINES
from tradewind.sim.generators import generate
from tradewind.sim.simulate import simulate
from tradewind.sim.workload import submissions

_POLICIES = ("pfa", "plf", "scf")
_FAMILIES = ("montage", "ligo", "sipht")
_SEED = 1


def demo(
    out: Annotated[Path, typer.Option(help="Output folder.")] = Path("demo"),
    budget: Annotated[int, typer.Option(min=1, help="Budget per minute.")] = 60,
) -> None:
    """Simulate 30 astronomy and biology workflows within a budget, under three policies.

    Writes the metrics, a chart that compares the policies, and the first workflow with its graph.
    """
    rng = random.Random(_SEED)
    workflows = tuple(generate(_FAMILIES[i % 3], rng.choice((50, 100, 300)), rng) for i in range(30))
    base = Scenario(
        (Given(workflows, Arrivals("poisson", {"utilisation": 0.3, "machines": 40})),),
        MACHINES,
        (Tenant("default", budget=budget * UNIT),),
        seed=_SEED,
    )
    work = submissions(base)
    tasks = sum(len(workflow.tasks) for workflow in workflows)
    console = Console()
    console.print(
        f"{len(workflows)} workflows ({', '.join(_FAMILIES)}) with {tasks:,} tasks arrive over time.\n"
        f"Machines: up to 32 small at 1 and 32 large at 5 per minute; no minute may cost more than {budget}.\n"
    )
    runs: dict[str, Series] = {}

    def series_for(policy: str, state: State) -> Sink:
        runs[policy] = Series(state)
        return runs[policy].observe

    figures = []
    for policy in _POLICIES:
        with following(f"simulating {policy}", tasks) as progress:
            sinks = (progress, lambda state, policy=policy: series_for(policy, state))
            figures.append(simulate(replace(base, policy=policy), work, sinks).figures())
    print_summary(figures, console)
    out.mkdir(parents=True, exist_ok=True)
    picture = out / "comparison.svg"
    draw_comparison(runs, picture, f"{len(workflows)} workflows within {budget} per minute")
    write_file(out / "figures.json", orjson.dumps({"runs": figures}, option=orjson.OPT_INDENT_2))
    write_file(out / "montage.yaml", write_native(workflows[0]).encode())
    write_file(out / "montage.svg", svg(workflows[0]).encode())
    console.print(f"\nLook at {picture} and {out / 'montage.svg'}; then try")
    console.print(f"  tradewind simulate {out / 'montage.yaml'} --policy pfa --budget {budget}", highlight=False)
