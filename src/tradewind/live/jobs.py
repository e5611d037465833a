"""Jobs: what a run consists of in real life, and how its units become orders for an engine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias

from tradewind.core.chains.chain import Chain
from tradewind.core.chains.generator import Generator
from tradewind.core.chains.link import Linked, link
from tradewind.core.work import Run, Unit
from tradewind.live.port import Order
from tradewind.model.action import Call, Json, Limits, Shell
from tradewind.model.program import Program
from tradewind.model.workflow import Retry, Task, Workflow

Document: TypeAlias = Workflow | Program

_LONGEST_NAME = 120


@dataclass(slots=True)
class Job:
    """A run's document and what has become of it so far."""

    id: str
    """What people call the run by."""
    document: Document
    parameters: Mapping[str, Json]
    folder: Path
    """Where its attempts have their folders."""
    linked: Linked | None = None
    """The chains of a workflow."""
    generator: Generator | None = None
    """Unfolds a program."""
    chains: dict[str, Chain] = field(default_factory=dict)
    """Those of a program that have not finished, by id."""
    run: Run | None = None
    """How it stands in the core, once it is there."""
    first: int = 0
    """Number of its first unit."""

    def begin(self) -> tuple[Workflow, bool]:
        """What is submitted to the core first, and whether more may follow."""
        if isinstance(self.document, Workflow):
            self.linked = link(self.document)
            return self.linked.condensed(), False
        self.generator = Generator(self.document, self.parameters)
        tasks = self._take(self.generator.begin())
        program = self.document
        workflow = Workflow(program.name, tasks, ((),) * len(tasks), program.priority, program.deadline)
        return workflow, not self.generator.is_done

    def finish(self, chain: str, results: Mapping[str, Mapping[str, Json]]) -> tuple[tuple[Task, ...], bool] | None:
        """What follows on the end of a chain, and whether it is the last; None: all was known from the start."""
        if self.generator is None or chain not in self.chains:
            return None
        del self.chains[chain]
        return self._take(self.generator.finished(chain, results)), self.generator.is_done

    @property
    def fault(self) -> str:
        """Why a program cannot be unfolded any further; empty: it can."""
        faults = self.generator.faults if self.generator is not None else ()
        return f"{faults[0].step or 'outputs'}: {faults[0].reason}" if faults else ""

    def order(self, unit: Unit, attempt: int, machine: int) -> Order:
        """The order to run an attempt of a unit."""
        amounts = dict(unit.need.requirement.amounts)
        chain = unit.task.id
        return Order(
            run=self.id,
            unit=unit.id,
            attempt=attempt,
            machine=machine,
            chain=chain,
            calls=self.calls(unit),
            folder=self.attempt_folder(unit, attempt),
            checkpoint=f"{self.folder}/{self._folder_name(chain)}/checkpoint" if self._keeps_checkpoint(chain) else "",
            cpus=amounts.get("cpus", 1),
            memory=amounts.get("memory"),
        )

    def attempt_folder(self, unit: Unit, attempt: int) -> str:
        """Where the files of an attempt go."""
        return f"{self.folder}/{self._folder_name(unit.task.id)}/{attempt}"

    def calls(self, unit: Unit) -> tuple[Call, ...]:
        """What a unit consists of."""
        if self.linked is not None:
            tasks = self.linked.workflow.tasks
            return tuple(call_of(tasks[place]) for place in self.linked.chains[unit.id - self.first])
        return self.chains[unit.task.id].calls

    def _folder_name(self, chain: str) -> str:
        found = self.chains.get(chain)
        return _fit_for_a_folder(chain) if found is None else found.name

    def _keeps_checkpoint(self, chain: str) -> bool:
        return chain in self.chains and self.chains[chain].checkpoint

    def _take(self, chains: Sequence[Chain]) -> tuple[Task, ...]:
        self.chains |= {chain.id: chain for chain in chains}
        return tuple(map(task_of, chains))


def call_of(task: Task) -> Call:
    """A task of a workflow as a call; without a command it does nothing."""
    return Call(task.id, Shell(task.command or ":"), limits=Limits(run=task.timeout))


def task_of(chain: Chain) -> Task:
    """A chain as the core sees it: one task."""
    retries = chain.retries
    return Task(
        id=chain.id,
        name=chain.kind,
        requirement=chain.requirement,
        runtime=chain.runtime,
        runtimes=chain.runtimes,
        retry=Retry(
            attempts=retries.error.attempts,
            by_cause={
                "memory": retries.memory.attempts,
                "timeout": retries.timeout.attempts,
                "silence": retries.timeout.attempts,
            },
            lost=retries.lost.attempts,
            memory_growth=retries.growth,
            delay=retries.error.delay,
            factor=retries.error.factor,
            max_delay=retries.error.max_delay,
        ),
    )


def _fit_for_a_folder(text: str) -> str:
    name = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in text)
    if name == text and len(name) <= _LONGEST_NAME and name.strip("."):
        return name
    return f"{name[:_LONGEST_NAME]}-{sha256(text.encode()).hexdigest()[:16]}"  # different ids, different folders
