"""Steps that are divisible jobs, done by sites: an engine around another one, for a server that sites are connected to.

The attempt of such a step *is* a job of the service: it is submitted under an id of the step's own, and the attempt
ends with it. Later attempts find the same job, so that neither a lost machine nor a restarted server loses anything
that was delivered. Where no site serves the tenant, the step runs on its own machine, as everything else does.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from tradewind.core.divisible import jobs
from tradewind.core.divisible.records import Job, Spec
from tradewind.core.divisible.turn import Turn
from tradewind.live.divisible import merging
from tradewind.live.divisible.desk import Desk
from tradewind.live.divisible.objects import Objects
from tradewind.live.divisible.words import words_of
from tradewind.live.engines.packing import pack
from tradewind.live.port import Broke, Done, Engine, Listener, Order
from tradewind.live.worker import inputs, outputs
from tradewind.live.worker.failure import Failure
from tradewind.live.worker.wire import PackedCall, PackedOrder
from tradewind.model.action import Call, Divisible
from tradewind.model.machine import MachineType
from tradewind.model.units import in_seconds

_LOOK = 0.5
"""Seconds between two looks at a job."""


class OnSites:
    """The service that steps turn to, once it is open."""

    def __init__(self, tenant_of: Callable[[int], str], root: Path) -> None:
        self.tenant_of = tenant_of
        """Of a machine."""
        self.root = root
        self.desk: Desk | None = None
        self.objects: Objects | None = None

    def open(self, desk: Desk, objects: Objects) -> None:
        """From now on steps may go to sites."""
        self.desk, self.objects = desk, objects

    def around(self, listener: Listener, engine: Engine) -> Engine:
        """An engine that hands steps to sites, and all else to another engine."""
        return SiteEngine(self, listener, engine)


class SiteEngine:
    """Belongs to the event loop that runs when it is made."""

    def __init__(self, service: OnSites, listener: Listener, engine: Engine) -> None:
        self._service = service
        self._listener = listener
        self._engine = engine
        self.ends_with_us, self.ahead = False, engine.ahead  # jobs on sites go on without us
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[int, tuple[int, asyncio.Task[None]]] = {}
        """By unit: the attempt, and what sees to it."""
        self._ending: set[asyncio.Task[Any]] = set()

    def acquire(self, machine: int, type: MachineType) -> None:
        """As the other engine does it."""
        self._engine.acquire(machine, type)

    def release(self, machine: int) -> None:
        """As the other engine does it."""
        self._engine.release(machine)

    def start(self, orders: Sequence[Order]) -> None:
        """See to divisible steps, and pass on the others."""
        if self._service.desk is None or not any(map(_is_divisible, orders)):
            self._engine.start(orders)
            return
        for order in filter(_is_divisible, orders):
            self._forget(order.unit)
            self._tasks[order.unit] = order.attempt, self._loop.create_task(self._see_to(order))
        others = [order for order in orders if not _is_divisible(order)]
        if others:
            self._engine.start(others)

    def kill(self, unit: int, attempt: int, machine: int, *, at_once: bool = False) -> None:
        """Have its job cancelled; the next attempt, if there is one, lets it go on."""
        known = self._tasks.get(unit)
        if known is not None and known[0] == attempt:
            self._forget(unit)
        self._engine.kill(unit, attempt, machine, at_once=at_once)

    def check(self, held: Mapping[int, Sequence[tuple[int, int]]], awaited: Collection[int]) -> None:
        """As the other engine does it."""
        self._engine.check(held, awaited)

    def close(self) -> None:
        """Look no more; jobs go on, and whoever comes next finds them."""
        for _, task in self._tasks.values():
            task.cancel("closed")
        self._tasks.clear()
        self._engine.close()

    def _forget(self, unit: int) -> None:
        _, task = self._tasks.pop(unit, (0, None))
        if task is not None:
            task.cancel()

    async def _see_to(self, order: Order) -> None:
        call = order.calls[0]
        try:
            desk, objects = self._service.desk, self._service.objects
            assert desk is not None  # noqa: S101  seen to in `start`
            assert objects is not None  # noqa: S101  opened together
            tenant = self._service.tenant_of(order.machine)
            id = sha256(f"{order.run}\n{order.chain}".encode()).hexdigest()[:16]
            if not await desk.ask(lambda turn: _is_for_sites(turn, id, tenant)):
                self._tasks.pop(order.unit, None)
                self._engine.start([order])
                return
            limit = call.limits.run
            async with asyncio.timeout(None if limit is None else in_seconds(limit)):
                job = await self._done(desk, objects, id, tenant, order)
            results = await self._loop.run_in_executor(None, self._collect, desk, objects, job, order)
        except TimeoutError:
            self._cancel(order)
            self._report(Broke(order.unit, order.attempt, order.machine, "timeout", "it took too long", call.id))
        except asyncio.CancelledError as ended:
            if "closed" not in ended.args:
                self._cancel(order)
            raise
        except Failure as failure:
            self._report(Broke(order.unit, order.attempt, order.machine, failure.cause, failure.reason, call.id))
        except Exception as error:
            self._report(Broke(order.unit, order.attempt, order.machine, "error", str(error)[:500], call.id))
        else:
            self._report(Done(order.unit, order.attempt, order.machine, {call.id: results}))

    async def _done(self, desk: Desk, objects: Objects, id: str, tenant: str, order: Order) -> Job:
        """Submit a job, or go on with it, and wait for its end."""
        call = order.calls[0]
        given = f"inputs/{tenant}/{id}" if call.inputs else ""
        if given:
            content = orjson.dumps(dict(call.inputs))
            await self._loop.run_in_executor(None, objects.write, given, content)
        spec = spec_of(call, tenant, f"{order.run} {order.chain}", given)

        def begin(turn: Turn) -> None:
            jobs.resume(turn, jobs.submit(turn, id, spec))

        await desk.ask(begin)
        while not (job := await desk.ask(lambda turn: _job(turn, id))).is_over:
            await asyncio.sleep(_LOOK)
        return job

    def _collect(self, desk: Desk, objects: Objects, job: Job, order: Order) -> dict[str, Any]:
        """Leave the result in the attempt's folder; the outputs of the step."""
        if job.state != "done":
            raise Failure("error", f"its job is {job.state}: {job.message}")
        content = merging.result(desk, objects, job.id, job.number, job.spec.reducer)
        packed = PackedOrder(*pack(order, str(self._service.root)))
        folder = Path(packed.folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "result").write_bytes(content)
        call = PackedCall(*packed.calls[0])
        return outputs.collect(call, str(folder)) if call.outputs else {}

    def _cancel(self, order: Order) -> None:
        id = sha256(f"{order.run}\n{order.chain}".encode()).hexdigest()[:16]
        desk = self._service.desk
        if desk is not None:
            task = self._loop.create_task(desk.ask(lambda turn: _cancelled(turn, id)))
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    def _report(self, report: Done | Broke) -> None:
        self._tasks.pop(report.unit, None)
        self._listener([report])


