"""Runs commands for real, in a control plane of its own, while something goes wrong."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil

from tradewind.core.state import State
from tradewind.core.work import declared_time
from tradewind.live.driver import Driver
from tradewind.live.engines.local import LocalEngine
from tradewind.live.facts import Close, Submit
from tradewind.live.loop import Loop, wall_clock
from tradewind.live.port import Failure
from tradewind.live.store.open import open_store
from tradewind.live.store.port import RunDetail, Store
from tradewind.model.machine import MachineType
from tradewind.model.tenant import Tenant
from tradewind.model.units import SECOND, Duration, Time
from tradewind.model.workflow import Retry, Task, Workflow
from tradewind.policies.registry import build

PATIENCE = 30.0
"""Seconds after which a story that does not end has failed."""


@dataclass
class Story:
    """What is going on, and what has come of it."""

    folder: Path
    driver: Driver | None = None
    status: str = ""
    troubles: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    detail: RunDetail | None = None

    @property
    def attempts(self) -> list[tuple[str, int, str]]:
        """The chain of each attempt, its number and its outcome."""
        assert self.detail is not None
        names = {unit.number: unit.chain for unit in self.detail.units}
        return sorted((names[row.unit], row.attempt, row.outcome) for row in self.detail.attempts)

    def out(self, chain: str, attempt: int = 1) -> Path:
        """The output of an attempt."""
        (folder,) = self.folder.glob(f"runs/*/{chain}.{attempt}")
        return folder / "out"

    def has_said(self, chain: str, text: str = "", attempt: int = 1) -> bool:
        """Whether an attempt has written something."""
        found = list(self.folder.glob(f"runs/*/{chain}.{attempt}/out"))
        return bool(found) and text in found[0].read_text()


Meanwhile = Callable[[Story], None]


def live(
    folder: Path,
    commands: Sequence[str],
    meanwhile: Meanwhile = lambda _: None,
    *,
    retry: Retry | None = None,
    after: bool = False,
    machines: int = 2,
    silence: float = 10.0,
    store: Store | None = None,
    patience: Duration = 5 * SECOND,
    clock: Callable[[], Time] = wall_clock,
) -> Story:
    """Run commands `t0`, `t1`, … to their end, all others after the first if asked, while something else happens."""
    story = Story(folder)
    tasks = tuple(Task(f"t{n}", f"t{n}", command=text, retry=retry or Retry()) for n, text in enumerate(commands))
    parents = tuple((0,) if after and n else () for n in range(len(tasks)))
    assert len(tasks) != 2 or not after, "two would be one chain"
    opened = store or open_store(folder / "store.db", durability="relaxed", patience=patience)
    try:
        asyncio.run(_live(story, Workflow("story", tasks, parents), meanwhile, machines, silence, opened, clock))
        (head,) = opened.runs()
        story.status = head.status
        story.detail = opened.run(head.id)
    finally:
        opened.close()
    return story


async def _live(
    story: Story,
    workflow: Workflow,
    meanwhile: Meanwhile,
    machines: int,
    silence: float,
    store: Store,
    clock: Callable[[], Time],
) -> None:
    loop = Loop(story.troubles.append)
    engine = LocalEngine(loop.hear, story.folder, grace=0.5, silence=silence)
    try:
        state = State((MachineType("here", limit=machines),), (Tenant("default"),), SECOND // 5, 0, declared_time)
        driver = story.driver = Driver(state, build("demand", {}), store, engine, clock, story.folder / "runs")
        driver.tell(Submit(workflow, {}), Close())
        both = [
            asyncio.create_task(loop.run(driver, lambda: bool(driver.ended))),
            asyncio.create_task(asyncio.to_thread(meanwhile, story)),
        ]
        done, pending = await asyncio.wait(both, timeout=PATIENCE, return_when=asyncio.FIRST_EXCEPTION)
        for task in pending:
            task.cancel()
        for task in done:
            task.result()
        assert not pending, "it does not end"
        story.failures = list(driver.failures)
    finally:
        engine.close()


def once(story: Story) -> None:
    """Check that the run is done, and the end of each chain recorded once, as its last attempt."""
    assert story.detail is not None
    assert story.status == "done"
    done = Counter(row.unit for row in story.detail.attempts if row.outcome == "done")
    assert set(done) == {unit.number for unit in story.detail.units}
    assert set(done.values()) == {1}
    last = {row.unit: row.outcome for row in sorted(story.detail.attempts, key=lambda row: row.attempt)}
    assert set(last.values()) == {"done"}


def wait(condition: Callable[[], object], patience: float = 20.0) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, "it does not come about"
        time.sleep(0.01)


def keeper() -> psutil.Process:
    """The keeper of this process."""
    (found,) = (each for each in psutil.Process().children() if _is_ours(each))
    return found


def commands() -> list[psutil.Process]:
    """The processes of commands that run."""
    return [each for each in keeper().children(recursive=True) if not _is_ours(each) and not is_gone(each)]


def worker_of(story: Story, chain: str, attempt: int = 1) -> psutil.Process:
    """The worker that a command, which has begun with `echo $PPID`, is a child of."""
    wait(lambda: story.has_said(chain, "\n", attempt))
    return psutil.Process(int(story.out(chain, attempt).read_text().split()[0]))


def is_gone(process: psutil.Process) -> bool:
    """Whether a process has ended."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def names(processes: Sequence[psutil.Process]) -> list[str]:
    """What those that live are called."""
    found = []
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            found.append(process.name())
    return found


def lost(limit: int) -> Retry:
    """Give up once so many machines were lost under it."""
    return replace(Retry(), lost=limit)


def _is_ours(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE and any("live.worker" in word for word in process.cmdline())
    except psutil.NoSuchProcess:
        return False
