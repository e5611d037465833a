"""Run an experiment with real processes: a session of the live driver on this host, with one process per agent."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tradewind.core.log import Sink
from tradewind.core.state import State
from tradewind.experiments.steep.live.killer import Killer, kill_ends
from tradewind.experiments.steep.live.settings import Reduced
from tradewind.experiments.steep.settings import BASELINE, setups
from tradewind.experiments.steep.workload import chains
from tradewind.experiments.steep.world import policy_of
from tradewind.live.folder import STORE
from tradewind.live.session import Session, Settings
from tradewind.live.store.open import open_store
from tradewind.live.store.rows import AttemptRow
from tradewind.model.tenant import Tenant
from tradewind.model.units import in_seconds
from tradewind.model.workflow import Workflow
from tradewind.pictures.lanes import Lane, Lanes

_GRACE = 0.5
"""Seconds to wait for running chains when a session ends; there are none unless it was interrupted."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The results of an experiment with real processes; times count from the start of its first chain."""

    chains: int
    lanes: Sequence[Lane]
    recorded: int
    """Chains whose end is in the store exactly once."""
    processes: int
    """Worker processes that were parents of chains."""
    are_apart: bool
    """Whether no two agents shared a process."""
    killed: int


def run_live(reduced: Reduced, policy: str, seed: int) -> Seen:
    """Run an experiment with a heuristic; Ctrl-C ends it cleanly and is raised again."""
    trial = reduced.trial
    reading = replace(BASELINE, boot=reduced.boot)
    killer = Killer(kill_ends(trial.chains, trial.kills, seed), seed)
    watched: list[Lanes] = []

    def lanes_for(state: State) -> Sink:
        watched.append(Lanes(state))
        return watched[0].observe

    with TemporaryDirectory(prefix="tradewind-steep-", ignore_cleanup_errors=True) as folder:
        settings = Settings(
            Path(folder),
            setups(trial, reading),
            Tenant("default"),
            policy_of(trial, policy),
            reduced.interval,
            grace=_GRACE,
        )
        session = Session(settings, [lanes_for, killer.sink_for])
        result = session.run(sleeping(reduced, seed), {}, keeps_going=True)
        if result.status == "interrupted":
            raise KeyboardInterrupt
        attempts = _attempts(Path(folder), result.id)
        parents = _parents(attempts)
    counts = Counter(attempt.unit for attempt in attempts if attempt.outcome == "done")
    lanes = watched[0].lanes
    return Seen(
        trial.chains,
        from_start(lanes),
        sum(count == 1 for count in counts.values()),
        len(set().union(*parents.values())),
        len(set().union(*parents.values())) == sum(map(len, parents.values())),
        len(killer.killed),
    )


def sleeping(reduced: Reduced, seed: int) -> Workflow:
    """Return the chains of an experiment as commands: each prints its parent process and sleeps."""
    drawn = chains(reduced.trial, BASELINE, seed)
    tasks = (
        replace(
            task,
            runtime=(task.runtime or 0) // reduced.pace,
            command=f"echo $PPID; exec sleep {in_seconds((task.runtime or 0) // reduced.pace):.3f}",
        )
        for task in drawn.tasks
    )
    return replace(drawn, tasks=tuple(tasks))


def from_start(lanes: Sequence[Lane]) -> list[Lane]:
    """Return the lanes with times that count from the start of the first chain."""
    start = min((bar.begin for lane in lanes for bar in lane.bars), default=0)
    return [
        replace(
            lane,
            acquired=lane.acquired - start,
            up=None if lane.up is None else lane.up - start,
            gone=None if lane.gone is None else lane.gone - start,
            bars=[bar._replace(begin=bar.begin - start, end=bar.end - start) for bar in lane.bars],
        )
        for lane in lanes
    ]


def _attempts(folder: Path, run: str) -> list[AttemptRow]:
    store = open_store(folder / STORE)
    try:
        detail = store.run(run)
    finally:
        store.close()
    return [] if detail is None else detail.attempts


def _parents(attempts: Sequence[AttemptRow]) -> dict[int, set[str]]:
    """Return, for each agent, the parent processes that its chains printed."""
    found: dict[int, set[str]] = {}
    for attempt in attempts:
        if attempt.outcome == "done":
            found.setdefault(attempt.machine, set()).add((Path(attempt.folder) / "out").read_text().strip())
    return found
