"""SCS: Scaling, Consolidation, Scheduling, which meets deadlines on machines billed by the hour.

Implements section 3.3 of Mao and Humphrey, SC 2011, step by step: bundles (`bundle`), deadline assignment (`assign`),
windows (`windows`), load vectors (`load`), consolidation (`consolidate`), scaling (here) and earliest deadline first
(`orders`). Our choices and differences:
- The lag is paid once per job: its windows start a lag after submission, and machines for later tasks are acquired in
  advance, within a look-ahead of the lag and two control periods. Looking further ahead costs more without benefit.
- A running task counts as one machine until its estimated end.
- The result of the load vectors is checked by placing ahead (`ahead`).
- Surplus idle machines are returned when their paid time ends before the next step, unless the look-ahead needs them.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from operator import mul

from tradewind.model.units import Duration, Time, show_duration
from tradewind.policies.deadline.ahead import Ahead, lacking, lacking_shared, opening
from tradewind.policies.deadline.consolidate import consolidate
from tradewind.policies.deadline.job import Job, Wanted, deadline_of, plan
from tradewind.policies.deadline.load import LoadVector, density
from tradewind.policies.deadline.orders import EarliestDeadlineFirst, Order, Orders
from tradewind.policies.deadline.profile import Profile
from tradewind.policies.deadline.shape import Shapes, is_plannable, rates
from tradewind.policies.parts.fastest import payable
from tradewind.policies.parts.returning import expiring
from tradewind.policies.parts.room import room_in
from tradewind.policies.protocol import Fleet, Foresee, Offer, Policy, Pool, Rent, Return, Scaling, View


@dataclass(frozen=True, slots=True)
class Parameters:
    """The deadline of runs without one, and which steps to leave out."""

    patience: float = field(
        default=2.0, metadata={"help": "deadline for runs without one, in makespans on their cheapest types"}
    )

    consolidation: bool = field(
        default=True, metadata={"help": "move tasks to types with spare machines; false only to study its effect"}
    )

    def __post_init__(self) -> None:
        if self.patience < 1:
            raise ValueError("patience must be at least 1")


class Scs:
    """A scaler that rents what the known work needs to meet its deadlines, on the types where it costs least."""

    on_arrival = True

    def __init__(self, parameters: Parameters, orders: Orders) -> None:
        self._patience = parameters.patience
        self._consolidates = parameters.consolidation
        self._orders = orders
        self._shapes = Shapes()
        self._jobs: dict[int, Job] = {}
        """By run; everything stored can be recomputed from the view."""
        self._prices: tuple[float, ...] = ()
        self._lag: Duration = 0
        self._starving: set[int] = set()
        """Tenants with ready tasks for which neither money nor quota was left at the last turn."""

    def scale(self, view: View) -> Iterator[Scaling]:
        """Run one turn of the control loop for each tenant."""
        if len(self._prices) != len(view.kinds):
            self._prices = rates([kind.type for kind in view.kinds])
            self._shapes = Shapes()
            self._jobs.clear()
        self._lag = max(kind.type.boot.mean for kind in view.kinds)  # the mean may have been learned
        freed, self._orders.freed = self._orders.freed, set()
        for pool in view.pools():
            with view.phase("windows"):
                foreseen = list(self._update(view, pool, freed))
            yield from foreseen
            yield from self._serve(view, pool)
        self._forget(view)

    def _update(self, view: View, pool: Pool, freed: set[int]) -> Iterator[Foresee]:
        """Recompute the windows of all jobs that have changed."""
        for run in pool.runs.values():
            job = self._jobs.get(run.id)
            if (job is None or job.size != len(run.graph)) and not is_plannable(run):
                continue
            if job is None or job.size != len(run.graph):
                shape = self._shapes.of(view, run, payable(view, pool))
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
            finish = max(job.finish, view.now + least_time(view, pool, job, self._shapes))
            is_late = finish > job.deadline
            if run.deadline is not None and is_late != job.is_late:
                job.is_late = is_late
                because = "with the machines the budget pays for" if finish > job.finish else "on its fastest types"
                yield Foresee(run, finish, because if is_late else "on its assigned types")

    def _serve(self, view: View, pool: Pool) -> Iterator[Scaling]:
        with view.phase("load"):
            until = view.now + self._lag + 2 * view.interval
            queues = self._queues(pool, until)
            if pool.index in self._starving:  # what cannot begin yet must not take the means of what can
                queues = [[task for task in queue if task.unit.is_ready] for queue in queues]
            loads = [self._load(view, fleet, queue) for fleet, queue in zip(pool.fleets, queues, strict=True)]
        with view.phase("consolidate"):
            held = [len(fleet.machines) for fleet in pool.fleets]
            slots = [fleet.kind.type.slots for fleet in pool.fleets]
            moves = consolidate(queues, loads, held, slots, view.now, until) if self._consolidates else []
            for task, kind in moves:
                self._orders.give(pool, task.unit, Order(kind, task.due))
                queues[kind].append(task._replace(kind=kind, time=task.times[kind]))
        short: list[int] = []
        for fleet, load, queue in zip(pool.fleets, loads, queues, strict=True):
            needed = load.machines(view.now, until, fleet.kind.type.slots)
            yield from self._adjust(view, pool, fleet, needed, queue, short)
        is_limited = pool.tenant.budget is not None or pool.tenant.machines is not None
        if short and not self._divert(pool, queues, short) and is_limited:
            self._starving.add(pool.index)
        else:
            self._starving.discard(pool.index)

    def _divert(self, pool: Pool, queues: Sequence[Sequence[Wanted]], short: Collection[int]) -> bool:
        """Let ready tasks of types without further machines run on any machine with room.

        Return whether there is room for all of them.
        """
        rooms = [room_in(fleet) for fleet in pool.fleets]
        ready = [[task for task in queue if task.unit.is_ready] for queue in queues]
        without = [
            task
            for kind, tasks in enumerate(ready)
            for task in tasks
            if not rooms[kind].take(task.unit.need.demand, 1) and kind in short
        ]
        diverted = 0
        for task in sorted(without, key=lambda task: (task.due, task.unit.id)):
            for kind in sorted(task.unit.kinds, key=lambda kind: (task.times[kind.index], kind.index)):
                if rooms[kind.index].take(task.unit.need.demand, 1):
                    self._orders.give(pool, task.unit, Order(kind.index, task.due))
                    diverted += 1
                    break
        return diverted == len(without)

    def _queues(self, pool: Pool, until: Time) -> list[list[Wanted]]:
        """Return units that start soon by (possibly consolidated) machine type, earliest deadline first."""
        queues: list[list[Wanted]] = [[] for _ in pool.fleets]
        order_of = self._orders.of
        for number in pool.runs:
            job = self._jobs.get(number)
            for each in () if job is None else job.wanted:
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
        index = fleet.kind.index
        for _, _, begin, due, time, _, _, slots in queue:
            since = begin if begin > now else now
            share = density(time, since, due)
            load.add(since, due, (share if share < 1.0 else 1.0) * slots[index])
        for machine in fleet.machines.values():
            for unit in machine.running.values():
                slots = self._shapes.slots(view.kinds, unit.need)
                load.add(now, unit.started + view.estimate(unit, fleet.kind), slots[index])
        return load

    def _adjust(
        self, view: View, pool: Pool, fleet: Fleet, needed: int, queue: list[Wanted], short: list[int]
    ) -> Iterator[Scaling]:
        """Acquire missing machines, return surplus ones when their paid time ends, and record unavailable types."""
        kind = fleet.kind
        held = len(fleet.machines)
        if not needed and not held and not queue:
            return
        with view.phase("ahead"):
            new = view.now + kind.type.boot.mean
            fresh = max(0, needed - held)
            now = view.now
            tasks = [
                Ahead(due, begin if begin > now else now, time, unit.need.demand)
                for unit, _, begin, due, time, _, _, _ in queue
            ]
            if kind.capacity[0] == 1:
                more = fresh + lacking([*free_from(view, fleet), *[new] * fresh], tasks, new)
            else:
                machines = [*profiles(view, fleet), *(opening(kind.capacity, new) for _ in range(fresh))]
                more = fresh + lacking_shared(machines, tasks, new, kind.capacity)
        if more:
            yield Rent(
                pool,
                kind,
                more,
                f"{len(queue)} tasks within {show_duration(self._lag + 2 * view.interval)} need {needed} machines,"
                f" and {held} are held",
            )
            if len(fleet.machines) < held + more:
                short.append(kind.index)
        elif held > needed:
            spare = held - needed
            for machine in list(expiring(fleet.machines.values(), view.now, view.interval))[:spare]:
                yield Return(machine, f"{needed} of {held} machines are needed for now")

    def _forget(self, view: View) -> None:
        runs = {number for pool in view.pools() for number in pool.runs}
        for number in [number for number in self._jobs if number not in runs]:
            job = self._jobs.pop(number)
            self._orders.forget(each.unit.id for each in job.wanted)


def least_time(view: View, pool: Pool, job: Job, shapes: Shapes) -> Duration:
    """Return the least time that the rest of a job takes with the machines that its tenant can ever hold."""
    budget, quota = pool.tenant.budget, pool.tenant.machines
    if budget is None and quota is None:
        return 0
    left = [(view.kinds[each.kind], each.time, each.slots) for each in job.wanted]
    for unit in job.run.graph:
        if unit.machine is not None and not unit.is_ended:
            kind = unit.machine.kind
            end = unit.started + view.estimate(unit, kind)
            left.append((kind, max(0, end - view.now), shapes.slots(view.kinds, unit.need)))
    times = [time * slots[kind.index] / kind.type.slots for kind, time, slots in left]
    worths = [view.worth(pool, kind) for kind, _, _ in left]
    by_money = sum(map(mul, times, worths)) / budget if budget else 0.0
    return round(max(by_money, sum(times) / quota if quota else 0.0))


def free_from(view: View, fleet: Fleet) -> list[Time]:
    """Return when each machine of a fleet is expected to be free, if each runs one task at a time."""
    free: list[Time] = []
    now = view.now
    for machine in fleet.machines.values():
        running = [max(now, unit.started + view.estimate(unit, fleet.kind)) for unit in machine.running.values()]
        free += running or [max(now, machine.expected)]
    return free


def profiles(view: View, fleet: Fleet) -> Iterator[Profile]:
    """Yield the expected free capacity of each machine of a fleet."""
    for machine in fleet.machines.values():
        profile = opening(machine.capacity, max(view.now, machine.expected))
        for unit in machine.running.values():
            end = max(view.now, unit.started + view.estimate(unit, fleet.kind))
            profile.take(view.now, end, unit.need.demand)
        yield profile


def _build(parameters: Parameters) -> Policy:
    orders = Orders()
    return Policy("scs", Scs(parameters, orders), EarliestDeadlineFirst(orders), looks_ahead=True)


OFFER = Offer(
    name="scs",
    summary="deadlines at the lowest cost, on machines billed by the hour, by load vectors (needs run-time estimates)",
    parameters=Parameters,
    build=_build,
)
