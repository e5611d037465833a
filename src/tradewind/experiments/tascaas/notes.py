"""What the claims do not say."""

from tradewind.experiments.tascaas.run import Study
from tradewind.experiments.tascaas.settings import FULL, Extent, data_folder


def notes(study: Study, extent: Extent) -> list[str]:
    """All remarks."""
    found = [lighter(study), gains(study), READINGS]
    if data_folder() is None:
        found.append("The measured noise was not found beside the checkout; made-up noise of the same spread was used.")
    if extent != FULL:
        found.append(
            f"A quick run: {extent.seeds} workloads, not {FULL.seeds}, and {extent.draws} draws for section V."
        )
    return found


def lighter(study: Study) -> str:
    """How claim 1 would stand with fewer jobs."""
    jobs = [job for outcome in study.lighter for job in outcome.jobs]
    met = sum(job.relative <= 0 for job in jobs)
    return f"With a fifth fewer jobs than claim 1 is judged by, {met} of {len(jobs)} meet their time."


def gains(study: Study) -> str:
    """Static against balanced, level by level."""
    rows = [
        f"  {level.name:44}{level.cv:6.0%}{level.gain:9.1%}{max(level.gains):9.1%}"
        f"{sum(delay > 0.15 for delay in level.delays) / len(level.delays):12.0%}"
        for level in study.levels
    ]
    heading = (
        "By how much five balanced partitions are shorter than five static ones (spread of speeds, mean, most), and"
    )
    return "\n".join((f"{heading} how many static jobs are more than 15 % late:", *rows))


READINGS = (
    "The paper gives neither speeds nor arrivals; ours are in `experiments/tascaas/settings.py`. `tascaas-original`"
    " has the original's rules for dispatch, slots, speeds and partitions, over our exact ledger: its jobs cannot lose"
    " iterations, which the original's can."
)
