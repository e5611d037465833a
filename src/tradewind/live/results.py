"""What programs that are done give: each is unfolded once more with what its steps gave."""

from collections.abc import Callable
from pathlib import Path

from tradewind.live.documents import decode
from tradewind.live.jobs import Job
from tradewind.live.rebuild import replay
from tradewind.live.store.rows import RunRow, UnitRow
from tradewind.model.action import Json
from tradewind.model.program import Program


def results_of(run: RunRow, units: Callable[[], list[UnitRow]], folder: Path) -> dict[str, Json] | None:
    """The outputs of a run whose files are in a folder; None: it is not done, or no program."""
    document = decode(run.document) if run.status == "done" else None
    if not isinstance(document, Program):
        return None
    job = Job(run.id, document, run.parameters, folder)
    job.begin()
    replay(job, units())
    return job.generator.outputs() if job.generator is not None and job.generator.is_done else None
