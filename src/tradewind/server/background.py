"""What a server does beside answering: lead, index, copy, prune, write the audit log."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from tradewind.live.loop import wall_clock
from tradewind.live.store import coding, statements
from tradewind.live.store.errors import StoreError
from tradewind.live.store.port import Changes
from tradewind.model.units import DAY, SECOND
from tradewind.server.context import Context

_INDEX = 0.25
_AUDIT = 0.5
"""Seconds between two looks."""
_PAUSE = 2.0
"""Seconds after something went wrong."""
_COPIES = 2
"""Attempts whose files are copied at once."""
KEPT = "artefacts/kept"
"""Under which name the store notes until when all files are copied."""


class Background:
    """The tasks of one server."""

    def __init__(self, context: Context, say: Callable[[str], None]) -> None:
        self._context = context
        self._say = say
        self._tasks: list[asyncio.Task[None]] = []
        self._fresh = asyncio.Event()
        self._copies: asyncio.Queue[str] = asyncio.Queue()

    def start(self) -> None:
        """Begin; whoever asks before the service has started is told to wait."""
        context = self._context
        context.stream.begin(context.pages.last_batch())
        loop = asyncio.get_running_loop()
        context.store.watch(lambda words: self._outage(loop, words))
        context.service.on_saved += [context.stream.saved, context.tallies.saved, self._saved]
        jobs: list[Awaitable[None]] = [self._lead(), self._repeat(self._index), self._repeat(self._audit)]
        if context.settings.retention.days is not None:
            jobs.append(self._repeat(self._prune))
        if context.settings.artefacts.url:
            for folder in self._left():
                self._copies.put_nowait(folder)
            jobs += [self._repeat(self._copy) for _ in range(_COPIES)]
        self._tasks = [asyncio.ensure_future(job) for job in jobs]

    async def stop(self) -> None:
        """End all of it in good order."""
        context = self._context
        context.stream.close()
        for task in self._tasks[1:]:
            task.cancel()
        await asyncio.gather(*self._tasks[1:], return_exceptions=True)
        self._tasks[0].cancel()
        await asyncio.gather(self._tasks[0], return_exceptions=True)
        await context.service.stop()
        with suppress(StoreError):
            await context.ask(context.audit.write)
        context.threads.shutdown(wait=True)
        context.readers.close()
        context.store.close()

    async def _lead(self) -> None:
        context = self._context
        try:
            await context.service.start(wait=self._say)
            for reason in context.service.driver.stranded:
                self._say(reason)
            await context.service.wait()
        except asyncio.CancelledError:
            raise
        except Exception as error:
            context.failure = f"the driver ended: {error!r}"
            self._say(context.failure)
            raise
        finally:
            if not context.stream.is_closed:
                context.failure = context.failure or "the driver ended"
                context.on_end()

    def _outage(self, loop: asyncio.AbstractEventLoop, words: str) -> None:
        """Tell, also those who listen, that the store is away, or back; in the thread that has found out."""
        self._say(words)
        told = {"available": not self._context.store.trouble, "text": words}
        with suppress(RuntimeError):  # the server has ended
            loop.call_soon_threadsafe(self._context.stream.announce, "store", told)

    def _saved(self, changes: Changes) -> None:
        self._fresh.set()
        if self._context.settings.artefacts.url:
            for attempt in changes.attempts:
                self._copies.put_nowait(attempt.folder)

    async def _repeat(self, job: Callable[[], Awaitable[None]]) -> None:
        """Do something again and again, whatever goes wrong."""
        while True:
            try:
                await job()
            except asyncio.CancelledError:
                raise
            except Exception as error:
                self._say(f"{error}; trying again in {_PAUSE:g} s")
                await asyncio.sleep(_PAUSE)

    async def _index(self) -> None:
        if not await self._context.ask(self._context.indexer.catch_up):
            await self._fresh.wait()
            self._fresh.clear()
            await asyncio.sleep(_INDEX)

    async def _audit(self) -> None:
        await asyncio.sleep(_AUDIT)
        await self._context.ask(self._context.audit.write)

    async def _copy(self) -> None:
        """Copy the files of one attempt; once all are, note so, for the next server goes on from there."""
        folder = await self._copies.get()
        began = wall_clock()
        try:
            await self._context.ask(self._context.artefacts.keep, folder)
        except Exception:
            self._copies.put_nowait(folder)
            raise
        if self._copies.empty():
            note = (KEPT, coding.to_text(began))
            await self._context.ask(self._context.store.transact, lambda s: s.write(statements.NOTES, [note]))

    def _left(self) -> list[str]:
        """Folders of attempts that have ended since all were copied."""
        since = self._context.pages.note(KEPT)
        rows = self._context.pages.fetch("SELECT folder FROM attempts WHERE ended >= :since", since=since or 0)
        return [folder for (folder,) in rows]

    async def _prune(self) -> None:
        context, retention = self._context, self._context.settings.retention
        if retention.days is not None and context.service.is_running:
            before = wall_clock() - round(retention.days * DAY)
            await context.ask(prune, context, before, retention.keep)
        await asyncio.sleep(retention.every / SECOND)


def prune(context: Context, before: int, keep: int) -> int:
    """Forget runs that ended before a time, with their files; how many."""
    rows = context.pages.fetch(
        "SELECT number, id FROM runs WHERE ended < :before AND number NOT IN "
        "(SELECT number FROM runs WHERE ended IS NOT NULL ORDER BY number DESC LIMIT :keep)",
        before=before,
        keep=keep,
    )
    longest = max(row.interval for row in context.tenants.values())
    context.store.prune(before=before, keep=keep, interval=max(DAY, longest))
    context.access.forget_audit(before)
    left = context.pages.heads([number for number, _ in rows])
    for number, id in rows:
        if number not in left:
            context.artefacts.forget(id)
    return len(rows) - len(left)
