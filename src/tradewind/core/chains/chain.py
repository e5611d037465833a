"""Chains: what a program's steps become once they can run, each placed on one machine as a whole."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tradewind.core.chains.link import most_patient, summed
from tradewind.model.action import Action, Call, Divisible
from tradewind.model.elastic import Elastic
from tradewind.model.program import NO_RETRIES, Retries, Step
from tradewind.model.requirement import ANYTHING, Requirement
from tradewind.model.units import SECOND, Duration
from tradewind.model.workflow import NO_RUNTIMES, File, Retry, Task

_LONGEST_NAME = 150
_MOST_RETRIES = 1_000
_REPORT = 10 * SECOND
"""Shares report no more often than this, unless they have to be done soon."""
_ITEM = re.compile(r"\[([0-9.]+)\]")


@dataclass(frozen=True, slots=True)
class Chain:
    """Calls that run one after the other in the same attempt; they fail, and are tried again, as a whole."""

    id: str
    """Unique in its run: the id of its first call."""
    calls: tuple[Call, ...]
    kind: str = ""
    """The names of its steps; chains of one kind resemble each other."""
    requirement: Requirement = ANYTHING
    retries: Retries = NO_RETRIES
    total: Duration | None = None
    """Longest time over all attempts."""
    runtime: Duration | None = None
    """Declared run time on a machine of speed 1."""
    runtimes: Mapping[str, Duration] = field(default_factory=lambda: NO_RUNTIMES)
    checkpoint: bool = False
    """Whether it gets a folder that is kept over attempts."""

    @property
    def name(self) -> str:
        """Its id as the name of a folder: `qc.1.align.0-2` for `qc[1].align[0.2]`."""
        name = _ITEM.sub(lambda found: "." + found[1].replace(".", "-"), self.id) if "[" in self.id else self.id
        if len(name) <= _LONGEST_NAME:
            return name
        return f"{name[:_LONGEST_NAME]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def pattern_of(steps: Sequence[Step]) -> Chain:
    """What all chains of the same steps have in common: a chain without an id and without calls."""
    first = steps[0]
    runtime, runtimes = summed([(step.runtime, step.runtimes) for step in steps])
    return Chain(
        id="",
        calls=(),
        kind="+".join(step.name or step.id for step in steps),
        requirement=first.requirement,
        retries=first.retries if len(steps) == 1 else _merged([step.retries for step in steps]),
        total=first.total,
        runtime=runtime,
        runtimes=runtimes or NO_RUNTIMES,
        checkpoint=any(step.checkpoint for step in steps),
    )


def chain_of(pattern: Chain, calls: Sequence[Call]) -> Chain:
    """The chain of some calls."""
    return Chain(
        calls[0].id,
        tuple(calls),
        pattern.kind,
        pattern.requirement,
        pattern.retries,
        pattern.total,
        pattern.runtime,
        pattern.runtimes,
        pattern.checkpoint,
    )


def task_of(chain: Chain, inputs: tuple[File, ...] = ()) -> Task:
    """A chain as the core sees it: one task, with what it reads, if that is known."""
    return Task(
        id=chain.id,
        name=chain.kind,
        requirement=chain.requirement,
        runtime=chain.runtime,
        runtimes=chain.runtimes,
        inputs=inputs,
        retry=_retry_of(chain.retries, chain.total),
        elastic=_elastic(chain.calls[0].action) if chain.calls else None,
    )


def _elastic(action: Action) -> Elastic | None:
    """How the iterations of a divisible step are shared out; None: it is none."""
    if not isinstance(action, Divisible):
        return None
    report = _REPORT if action.within is None else min(_REPORT, max(SECOND // 5, action.within // 100))
    return Elastic(
        iterations=action.iterations,
        initial=action.initial or 0,
        maximum=action.maximum,
        within=action.within,
        balancer=action.balancer,
        report=report,
        reduces=True,
    )


_retries: dict[tuple[int, Duration | None], tuple[Retries, Retry]] = {}
"""By identity, as chains of a loop share what their step says: a retry of its own would double the size of a task."""


def _retry_of(retries: Retries, within: Duration | None) -> Retry:
    key = id(retries), within
    found = _retries.get(key)
    if found is None or found[0] is not retries:
        if len(_retries) >= _MOST_RETRIES:
            _retries.clear()
        retry = Retry(
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
            within=within,
        )
        found = _retries[key] = (retries, retry)
    return found[1]


def _merged(retries: Sequence[Retries]) -> Retries:
    if all(retry == retries[0] for retry in retries):
        return retries[0]
    return Retries(
        error=most_patient([retry.error for retry in retries]),
        memory=most_patient([retry.memory for retry in retries]),
        timeout=most_patient([retry.timeout for retry in retries]),
        lost=most_patient([retry.lost for retry in retries]),
        growth=max(retry.growth for retry in retries),
    )
