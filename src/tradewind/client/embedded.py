"""The store of a folder, without a server: queries read the store, control commands go to the session that runs there.

If no session is running, control commands change an interrupted run in the store itself, where the next session finds
it.
"""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tradewind.client import reasons
from tradewind.client.backend import Event, Plain
from tradewind.client.errors import ClientError, NoServerError
from tradewind.client.shapes import plain_attempt, plain_machine, plain_task, running, running_attempts
from tradewind.client.standing import OPEN, Standing
from tradewind.core.transitions import MachineState, UnitState
from tradewind.live.control import ask
from tradewind.live.folder import RUNS, STORE, alone_in, store_of
from tradewind.live.store import coding
from tradewind.live.store.open import open_store
from tradewind.live.store.pages import Head, Pages
from tradewind.live.store.port import RunDetail
from tradewind.live.store.readers import Readers
from tradewind.live.store.rows import UnitRow
from tradewind.live.store.sql import SqlStore
from tradewind.model.places import base_name, texts_in
from tradewind.model.units import SECOND, parse_duration

_LOOK = 0.3
"""Seconds between polls of a run that is followed."""
_PATIENCE = 30 * SECOND
"""How long to wait while a session writes."""
_MOST = 100
_ALL = 10**9
_STATES = tuple(state.name.lower() for state in UnitState)
_HELD = (MachineState.BOOTING, MachineState.IDLE, MachineState.BUSY, MachineState.DRAINING)


