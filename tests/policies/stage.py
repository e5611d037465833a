"""A stage on which policies are tried: the real core, with work and machines put where a test wants them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from hypothesis import strategies as st

from tradewind.core.admit import Admission
from tradewind.core.handle import Core
from tradewind.core.log import Record
from tradewind.core.machines import Machine
from tradewind.core.state import State
from tradewind.core.work import Unit, declared_time
from tradewind.model.command import Charged, Cut, Dropped
from tradewind.model.event import Finished, MachineReady, Submitted
from tradewind.model.machine import BootLag, MachineType
from tradewind.model.scenario import Faults, Scenario, Submission
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, SECOND, UNIT, Time
from tradewind.model.workflow import Task, Workflow, arrange
from tradewind.policies.protocol import Place, Policy, Rent, Return, Scaling, View
from tradewind.policies.protocol import Unit as AnyUnit
from tradewind.sim.driver import Simulation

NO_FAULTS = Faults()
LAG = 10 * SECOND
SMALL = MachineType("small", price=1 * UNIT, boot=BootLag(LAG), limit=32)
LARGE = MachineType("large", price=5 * UNIT, boot=BootLag(LAG), limit=32)


class Step(NamedTuple):
    """A task of a workflow under test: seconds on every type or on each, and the names of its parents."""

    seconds: int | Mapping[str, int]
    after: str = ""


def flow(name: str = "w", /, priority: int = 0, **steps: Step) -> Workflow:
    """A workflow of named steps."""
    names = list(steps)
    tasks = []
    for key, step in steps.items():
        times = step.seconds
        if isinstance(times, int):
            tasks.append(Task(key, key, runtime=times * SECOND))
        else:
            tasks.append(Task(key, key, runtimes={kind: time * SECOND for kind, time in times.items()}))
    parents = [[names.index(parent) for parent in step.after.split()] for step in steps.values()]
    return arrange(name, tasks, parents, priority=priority)


def flat(tasks: int, seconds: int | Mapping[str, int] = 10, priority: int = 0) -> Workflow:
    """A workflow of equal tasks that wait for nothing."""
    return flow("flat", priority, **{f"t{index}": Step(seconds) for index in range(tasks)})


class Idle:
    """Decides nothing."""

    on_arrival = False

    def scale(self, view: View) -> Iterator[Scaling]:
        return iter(())

    def rank(self, unit: AnyUnit) -> int:
        return 0

    def place(self, view: View) -> Iterator[Place]:
        return iter(())


class Stage:
    """A core under a policy (by default one that does nothing), moved by hand."""

    def __init__(self, *types: MachineType, budget: int | None = None, policy: Policy | None = None) -> None:
        amount = None if budget is None else budget * UNIT
        self.state = State(types or (SMALL, LARGE), [Tenant("t", amount)], MINUTE, 0, declared_time)
        self.pool = self.state.all_pools[0]
        self.core = Core(self.state, policy or Policy("idle", Idle(), Idle()))
        self.admission = Admission(self.state, lambda _: None)

    def submit(self, *workflows: Workflow) -> dict[str, Unit]:
        """The units of the workflows by the names of their tasks; those of the last one win."""
        first = self.state.next_unit
        for workflow in workflows:
            self.core.handle(Submitted(self.state.now, 0, "t", workflow))
        return {unit.task.id: unit for unit in self.state.units.values() if unit.id >= first}

    def rent(self, kind: int, number: int = 1, *, up: bool = True) -> list[Machine]:
        """New machines of a kind, up at once or still booting."""
        first = self.state.next_machine
        self.admission.scaling(Rent(self.pool, self.state.kinds[kind], number, "a test wants it"))
        rented = [machine for machine in self.state.machines.values() if machine.id >= first]
        if up:
            for machine in rented:
                self.boot(machine)
        return rented

    def boot(self, machine: Machine) -> None:
        """A machine is up now."""
        self.core.handle(MachineReady(self.state.now, 0, machine.id))

    def start(self, unit: Unit, machine: Machine) -> None:
        """A unit runs from now on."""
        self.admission.place(Place(unit, machine, "a test wants it"))

    def finish(self, unit: Unit) -> None:
        """A unit has ended well now."""
        assert unit.machine is not None
        self.core.handle(Finished(self.state.now, 0, unit.id, unit.attempt, unit.machine.id))

    def wait(self, until: Time) -> None:
        """Let time pass without anything happening."""
        self.state.now = until

    def scale(self, policy: Policy) -> list[Scaling]:
        """What a policy decides now, carried out."""
        actions = []
        for action in policy.scaler.scale(self.state):
            actions.append(action)
            self.admission.scaling(action)
        return actions


@st.composite
def workflows(draw: st.DrawFn, most: int = 12) -> Workflow:
    """Small workflows with run times, some of them zero, that differ between small and large machines."""
    count = draw(st.integers(1, most))
    tasks = []
    parents = []
    for index in range(count):
        small, large = draw(st.tuples(st.integers(0, 70), st.integers(0, 70)))
        tasks.append(Task(f"t{index}", "t", runtimes={"small": small * SECOND, "large": large * SECOND}))
        parents.append(sorted(draw(st.sets(st.integers(0, index - 1), max_size=3))) if index else [])
    return arrange("random", tasks, parents, priority=draw(st.integers(0, 9)))


class Setting(NamedTuple):
    """Work and machines to decide on."""

    works: list[Workflow]
    up: tuple[int, int]
    booting: tuple[int, int]
    busy: int
    """How many of the machines that are up run something."""
    budget: int | None
    limit: int
    now: int

    def stage(self) -> Stage:
        """The setting brought onto a stage; equal settings make equal stages."""
        kinds = [MachineType(t.name, t.price, boot=t.boot, limit=self.limit) for t in (SMALL, LARGE)]
        stage = Stage(*kinds, budget=self.budget)
        stage.submit(*self.works)
        for kind in (0, 1):
            stage.rent(kind, self.up[kind])
            stage.rent(kind, self.booting[kind], up=False)
        idle = [machine for machine in stage.state.machines.values() if machine.is_idle]
        ready = sorted(stage.pool.eligible(), key=lambda unit: unit.id)
        for unit, machine in list(zip(ready, idle, strict=False))[: self.busy]:
            stage.start(unit, machine)
        stage.wait(self.now * SECOND)
        return stage


counts = st.tuples(st.integers(0, 4), st.integers(0, 4))
settings = st.builds(
    Setting,
    works=st.lists(workflows(), max_size=5),
    up=counts,
    booting=counts,
    busy=st.integers(0, 8),
    budget=st.none() | st.integers(1, 60),
    limit=st.integers(1, 12),
    now=st.integers(0, 130),
)


def asked(actions: Sequence[Scaling]) -> dict[str, int]:
    """How many machines of each type are to be rented."""
    return {action.kind.type.name: action.number for action in actions if isinstance(action, Rent)}


def returned(actions: Sequence[Scaling]) -> list[int]:
    """The numbers of the machines to be given back."""
    return [action.machine.id for action in actions if isinstance(action, Return)]


def never_asks_in_vain(stage: Stage) -> bool:
    """Whether all that was asked of the stage was granted: what is refused leaves a notice."""
    return not any(isinstance(notice, Cut | Dropped) for notice in stage.admission.out)


def run_to_the_end(setting: Setting, policy: Policy, faults: Faults = NO_FAULTS) -> list[Record]:
    """The records of a whole simulation of the setting's work, submitted at odd times by two tenants in turn."""
    kinds = tuple(MachineType(t.name, t.price, boot=t.boot, limit=setting.limit) for t in (SMALL, LARGE))
    amount = None if setting.budget is None else setting.budget * UNIT
    scenario = Scenario((), kinds, (Tenant("t", amount), Tenant("u", amount)), faults=faults)
    submissions = [
        Submission(37 * SECOND * index, workflow, "tu"[index % 2]) for index, workflow in enumerate(setting.works)
    ]
    records: list[Record] = []
    Simulation(scenario, submissions, policy).run(records.append)
    return records


def costliest_interval(records: Sequence[Record], tenant: int) -> int:
    """The most that was charged to a tenant in any stretch of time as long as an interval."""
    charges = [
        (record.at, record.amount) for record in records if isinstance(record, Charged) and record.tenant == tenant
    ]
    return max((sum(a for at, a in charges if begin <= at < begin + MINUTE) for begin, _ in charges), default=0)
