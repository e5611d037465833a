"""Convert native workflow and machine files into the model."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath

from tradewind.formats.complaints import check
from tradewind.formats.documents import (
    BillingPart,
    BootPart,
    DivisiblePart,
    FilePart,
    JoinsPart,
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
from tradewind.model.elastic import Elastic
from tradewind.model.machine import Billing, BootLag, MachineType, Market, Presence
from tradewind.model.requirement import ANYTHING, Requirement, amounts_of
from tradewind.model.units import Duration, Price, parse_price
from tradewind.model.workflow import ONCE, Checkpoint, File, Retry, Task, Workflow


def workflow_from(tree: Tree) -> Workflow:
    """Return the workflow in a native file."""
    document = check(WorkflowDocument, tree)
    problems = tree.problems()
    shell = document.shell or ""
    if isinstance(document.tasks, list):
        steps = [_step(("tasks", at), task.id, task, shell, problems) for at, task in enumerate(document.tasks)]
    else:
        steps = [_step(("tasks", name), name, task, shell, problems) for name, task in document.tasks.items()]
    name = document.name or name_of(tree.file)
    return connect(name, steps, problems, priority=document.priority, deadline=document.deadline)


def machines_from(tree: Tree) -> tuple[MachineType, ...]:
    """Return the machine types in a native file."""
    document = check(MachinesDocument, tree)
    problems = tree.problems()
    machines = machine_types(document.machines, problems)
    problems.settle()
    return machines


def machine_types(parts: Mapping[str, MachinePart], problems: Problems) -> tuple[MachineType, ...]:
    """Return machine types in the order of the file."""
    return tuple(_machine_type(name, part, problems) for name, part in parts.items())


def name_of(file: str) -> str:
    """Return the default name of a workflow: the file name without its suffixes."""
    name = PurePath(file).name
    for suffix in (".gz", ".yaml", ".yml", ".json", ".xml", ".dax"):
        name = name.removesuffix(suffix)
    return name or "workflow"


def _step(place: Place, identity: str, part: TaskPart, shell: str, problems: Problems) -> Step:
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
        elastic=_elastic(part.divisible) if part.divisible else None,
        shell=part.shell or shell,
    )
    return Step(task, part.needs, place)


def _elastic(part: DivisiblePart) -> Elastic:
    return Elastic(part.iterations, part.initial, part.maximum, part.within, part.balancer or "", tuple(part.weights))


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
        problems.add((*place, "core_price"), "refunds for missing cores exceed the price of the machine")
        core_price = 0
    if part.trace and part.market is Market.ON_DEMAND:
        problems.add(
            (*place, "trace"), "applies only to spot and harvest machines", "add market: spot or market: harvest"
        )
    if part.keep > part.limit:
        problems.add((*place, "keep"), f"exceeds the limit of {part.limit}")
    if part.joins is not None:
        _check_joins((*place, "joins"), part, part.joins, problems)
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
        joins=part.joins is not None,
        tenants=() if part.joins is None else tuple(part.joins.tenants),
        presence=None if part.joins is None else _presence(part.joins),
    )


def _presence(part: JoinsPart) -> Presence:
    return Presence(part.present, part.after, part.until, part.churn)


def _check_joins(place: Place, part: MachinePart, joins: JoinsPart, problems: Problems) -> None:
    if part.trace:
        problems.add((*place[:-1], "trace"), "is for machines that are rented", "remove it, or remove joins")
    if joins.present > part.limit:
        problems.add((*place, "present"), f"is more than the limit of {part.limit}", "raise the limit")
    if joins.until is not None and joins.until <= joins.after:
        problems.add((*place, "until"), "is not later than after", "let them leave after they have joined")


def _price(place: Place, text: str, period: Duration, problems: Problems) -> Price:
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
