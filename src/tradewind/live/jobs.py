"""Jobs: what a run consists of in real life, and how its units become orders for an engine."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias

from tradewind.core.chains.chain import Chain
from tradewind.core.chains.generator import Generator
from tradewind.core.chains.link import Linked, link
from tradewind.core.chains.outline import Count, outline
from tradewind.core.elastic.events import SHARE
from tradewind.core.work import Run, Unit
from tradewind.live.cache.known import Known, Place
from tradewind.live.open_chains import OpenChains
from tradewind.live.port import Order
from tradewind.live.sizes import sized_task_of
from tradewind.model.action import NOTHING, Call, Json, Limits, Shell
from tradewind.model.bounds import readable
from tradewind.model.program import Program
from tradewind.model.workflow import Task, Workflow

Document: TypeAlias = Workflow | Program

_LONGEST_NAME = 120
_LONGEST_REASON = 500
_PLAIN = re.compile(rf"[A-Za-z0-9_-][A-Za-z0-9_.-]{{0,{_LONGEST_NAME - 1}}}").fullmatch
"""Most names are fit for a folder as they are."""


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
    chains: OpenChains = field(default_factory=OpenChains)
    """Those of a program that have not finished, by id."""
    run: Run | None = None
    """How it stands in the core, once it is there."""
    first: int = 0
    """Number of its first unit."""
    uses_cache: bool = True
    """Whether what equal calls gave before may be taken instead."""
    recall: Callable[[Sequence[Chain]], Sequence[Known]] | None = None
    """Looks chains up in the cache; None: each of them is run."""
    recalled: list[tuple[Chain, Known]] = field(default_factory=list)
    """Chains found there whole, of which nobody has been told yet."""
    first_recalled: int = 0
    """Number of the first of these units."""
    known: dict[str, dict[str, dict[str, Json]]] = field(default_factory=dict)
    """Results of the first calls of chains of which the rest is run."""
    encoded: bytes = b""
    """The document as it will be stored, until it is."""
    problem: str = ""
    """What went wrong that was not foreseen; the run fails for it."""

    def begin(self) -> tuple[Workflow, bool]:
        """What is submitted to the core first, and whether more may follow."""
        if isinstance(self.document, Workflow):
            self.linked = link(self.document)
            return self.linked.condensed(), False
        self.generator = Generator(self.document, self.parameters)
        self.chains.follow(self.generator)
        tasks = self._take(self.generator.begin())
        program = self.document
        workflow = Workflow(program.name, tasks, ((),) * len(tasks), program.priority, program.deadline)
        return workflow, not self.generator.is_done

    def outline(self, count: Count) -> Workflow | None:
        """All that is expected of a program, given how many items its loops had before; None: all is known."""
        generator = self.generator
        if generator is None or generator.is_done or not isinstance(self.document, Program):
            return None
        return outline(self.document, self.parameters, count, generator.plan)

    def finish(self, chain: str, results: Mapping[str, Mapping[str, Json]]) -> tuple[tuple[Task, ...], bool] | None:
        """What follows on the end of a chain, and whether it is the last; None: all was known from the start."""
        if self.generator is None or chain not in self.chains:
            return None
        self.chains.drop(chain)
        return self._take(self.generator.finished(chain, results)), self.generator.is_done

    def chains_beyond(self, known: Collection[str]) -> tuple[Task, ...]:
        """Chains that are there by now but not among the known ones."""
        return tuple(sized_task_of(chain) for chain in self.chains.values() if chain.id not in known)

    @property
    def fault(self) -> str:
        """Why the run cannot go on; empty: it can."""
        if self.problem:
            return self.problem
        faults = self.generator.faults if self.generator is not None else ()
        return f"{faults[0].step or 'outputs'}: {faults[0].reason}" if faults else ""

    def blame(self, error: Exception) -> None:
        """Let the run fail for an error that it has caused."""
        self.problem = self.problem or words_for(error)

    def order(self, unit: Unit, attempt: int, machine: int) -> Order:
        """The order to run an attempt of a unit."""
        amounts = dict(unit.need.requirement.amounts)
        chain = unit.task.id
        found = None if self.linked is not None else self.chains[divided(chain)]
        name = _fit_for_a_folder(chain) if found is None else _name_of(found, chain)
        where = unit.machine
        most = where.holds(unit.need.demand) if where is not None and where.free[0] < 0 else 0
        return Order(
            run=self.id,
            unit=unit.id,
            attempt=attempt,
            machine=machine,
            chain=chain,
            calls=self.calls(unit) if found is None else _calls_of(found, chain),
            folder=f"{self.folder}/{name}.{attempt}",
            checkpoint=self._checkpoint_folder(unit, attempt) if found is not None and found.checkpoint else "",
            cpus=amounts.get("cpus", 1),
            memory=amounts.get("memory"),
            most=most,
        )

    def attempt_folder(self, unit: Unit, attempt: int) -> str:
        """Where the files of an attempt go."""
        return self.folder_of(unit.task.id, attempt)

    def folder_of(self, chain: str, attempt: int) -> str:
        """Where the files of an attempt of a chain go."""
        return f"{self.folder}/{self._folder_name(chain)}.{attempt}"

    def place(self, tenant: str) -> Place:
        """Whose calls its calls are, as the cache sees it."""
        return Place(tenant, self.document.name, self.id, str(self.folder))

    def calls(self, unit: Unit) -> tuple[Call, ...]:
        """What a unit consists of."""
        if self.linked is not None:
            tasks = self.linked.workflow.tasks
            return tuple(call_of(tasks[place]) for place in self.linked.chains[unit.id - self.first])
        return self.chains[divided(unit.task.id)].calls

    def _folder_name(self, chain: str) -> str:
        found = None if self.linked is not None else self.chains.get(divided(chain))
        return _fit_for_a_folder(chain) if found is None else _name_of(found, chain)

    def _checkpoint_folder(self, unit: Unit, attempt: int) -> str:
        """Where an attempt saves its progress: always the same place, unless another attempt is at it."""
        is_copy = any(each.number == attempt for each in unit.copies)
        return f"{self.folder}/{self._folder_name(unit.task.id)}.checkpoint{f'-{attempt}' if is_copy else ''}"

    def _fresh(self, generator: Generator, chains: Sequence[Chain]) -> list[Chain]:
        """The chains, or what is left of them, that must be run; what follows on those found in the cache is added."""
        fresh: list[Chain] = []
        while chains and self.recall is not None:
            following: list[Chain] = []
            for chain, known in zip(chains, self.recall(chains), strict=True):
                if not known.results:
                    fresh.append(chain)
                elif known.rest.calls:
                    fresh.append(known.rest)
                    self.known[chain.id] = known.results
                    self.chains.replace(known.rest)
                else:
                    self.recalled.append((chain, known))
                    following += generator.finished(chain.id, known.results)
            chains = following
        return fresh

    def _take(self, chains: Sequence[Chain]) -> tuple[Task, ...]:
        if self.recall is not None and self.generator is not None:
            chains = self._fresh(self.generator, chains)
        for chain in chains:
            self.chains.hold(chain)
        return tuple(map(sized_task_of, chains))


def divided(chain: str) -> str:
    """The chain that a share works for; itself, if it is no share."""
    return chain.partition(SHARE)[0]


def _name_of(found: Chain, chain: str) -> str:
    _, is_share, number = chain.partition(SHARE)
    return f"{found.name}.share-{number}" if is_share else found.name


def _calls_of(found: Chain, chain: str) -> tuple[Call, ...]:
    """What a unit of a program runs; a share leaves nothing behind but what it delivers."""
    return tuple(replace(call, outputs=NOTHING) for call in found.calls) if SHARE in chain else found.calls


def words_for(error: Exception) -> str:
    """What went wrong, in a line."""
    words = str(error).partition("\n")[0][:_LONGEST_REASON]
    return readable(f"cannot be processed: {type(error).__name__}{words and ': '}{words}")


def call_of(task: Task) -> Call:
    """A task of a workflow as a call; without a command it does nothing."""
    return Call(task.id, Shell(task.command or ":", task.shell), limits=Limits(run=task.timeout))


def _fit_for_a_folder(text: str) -> str:
    if _PLAIN(text):
        return text
    name = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in text)
    if name == text and len(name) <= _LONGEST_NAME and name.strip("."):
        return name
    return f"{name[:_LONGEST_NAME]}-{sha256(text.encode()).hexdigest()[:16]}"  # different ids, different folders