def spec_of(call: Call, tenant: str, name: str, given: str) -> Spec:
    """The job that a call becomes on sites."""
    action = call.action
    assert isinstance(action, Divisible)  # noqa: S101  seen to in `start`
    words = ["{python}", "-m", "tradewind.worker.child", "--inputs", action.target]
    if action.command:
        words = words_of(inputs.fill(action.command, call.inputs))
    if call.environment:
        words = ["env", *(f"{key}={value}" for key, value in call.environment.items()), *words]
    return Spec(
        iterations=action.iterations,
        name=name[:200],
        tenant=tenant,
        initial=min(action.initial or 1, action.maximum),
        maximum=action.maximum,
        target=action.within,
        balancer=action.balancer,
        reducer=action.reducer,
        command=tuple(words),
        input=given,
        reduce=action.reduce,
    )


def _is_divisible(order: Order) -> bool:
    return len(order.calls) == 1 and isinstance(order.calls[0].action, Divisible)


def _is_for_sites(turn: Turn, id: str, tenant: str) -> bool:
    """Whether a job is there already, or a site that would work on it."""
    active = turn.book.sites(turn.now - turn.settings.inactive)
    return turn.book.job_of(id) is not None or any(not site.tenants or tenant in site.tenants for site in active)


def _job(turn: Turn, id: str) -> Job:
    job = turn.book.job_of(id)
    assert job is not None  # noqa: S101  it was submitted
    return job


def _cancelled(turn: Turn, id: str) -> None:
    job = turn.book.job_of(id)
    if job is not None:
        jobs.cancel(turn, job)
