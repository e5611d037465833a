"""Native workflow and machines files: from what a person wrote to the model."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath

from tradewind.formats.complaints import check
from tradewind.formats.documents import (
    BillingPart,
    BootPart,
    FilePart,
    MachinePart,
    MachinesDocument,
    RetryPart,
    TaskPart,
    WorkflowDocument,
)
from tradewind.formats.errors import Place, Problems
from tradewind.formats.graph import Step, connect
from tradewind.formats.names import kind_of
from tradewind.formats.tree import Tree
from tradewind.model.machine import Billing, BootLag, MachineType, Market
from tradewind.model.requirement import ANYTHING, Requirement, amounts_of
from tradewind.model.units import Duration, Money, parse_price
from tradewind.model.workflow import ONCE, Checkpoint, File, Retry, Task, Workflow


def workflow_from(tree: Tree) -> Workflow:
    """The workflow that a native file holds."""
    document = check(WorkflowDocument, tree)
    problems = tree.problems()
    if isinstance(document.tasks, list):
        steps = [_step(("tasks", at), task.id, task, problems) for at, task in enumerate(document.tasks)]
    else:
        steps = [_step(("tasks", identity), identity, task, problems) for identity, task in document.tasks.items()]
    name = document.name or name_of(tree.file)
    return connect(name, steps, problems, priority=document.priority, deadline=document.deadline)


def machines_from(tree: Tree) -> tuple[MachineType, ...]:
    """The machine types that a native file holds."""
    document = check(MachinesDocument, tree)
    problems = tree.problems()
    machines = machine_types(document.machines, problems)
    problems.settle()
    return machines


def machine_types(parts: Mapping[str, MachinePart], problems: Problems) -> tuple[MachineType, ...]:
    """Machine types in the order in which they are written."""
    return tuple(_machine_type(name, part, problems) for name, part in parts.items())


def name_of(file: str) -> str:
    """What a workflow is called when its file does not say: the file's name without its suffixes."""
    name = PurePath(file).name
    for suffix in (".gz", ".yaml", ".yml", ".json", ".xml", ".dax"):
        name = name.removesuffix(suffix)
    return name or "workflow"


def _step(place: Place, identity: str, part: TaskPart, problems: Problems) -> Step:
    task = Task(
        id=identity,
        name=part.name or kind_of(identity),
        requirement=_requirement(place, part, problems),
        runtime=part.runtime,
        runtimes=part.runtimes,
        inputs=_files(part.inputs) if part.inputs else (),
        outputs=_files(part.outputs) if part.outputs else (),
        retry=_retry(part.retries),
        timeout=part.timeout,
        command=part.run,
        checkpoint=Checkpoint(part.checkpoint.interval, part.checkpoint.cost) if part.checkpoint else None,
    )
    return Step(task, part.needs, place)


def _requirement(place: Place, part: TaskPart, problems: Problems) -> Requirement:
    requirement = Requirement(frozenset(part.capabilities), amounts_of(_counts(place, part, problems)))
    return ANYTHING if requirement == ANYTHING else requirement


def _counts(place: Place, part: TaskPart | MachinePart, problems: Problems) -> dict[str, int]:
    counts = dict(part.amounts)
    for name, count in (("cpus", part.cpus), ("memory", part.memory), ("gpus", part.gpus)):
        if count is None:
            continue
        if name in counts:
            problems.add((*place, "amounts", name), f"{name} is given twice", "give it once")
        counts[name] = count
    return counts


def _files(parts: Sequence[str | FilePart]) -> tuple[File, ...]:
    return tuple(File(part) if isinstance(part, str) else File(part.name, part.size) for part in parts)


def _retry(part: int | RetryPart) -> Retry:
    if isinstance(part, int):
        return Retry(attempts=part + 1) if part else ONCE
    return Retry(
        attempts=part.attempts,
        by_cause=part.by_cause,
        lost=part.lost,
        preempted=part.preempted,
        memory_growth=part.memory_growth,
        delay=part.delay,
        factor=part.factor,
        max_delay=part.max_delay,
    )


def _machine_type(name: str, part: MachinePart, problems: Problems) -> MachineType:
    place = ("machines", name)
    counts = _counts(place, part, problems)
    billing = _billing(part.billing)
    price = _price((*place, "price"), part.price, billing.period, problems)
    core_price = _price((*place, "core_price"), part.core_price, billing.period, problems)
    if core_price * (counts.get("cpus", 0) - part.minimum.get("cpus", 0)) > price:
        problems.add((*place, "core_price"), "cores that it may lack cost more than the whole machine")
        core_price = 0
    if part.trace and part.market is Market.ON_DEMAND:
        problems.add((*place, "trace"), "is for machines that are not firm", "add market: spot or market: harvest")
    if part.keep > part.limit:
        problems.add((*place, "keep"), f"is more than the limit of {part.limit}")
    return MachineType(
        name=name,
        price=price,
        core_price=core_price,
        billing=billing,
        boot=_boot(part.boot),
        limit=part.limit,
        keep=part.keep,
        idle=part.idle,
        capabilities=frozenset(part.capabilities),
        slots=part.slots or counts.get("cpus", 0) or 1,
        amounts=amounts_of(counts),
        speed=part.speed,
        market=part.market,
        minimum=amounts_of(part.minimum),
        trace=str(PurePath(problems.file).parent / part.trace) if part.trace else "",
        trace_speed=part.trace_speed,
    )


def _price(place: Place, text: str, period: Duration, problems: Problems) -> Money:
    try:
        return parse_price(text, period)
    except (ValueError, ArithmeticError):
        problems.add(place, "is too large")
        return 0


def _boot(part: int | BootPart) -> BootLag:
    return BootLag(part.mean, part.deviation, part.declared) if isinstance(part, BootPart) else BootLag(part)


def _billing(part: int | BillingPart) -> Billing:
    if isinstance(part, BillingPart):
        return Billing(part.period, part.rounding, part.minimum)
    return Billing(part)