class Embedded:
    """Runs, tasks and machines in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        where = store_of(self.folder)
        if isinstance(where, Path) and not where.exists():
            raise ClientError(f"{folder} contains no store; `tradewind run` creates one, and --folder selects another")
        store = open_store(where, patience=_PATIENCE)
        if not isinstance(store, SqlStore):
            raise ClientError(f"{folder}: its store is in memory, and cannot be read by another process")
        self.store = store
        self._readers = Readers(store.url)
        self._pages = Pages(self._readers)
        self._standing = Standing(self.folder, self._pages, is_shared=where != self.folder / STORE)

    # Runs

    def runs(
        self, *, status: str | None = None, tenant: str | None = None, name: str | None = None, limit: int = 100
    ) -> list[Plain]:
        """Return the latest runs, newest first."""
        is_open = status in OPEN
        heads = self._pages.runs(
            tenant=tenant, status="active" if is_open else status, name=name, limit=_ALL if is_open else limit
        )
        found = self._standing.shown(heads)
        return [run for run in found if status in (None, run["status"])][:limit]

    def run(self, id: str) -> Plain:
        """Return a run with its parameters and failures."""
        head = self._head(id)
        [(parameters,)] = self._pages.fetch("SELECT parameters FROM documents WHERE run = :run", run=head.number)
        reason, is_impossible = self._fault(head.number, head.status)
        failed = self._pages.units(head.number, states=[UnitState.FAILED], limit=20)
        return self._standing.shown([head])[0] | {
            "parameters": coding.from_text(parameters),
            "reason": reason,
            "impossible": is_impossible,
            "failures": [
                {"task": unit.number, "name": unit.chain, "attempt": unit.attempt, "reason": unit.message}
                for unit in failed
            ],
            "folder": str(self.folder / RUNS / head.id),
        }

    def _fault(self, number: int, status: str) -> tuple[str | None, bool]:
        """Return why a run failed, if no task did, and whether it could never have succeeded."""
        return self._pages.fault(number) if status == "failed" else (None, False)

    def results(self, run: str) -> Plain | None:
        """Return the outputs of a finished program, by name."""
        from tradewind.live.results import results_of  # noqa: PLC0415 - slow

        id = self._head(run).id
        whole = self._pages.whole(id)
        return None if whole is None else results_of(whole, lambda: self.detail(id).units, self.folder / RUNS / id)

    def output_files(self, run: str) -> dict[str, str]:
        """Return the files among the outputs of a run: their places and names."""
        return {place: base_name(text) for place, text in self._output_paths(run).items()}

    def save_output(self, run: str, place: str, target: Path) -> None:
        """Write a file among the outputs of a run to a path."""
        shutil.copyfile(self._output_paths(run)[place], target)

    def _output_paths(self, run: str) -> dict[str, str]:
        found = texts_in(self.results(run) or {})
        return {place: text for place, text in found if text.startswith("/") and os.path.isfile(text)}  # noqa: PTH113

    def detail(self, id: str) -> RunDetail:
        """Return all rows of a run."""
        found = self.store.run(self._head(id).id)
        if found is None:
            raise ClientError(f"{id} was removed in the meantime")
        return found

    def _head(self, id: str) -> Head:
        """Find a run by id, prefix or `last`."""
        found = self._pages.head(id)
        if found is not None:
            return found
        if id == "last":
            heads = self._pages.runs(limit=1)
        else:
            same = "SELECT number FROM runs WHERE substr(id, 1, :length) = :id"
            numbers = [number for (number,) in self._pages.fetch(same, id=id, length=len(id))]
            heads = list(self._pages.heads(numbers).values())
        if len(heads) == 1:
            return heads[0]
        if heads:
            raise ClientError(f"{id!r} matches {len(heads)} runs; give more of its id")
        raise ClientError(f"there is no run {id!r} in {self.folder}; `tradewind list` lists the runs")

    # Tasks and attempts

    def tasks(self, run: str, *, status: str | None = None, name: str | None = None, limit: int = 1000) -> list[Plain]:
        """Return tasks of a run, by number."""
        head = self._head(run)
        states = [] if status is None else [state for state in UnitState if state.name.lower() == status]
        if status is not None and not states:
            raise ClientError(f"{status!r} is not a status of tasks; use {', '.join(_STATES)}")
        units = self._pages.units(head.number, states=states, name=name, limit=limit)
        return [plain_task(head.id, unit) for unit in units]

    def task(self, run: str, task: int) -> Plain:
        """Return one task of a run."""
        head = self._head(run)
        return plain_task(head.id, self._unit(head, task))

    def attempts(self, run: str, task: int) -> list[Plain]:
        """Return the attempts of a task, including running ones."""
        head = self._head(run)
        unit = self._unit(head, task)
        rows = self._pages.attempts(head.number, task)
        machines = [row.machine for row in rows] + [machine for _, machine, _ in running(unit)]
        kinds = self._pages.machine_kinds(machines)
        return [plain_attempt(head.id, row, kinds) for row in rows] + running_attempts(head.id, unit, kinds)

    def _unit(self, head: Head, number: int) -> UnitRow:
        found = self._pages.unit(head.number, number)
        if found is None:
            raise ClientError(f"{head.id} has no task {number}; `tradewind get {head.id} --tasks` lists them")
        return found

    def explain(self, run: str, task: int | None = None) -> Plain:
        """Explain why a run or task is waiting, and why it ran again."""
        detail = self.detail(run)
        number = detail.run.number
        is_active = detail.run.ended is None
        answer = ask(self.folder, "explain", run=number, unit=task) if is_active else None
        is_running = is_active and self._standing.is_attended()
        live = {each["task"]: each for each in (answer or {}).get("waiting", ())}
        waiting = [
            {"task": unit.number, "name": unit.chain, "status": UnitState(unit.state).name.lower()}
            | reasons.reason(unit, live.get(unit.number), is_running=is_running)
            for unit in detail.units
            if unit.state < UnitState.DONE and task in (None, unit.number)
        ]
        again = [
            reasons.again(detail, unit) for unit in detail.units if unit.attempt > 1 and task in (None, unit.number)
        ]
        if task is not None:
            unit = self._unit(self._head(detail.run.id), task)
            first = waiting[0] if waiting else reasons.reason(unit, None, is_running=False)
            status, why = UnitState(unit.state).name.lower(), reasons.again(detail, unit)["why"]
            told = {"task": task, "name": unit.chain, "status": status, **first, "again": why}
            return told | {"cache": reasons.recalls(self.store, detail, unit)}
        summary = self._fault(number, detail.run.status)[0] or reasons.summary(detail, waiting, is_running=is_running)
        return {
            "run": detail.run.id,
            "status": self._standing.shown([self._head(detail.run.id)])[0]["status"],
            "summary": summary,
            "waiting": waiting[:_MOST],
            "again": again[:_MOST],
        }

    def cost(self, run: str | None = None, by: str = "run") -> Plain:
        """Return the cost of a run by machine type, or the total."""
        from tradewind.client import spending  # noqa: PLC0415 - slow

        return spending.of_all(self._pages, by) if run is None else spending.of_run(self.store, self.detail(run))

    # Steering

    def cancel(self, run: str, *, force: bool = False) -> Plain:
        """Cancel a run; with force, running tasks are killed immediately, and it may have ended already."""
        if force and self._head(run).ended is not None:
            return self.run(run)
        return self._steer(run, "kill" if force else "cancel")

    def suspend(self, run: str) -> Plain:
        """Suspend a run: start no further tasks."""
        return self._steer(run, "suspend")

    def resume(self, run: str) -> Plain:
        """Resume a suspended run."""
        return self._steer(run, "resume")

    def prioritise(self, run: str, priority: int) -> Plain:
        """Change the priority of a run."""
        return self._steer(run, "priority", priority)

    def redate(self, run: str, deadline: str | None) -> Plain:
        """Change the deadline of a run, counted from its submission, or remove it."""
        if deadline is None:
            return self._steer(run, "deadline")
        try:
            length = parse_duration(deadline)
        except ValueError as error:
            raise ClientError(f"deadline: {error}") from None
        if length <= 0:
            raise ClientError("deadline: must be greater than zero")
        return self._steer(run, "deadline", self._head(run).submitted + length)

    def retry(self, run: str) -> Plain:
        """Refuse: without a server, the command line starts a session for a retry."""
        raise NoServerError(f"retrying {run} from here")

    def _steer(self, run: str, verb: str, value: int | None = None) -> Plain:
        from tradewind.client import steering  # noqa: PLC0415 - slow

        head = self._head(run)
        if head.ended is not None:
            raise ClientError(f"{head.id} has ended ({head.status})")
        if ask(self.folder, verb, run=head.number, value=value) is None:
            with alone_in(self.folder):
                steering.steer(self.store, self.detail(head.id), verb, value)
        else:
            self._settle(head.id, verb)
        return self.run(head.id)

    def _settle(self, id: str, verb: str) -> None:
        """Wait briefly until the session has carried out a request."""
        for _ in range(30):
            status = self.run(id)["status"]
            if verb not in ("cancel", "kill", "suspend") or status != "active":
                return
            time.sleep(0.1)

    # Machines

    def machines(self, *, status: str = "held", limit: int = 1000) -> list[Plain]:
        """Return machines, newest first."""
        if status == "held":
            states: tuple[MachineState, ...] = _HELD
        else:
            known = {state.name.lower(): state for state in MachineState}
            if status != "all" and status not in known:
                raise ClientError(f"{status!r} is not a status of machines; use held, all, {', '.join(known)}")
            states = () if status == "all" else (known[status],)
        return [plain_machine(row) for row in self._pages.machines(states=states, limit=limit)]

    def drain(self, machine: int) -> Plain:
        """Release a machine once its tasks have finished."""
        return self._unwanted("drain", machine)

    def remove(self, machine: int) -> Plain:
        """Release a machine immediately; its tasks run again elsewhere."""
        return self._unwanted("remove", machine)

    def _unwanted(self, verb: str, machine: int) -> Plain:
        if ask(self.folder, verb, machine=machine) is None:
            raise ClientError(f"nothing runs in {self.folder}, so no machine is held there")
        row = self._pages.machine(machine)
        return plain_machine(row) if row is not None else {"number": machine, "status": "released"}

    # Search, logs and events

    def search(self, query: str, *, among: str = "all", limit: int = 100) -> Plain:
        """Search runs and tasks."""
        from tradewind.live.indexing import Indexer  # noqa: PLC0415 - slow
        from tradewind.live.search import parse  # noqa: PLC0415
        from tradewind.live.store.searching import NOTHING, Searcher  # noqa: PLC0415

        wanted = parse(query, time.time_ns() // 1000)
        indexer = Indexer(self.store, self._pages)
        while indexer.catch_up():  # without a server, no other process maintains the index
            pass
        finder = Searcher(self._readers)
        runs = NOTHING if among == "tasks" else finder.runs(wanted, None, None, limit)
        tasks = NOTHING if among == "runs" else finder.tasks(wanted, None, None, limit)
        heads = self._pages.heads(sorted({hit.run for hit in (*runs.hits, *tasks.hits)}))
        units = [(heads[hit.run], self._pages.unit(hit.run, hit.number)) for hit in tasks.hits]
        return {
            "query": query,
            "counts": {"runs": runs.total, "tasks": tasks.total, "exact": runs.is_exact and tasks.is_exact},
            "runs": self._standing.shown([heads[hit.run] for hit in runs.hits]),
            "tasks": [plain_task(head.id, unit) | {"run_name": head.name} for head, unit in units if unit is not None],
            "next": None,
        }

    def log_files(self, run: str, task: int, attempt: int) -> list[Plain]:
        """Return the log files of an attempt, by name."""
        folder = self._attempt_folder(run, task, attempt)
        files = (file for name in ("out", "err") for file in (*folder.glob(name), *folder.glob(f"*/{name}")))
        found = sorted(files, key=lambda file: (file.parent, file.name == "err"))
        return [{"name": str(file.relative_to(folder)), "bytes": file.stat().st_size} for file in found]

    def read_log(self, run: str, task: int, attempt: int, name: str, begin: int = 0) -> bytes:
        """Return the contents of a log from a byte offset."""
        folder = self._attempt_folder(run, task, attempt)
        file = (folder / name).resolve()
        if not file.is_relative_to(folder.resolve()) or not file.is_file():
            raise ClientError(f"{run}: attempt {attempt} of task {task} has no log {name!r}")
        with file.open("rb") as opened:
            opened.seek(begin)
            return opened.read()

    def _attempt_folder(self, run: str, task: int, attempt: int) -> Path:
        head = self._head(run)
        known = [row.folder for row in self._pages.attempts(head.number, task) if row.attempt == attempt]
        if known:
            return Path(known[0])
        from tradewind.client import steering  # noqa: PLC0415 - slow

        return steering.folder_of(self.folder / RUNS, self.detail(head.id), self._unit(head, task), attempt)

    def follow(self, run: str) -> Iterator[Plain]:
        """Yield a run each time it has changed, until it has ended."""
        id, before = self._head(run).id, None
        while True:
            now = self.run(id)
            if now != before:
                yield now
            if now["ended"] is not None:
                return
            before = now
            time.sleep(_LOOK)

    def events(self, run: str, after: str | None = None) -> Iterator[Event]:
        """Yield the records of a run as they arrive, until it has ended."""
        head = self._head(run)
        begin, _, index = (after or "").partition("-")
        first = int(begin) if begin else self._pages.batch_since(head.submitted)
        skip = int(index) if index else -1
        while True:
            has_ended = (
                self._head(head.id).ended is not None
            )  # checked before reading, so that no final record is missed
            batches = [] if first is None else self._pages.batches(first, 64)
            for batch in batches:
                for place, record in enumerate(coding.unpack(batch.payload)):
                    if record.get("run") == head.number and (batch.first, place) > (first or 0, skip):
                        yield Event(f"{batch.first}-{place}", record["event"], record)
                first, skip = batch.first + 1, -1
            if has_ended and not batches:
                return
            if not batches:
                time.sleep(_LOOK)

    def close(self) -> None:
        """Close files and connections."""
        self._readers.close()
        self.store.close()


@contextmanager
def reading(folder: Path) -> Iterator[Embedded]:
    """Open the store of a folder for a block."""
    backend = Embedded(folder)
    try:
        yield backend
    finally:
        backend.close()
