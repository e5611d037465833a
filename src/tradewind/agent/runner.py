"""What an agent runs: orders are written down, their inputs fetched, run by the local engine, their outputs uploaded.

The local engine's workers outlive this process, and so do the orders on disk: the next process goes on with both.
"""

import asyncio
import secrets
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tradewind.agent.control_plane import GONE, RefusedError
from tradewind.agent.fixed import Fixed, UnwillingError
from tradewind.agent.held import Attempts, Held
from tradewind.agent.transfer import Transfer
from tradewind.live.engines.agents import FOLDER, Agents
from tradewind.live.engines.local import LocalEngine
from tradewind.live.order_json import RemoteOrder
from tradewind.live.port import Broke, Done, Down, Expected, Order, Report
from tradewind.model.machine import MachineType

_SLOT = MachineType("slot")
_RECENT = 1000
"""Attempts that were dropped and are remembered, should an old answer name them again."""


class Runner:
    """The attempts of an agent, and the local engine that runs them."""

    def __init__(
        self,
        folder: Path,
        home: Path,
        server: str,
        session: str,
        on_news: Callable[[], None],
        *,
        fixed: Fixed,
        grace: float,
        keeps: bool,
    ) -> None:
        """`home`: where programs and modules are looked for first. `on_news`: called when the server has to be told."""
        self.attempts = Attempts(folder)
        self._session = session
        self._on_news = on_news
        self._fixed = fixed
        self._grace = grace
        self._keeps = keeps
        self._recent: dict[tuple[int, int], None] = {}
        self._transfer: Transfer | None = None
        """None: there has been no contact with the server yet."""
        self._loop = asyncio.get_running_loop()
        agents = Agents(folder / FOLDER, _identity(folder))
        self._engine = LocalEngine(self._hear, folder, grace=grace, path=[str(home)], agents=agents, base=server)
        self._early: list[Report] = []
        self._up = self._adopted()
        """Machines that have a worker."""

    def resume(self, transfer: Transfer) -> None:
        """Go on with attempts of the last process."""
        self._transfer = transfer
        early, self._early = self._early, []
        self._hear(early)
        for held in self.attempts:
            if held.report is not None and held.end is None and held.task is None:
                self._upload(held)
            elif not held.has_begun and held.report is None and held.task is None:
                self._begin(held)

    def take(self, order: RemoteOrder, data: Any) -> None:
        """Take an order on, unless it is an old one."""
        if order.key not in self.attempts and order.key not in self._recent:
            self._begin(self.attempts.take(order, data))
            self._on_news()

    def drop(self, unit: int, attempt: int, *, at_once: bool) -> None:
        """Forget an attempt whose end is recorded, or end it, for the server does not want it any more."""
        held = self.attempts.get((unit, attempt))
        if held is None:
            return
        if held.task is not None:
            held.task.cancel()
        key, slot = held.order.key, held.order.slot
        self.attempts.drop(held)
        self._recent[key] = None
        if len(self._recent) > _RECENT:
            del self._recent[next(iter(self._recent))]
        if held.report is None and held.has_begun:
            self._engine.kill(*key, slot, at_once=at_once)
            self._loop.call_later(self._grace + 1.0, self._remove, held)
        else:
            self._engine.confirm([(*key, slot)])
            self._remove(held)
        self._on_news()

    def release(self, slot: int) -> None:
        """Let the worker of a machine go."""
        self._engine.release(slot)
        self._up.discard(slot)

    def detach(self) -> None:
        """Leave all that runs to the next process."""
        self._stop_tasks()
        self._engine.detach()

    def close(self) -> None:
        """End all that runs, and wait for it."""
        self._stop_tasks()
        self._engine.close()
        for held in self.attempts:
            self.attempts.drop(held)
            self._remove(held)

    def tidy(self) -> None:
        """Remove inputs that nothing needs any more."""
        if self._transfer is not None:
            self._transfer.tidy(held.order for held in self.attempts)

    def _stop_tasks(self) -> None:
        for held in self.attempts:
            if held.task is not None:
                held.task.cancel()

    def _adopted(self) -> set[int]:
        """Take over what the last process has left; the machines that are there."""
        begun = [held for held in self.attempts if held.has_begun]
        expected = {
            slot: Expected(_SLOT, is_up=True, attempts=[held.order.key for held in begun if held.order.slot == slot])
            for slot in self.attempts.slots
        }
        found = self._engine.check(expected)
        gone = {report.machine for report in found if isinstance(report, Down)}
        ends = [report for report in found if isinstance(report, Done | Broke)]
        ended = {report[:2] for report in ends}
        lost = [held for held in begun if held.order.slot in gone and held.order.key not in ended]
        self._early = [*ends, *map(_lost, lost)]
        return expected.keys() - gone

    def _begin(self, held: Held) -> None:
        held.task = self._loop.create_task(self._start(held))

    async def _start(self, held: Held) -> None:
        """Fetch what an attempt needs, and run it."""
        assert self._transfer is not None  # noqa: S101 - made before the first order
        order = held.order
        try:
            willing = order._replace(calls=self._fixed.calls(order))
            calls = await self._transfer.inputs(willing, self._session)
        except UnwillingError as error:
            self._hear([_lost(held)._replace(cause="start", reason=str(error))])
            return
        except RefusedError as refused:
            cause = "missing" if refused.status == GONE else "lost"  # else the server has forgotten the order
            self._hear([_lost(held)._replace(cause=cause, reason=f"an input cannot be fetched: {refused}")])
            return
        except OSError as error:
            self._hear([_lost(held)._replace(cause="start", reason=f"an input cannot be stored: {error}")])
            return
        if order.slot not in self._up:
            self._engine.acquire(order.slot, _SLOT)
            self._up.add(order.slot)
        self.attempts.begin(held)
        held.task = None
        local = Order(
            order.run,
            order.unit,
            order.attempt,
            order.slot,
            chain="",
            calls=calls,
            folder=str(held.folder),
            checkpoint=str(self.attempts.checkpoint(order)) if order.checkpoints else "",
            cpus=order.cpus,
            memory=order.memory,
            most=order.most,
            share=order.share,
        )
        self._engine.start([local])

    def _hear(self, reports: Sequence[Report]) -> None:
        """Take what the local engine reports."""
        for report in reports:
            if isinstance(report, Done | Broke):
                held = self.attempts.get((report.unit, report.attempt))
                if held is None:
                    self._engine.confirm([report[:3]])
                elif held.report is None:
                    held.report = report
                    if self._transfer is not None:
                        self._upload(held)
            elif isinstance(report, Down):
                self._up.discard(report.machine)
                there = [held for held in self.attempts if held.order.slot == report.machine and held.has_begun]
                self._hear([_lost(held) for held in there if held.report is None])

    def _upload(self, held: Held) -> None:
        held.task = self._loop.create_task(self._uploaded(held))

    async def _uploaded(self, held: Held) -> None:
        assert self._transfer is not None  # noqa: S101 - seen to by callers
        assert held.report is not None  # noqa: S101 - likewise
        held.end = await self._transfer.end(held.order, held.folder, held.report, self._session)
        held.task = None
        self._on_news()

    def _remove(self, held: Held) -> None:
        """Remove the files of an attempt, and those that its unit kept if it is done."""
        if self._keeps:
            return
        shutil.rmtree(held.folder, ignore_errors=True)
        if held.order.checkpoints and isinstance(held.report, Done):
            shutil.rmtree(self.attempts.checkpoint(held.order), ignore_errors=True)
        with suppress(OSError):
            held.folder.parent.rmdir()


def _lost(held: Held) -> Broke:
    return Broke(*held.order.key, held.order.slot, "lost", "its machine does not know it")


def _identity(folder: Path) -> str:
    """What tells the workers of this agent from others."""
    file = folder / "identity"
    with suppress(FileExistsError), file.open("x") as opened:
        opened.write(secrets.token_hex(16))
    return file.read_text()
