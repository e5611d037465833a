"""From a request to the TaScaaS paper's claims and figures, simulated and live."""

from importlib.util import find_spec
from pathlib import Path

from tradewind.experiments.claims import Claim, Report
from tradewind.experiments.request import Reproduction, Request, drawn
from tradewind.experiments.tascaas.figures import FIGURES, draw_figures
from tradewind.experiments.tascaas.judge import judge
from tradewind.experiments.tascaas.notes import notes
from tradewind.experiments.tascaas.run import run_study, steps
from tradewind.experiments.tascaas.settings import FULL, QUICK, Extent
from tradewind.model.errors import TradewindError


def reproduce(request: Request, extent: Extent | None = None) -> Reproduction:
    """Run the experiments, judge the claims and draw the figures; without matplotlib, claims only."""
    if request.is_live:
        _check_extra()
    extent = extent or (QUICK if request.is_quick else FULL)
    step = request.steps((steps(extent) + FIGURES) * request.is_simulated + request.is_live)
    claims: list[Claim] = []
    remarks: list[str] = []
    pictures: list[Path] = []
    if request.is_simulated:
        study = run_study(extent, request.seed, step, request.workers)
        claims += judge(study)
        remarks += notes(study, extent)
        pictures = drawn(lambda: draw_figures(study, request.out, step), remarks)
    if request.is_live:
        from tradewind.experiments.tascaas import live  # noqa: PLC0415  needs the extra `server`

        claims += live.claims(step, request.seed)
    return Reproduction(Report("tascaas", request.seed, claims, remarks), tuple(pictures))


def _check_extra() -> None:
    """Refuse before any work what could not be run for real in the end."""
    missing = [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]
    if missing:
        raise TradewindError(
            f"what is run for real needs a server, and that another package ({', '.join(missing)});"
            " pip install 'tradewind[server]', or leave it out with --no-live"
        )
