"""SCS: Scaling, Consolidation, Scheduling, which ends jobs by their deadlines on machines billed by the hour.

Follows section 3.3 of Mao and Humphrey, SC 2011, step by step: bundles (`bundle`), deadline assignment (`assign`),
windows (`windows`), load vectors (`load`), consolidation (`consolidate`), scaling (here) and earliest deadline first
(`orders`). Where we differ, or had to choose:
- The lag is paid once per job: its windows begin a lag after it was submitted, and machines for later tasks are
  acquired ahead, as far as we look: the lag and two control periods. Looking further costs more and serves nobody.
- A running task counts as one machine until its end as estimated.
- What the load vectors say is checked by placing ahead (`ahead`).
- Idle machines above need go back when their paid time ends before the next step, unless the look-ahead needs them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tradewind.model.units import Duration, Time, show_duration
from tradewind.policies.deadline.ahead import Ahead, lacking
from tradewind.policies.deadline.consolidate import consolidate
from tradewind.policies.deadline.job import Job, Wanted, deadline_of, plan
from tradewind.policies.deadline.load import LoadVector, density
from tradewind.policies.deadline.orders import EarliestDeadlineFirst, Order, Orders
from tradewind.policies.deadline.shape import Shapes, rates
from tradewind.policies.parts.returning import expiring
from tradewind.policies.protocol import Fleet, Foresee, Offer, Policy, Pool, Rent, Return, Scaling, View


@dataclass(frozen=True, slots=True)
class Parameters:
    """How far deadlines reach where none is given, and what to leave out."""

    patience: float = field(
        default=2.0, metadata={"help": "time for runs without a deadline, in makespans on their cheapest types"}
    )

    consolidation: bool = field(
        default=True, metadata={"help": "move tasks to types with spare machines; false only to study what it does"}
    )

    def __post_init__(self) -> None:
        if self.patience < 1:
            raise ValueError("patience must be at least 1")


class Scs:
    """Rents what the work in sight needs to end in time, on the types where it costs least."""

    on_arrival = True

    def __init__(self, parameters: Parameters, orders: Orders) -> None:
        self._patience = parameters.patience
        self._consolidates = parameters.consolidation
        self._orders = orders
        self._shapes = Shapes()
        self._jobs: dict[int, Job] = {}
        """By run; all that is remembered can be worked out again from the view."""
        self._prices: tuple[float, ...] = ()
        self._lag: Duration = 0

    def scale(self, view: View) -> Iterator[Scaling]:
        """One turn of the control loop for each tenant."""
        if not self._prices:
            self._prices = rates([kind.type for kind in view.kinds])
        self._lag = max(kind.type.boot.mean for kind in view.kinds)  # it may have been learned
        freed, self._orders.freed = self._orders.freed, set()
        for pool in view.pools():
            with view.phase("windows"):
                foreseen = list(self._update(view, pool, freed))
            yield from foreseen
            yield from self._serve(view, pool)
        self._forget(view)

    def _update(self, view: View, pool: Pool, freed: set[int]) -> Iterator[Foresee]:
        """Work out the windows of all jobs in which something has changed."""
        for run in pool.runs.values():
            job = self._jobs.get(run.id)
            if job is None or job.size != len(run.units):
                shape = self._shapes.of(view, run)
                deadline = deadline_of(run, shape, self._prices, self._lag, self._patience)
                job = self._jobs[run.id] = Job(run, shape, deadline)
            elif job.given != run.deadline:
                job.given, job.is_late = run.deadline, None
                job.deadline = deadline_of(run, job.shape, self._prices, self._lag, self._patience)
            elif run.id not in freed:
                continue
            plan(view, job, self._shapes, self._prices, self._lag)
            for each in job.wanted:
                self._orders.give(pool, each.unit, Order(each.kind, each.due, each.after))
            is_late = job.finish > job.deadline
            if run.deadline is not None and is_late != job.is_late:
                job.is_late = is_late
                yield Foresee(run, job.finish, "on its fastest types" if is_late else "on the types meant for it")

    def _serve(self, view: View, pool: Pool) -> Iterator[Scaling]:
        with view.phase("load"):
            until = view.now + self._lag + 2 * view.interval
            queues = self._queues(pool, until)
            loads = [self._load(view, fleet, queue) for fleet, queue in zip(pool.fleets, queues, strict=True)]
        with view.phase("consolidate"):
            held = [len(fleet.machines) for fleet in pool.fleets]
            slots = [fleet.kind.type.slots for fleet in pool.fleets]
            moves = consolidate(queues, loads, held, slots, view.now, until) if self._consolidates else []
            for task, kind in moves:
                self._orders.give(pool, task.unit, Order(kind, task.due))
                queues[kind].append(task._replace(kind=kind, time=task.times[kind]))
        for fleet, load, queue in zip(pool.fleets, loads, queues, strict=True):
            yield from self._adjust(view, pool, fleet, load.machines(view.now, until, fleet.kind.type.slots), queue)

    def _queues(self, pool: Pool, until: Time) -> list[list[Wanted]]:
        """What is to begin soon, by machine type, earliest deadline first; consolidated tasks on their new type."""
        queues: list[list[Wanted]] = [[] for _ in pool.fleets]
        order_of = self._orders.of
        for number in pool.runs:
            for each in self._jobs[number].wanted:
                if each.begin >= until:
                    break
                unit = each.unit
                if unit.machine is None and not unit.is_ended:
                    order = order_of(unit)
                    kind = each.kind if order is None else order.kind
                    queues[kind].append(each if kind == each.kind else each._replace(kind=kind, time=each.times[kind]))
        for queue in queues:
            queue.sort(key=lambda each: (each.due, each.unit.id))
        return queues

    def _load(self, view: View, fleet: Fleet, queue: list[Wanted]) -> LoadVector:
        load = LoadVector()
        now = view.now
        for _, _, begin, due, time, _, _ in queue:
            since = begin if begin > now else now
            share = density(time, since, due)
            load.add(since, due, share if share < 1.0 else 1.0)
        for machine in fleet.machines.values():
            for unit in machine.running.values():
                load.add(now, unit.started + view.estimate(unit, fleet.kind), 1.0)
        return load

    def _adjust(self, view: View, pool: Pool, fleet: Fleet, needed: int, queue: list[Wanted]) -> Iterator[Scaling]:
        """Acquire what is missing, and return what is spare once its paid time ends."""
        kind = fleet.kind
        held = len(fleet.machines)
        if not needed and not held and not queue:
            return
        with view.phase("ahead"):
            free = slots_free(view, fleet)
            new = view.now + kind.type.boot.mean
            fresh = max(0, needed - held)
            now = view.now
            tasks = [Ahead(due, begin if begin > now else now, time) for _, _, begin, due, time, _, _ in queue]
            slots = kind.type.slots
            more = fresh - (-lacking([*free, *[new] * (fresh * slots)], tasks, new) // slots)
        if more:
            yield Rent(
                pool,
                kind,
                more,
                f"{len(queue)} tasks within {show_duration(self._lag + 2 * view.interval)} need {needed} machines,"
                f" and {held} are held",
            )
        elif held > needed:
            spare = held - needed
            for machine in list(expiring(fleet.machines.values(), view.now, view.interval))[:spare]:
                yield Return(machine, f"{needed} of {held} machines are needed for now")

    def _forget(self, view: View) -> None:
        runs = {number for pool in view.pools() for number in pool.runs}
        for number in [number for number in self._jobs if number not in runs]:
            job = self._jobs.pop(number)
            self._orders.forget(each.unit.id for each in job.wanted)


def slots_free(view: View, fleet: Fleet) -> list[Time]:
    """From when on each slot of a fleet is thought to be free."""
    free: list[Time] = []
    now = view.now
    for machine in fleet.machines.values():
        running = [max(now, unit.started + view.estimate(unit, fleet.kind)) for unit in machine.running.values()]
        begin = max(now, machine.expected)
        free += running
        free += [begin] * (fleet.kind.type.slots - len(running))
    return free


def _build(parameters: Parameters) -> Policy:
    orders = Orders()
    return Policy("scs", Scs(parameters, orders), EarliestDeadlineFirst(orders))


OFFER = Offer(
    name="scs",
    summary="deadlines at the least cost, on machines billed by the hour, by load vectors (needs run-time estimates)",
    parameters=Parameters,
    build=_build,
)
