"""Databases behave as the store in memory does, whatever is done to them."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from store_places import ended_server, new_database, running_server  # noqa: F401
from store_samples import a_batch, a_run

from tradewind.live.store.errors import LostLeaseError
from tradewind.live.store.memory import MemoryStore
from tradewind.live.store.open import open_store
from tradewind.live.store.port import Changes, Lease
from tradewind.live.store.rows import AttemptRow, ChargeRow, MachineRow, RunChange, UnitChange, UnitRow

SETTINGS: Any = {"stateful_step_count": 15, "phases": (Phase.explicit, Phase.generate)}
"""Without shrinking, which takes many minutes over a database; add `Phase.shrink` to look into a failure."""

text = st.text(max_size=12)
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
times = st.integers(0, 10**15)
small = st.integers(0, 5)
maybe_time = st.none() | times
standing = st.tuples(small, small, small, small, st.none() | small, maybe_time, maybe_time, json, text)


class StoreMachine(RuleBasedStateMachine):
    """Does the same to a database and to its model."""

    where = ""

    @initialize()
    def begin(self) -> None:
        self.folder = TemporaryDirectory(ignore_cleanup_errors=True)
        if self.where:
            _empty(self.where)
        self.place = self.where or str(Path(self.folder.name) / "store.db")
        self.store = open_store(self.place, durability="relaxed")
        self.model = MemoryStore()
        self.runs = self.seq = self.charges = 0
        self.units: list[tuple[int, int]] = []
        self.ended: set[int] = set()
        self.last = 0
        self.pending = Changes()
        self.leases: list[Lease] = []

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()

    @rule(
        submitted=times, generator=json, units=st.lists(st.tuples(text, st.none() | st.binary(max_size=9)), max_size=4)
    )
    def submit(self, submitted: int, generator: object, units: list[tuple[str, bytes | None]]) -> None:
        run = a_run(self.runs, submitted=submitted, generator=generator)
        self.pending.new_runs.append(run)
        for chain, tasks in units:
            number = len(self.units)
            self.units.append((run.number, number))
            self.pending.new_units.append(UnitRow(run.number, number, chain, tasks, 0))
        self.runs += 1

    @rule(data=st.data(), changed=st.lists(standing, max_size=4))
    def change_units(self, data: st.DataObject, changed: list[tuple[object, ...]]) -> None:
        known = [key for key in self.units if key[0] not in self.ended]
        for values in changed:
            if known:
                key = known.pop(data.draw(st.integers(0, len(known) - 1)))
                self.pending.units = [row for row in self.pending.units if row[:2] != key]
                self.pending.units.append(UnitChange(*key, *values))  # type: ignore[arg-type]

    @rule(data=st.data(), ended=maybe_time, generator=json)
    def change_run(self, data: st.DataObject, ended: int | None, generator: object) -> None:
        active = [number for number in range(self.runs) if number not in self.ended]
        if active:
            number = data.draw(st.sampled_from(active))
            self.pending.runs = [row for row in self.pending.runs if row.number != number]
            status = "active" if ended is None else "done"
            self.pending.runs.append(RunChange(number, 1, ended, ended, status, generator))
            if ended is not None:
                self.ended.add(number)

    @rule(number=small, kind=text.map(lambda name: name.replace("\x00", "")), at=times, released=maybe_time)
    def change_machine(self, number: int, kind: str, at: int, released: int | None) -> None:
        self.pending.machines = [row for row in self.pending.machines if row.number != number]
        self.pending.machines.append(MachineRow(number, kind, "ada", 1, at, at, at, released, kind))

    @rule(at=times, amount=st.integers(0, 10**12), refund=st.booleans(), tenant=st.sampled_from(["ada", "bob"]))
    def charge(self, at: int, amount: int, *, refund: bool, tenant: str) -> None:
        self.pending.charges.append(ChargeRow(self.charges, 0, tenant, at, amount, refund))
        self.charges += 1

    @rule(data=st.data(), attempt=small, reason=text, cpu=st.floats(0, 1e9), memory=times)
    def end_attempt(self, data: st.DataObject, attempt: int, reason: str, cpu: float, memory: int) -> None:
        known = [key for key in self.units if key[0] not in self.ended]
        if known:
            key = data.draw(st.sampled_from(known))
            self.pending.attempts = [row for row in self.pending.attempts if row[:3] != (*key, attempt)]
            self.pending.attempts.append(AttemptRow(*key, attempt, 0, 1, 2, "error", reason, "", cpu, memory))

    @rule(later=st.integers(0, 10**12), run=small, value=json)
    def write_log(self, later: int, run: int, value: object) -> None:
        self.last += later
        self.pending.log.append(a_batch(self.seq, self.last, {"run": run, "value": value}))
        self.seq += 1

    @rule(name=st.sampled_from("ab"), memory=json, note=json)
    def remember(self, name: str, memory: object, note: object) -> None:
        self.pending.memories[name] = memory
        self.pending.notes[name] = note

    @rule(again=st.booleans())
    def save(self, *, again: bool) -> None:
        for _ in range(1 + again):
            self.store.save(self.pending)
        self.model.save(self.pending)
        self.pending = Changes()

    @rule(data=st.data())
    def save_as_leader(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from([Lease("leader", 99), *self.leases]))
        try:
            self.model.save(self.pending, lease)
        except LostLeaseError:
            with pytest.raises(LostLeaseError):
                self.store.save(self.pending, lease)
        else:
            self.store.save(self.pending, lease)
            self.pending = Changes()

    @rule(holder=st.sampled_from("ab"), now=small, until=st.integers(0, 9))
    def take_lease(self, holder: str, now: int, until: int) -> None:
        lease = self.model.take_lease("leader", holder, until, now)
        assert self.store.take_lease("leader", holder, until, now) == lease
        if lease is not None:
            self.leases.append(lease)

    @rule(data=st.data(), until=st.integers(0, 9))
    def renew_lease(self, data: st.DataObject, until: int) -> None:
        if self.leases:
            lease = data.draw(st.sampled_from(self.leases))
            assert self.store.renew_lease(lease, until) == self.model.renew_lease(lease, until)

    @rule(before=times, keep=small, interval=times)
    def prune(self, before: int, keep: int, interval: int) -> None:
        self.save(again=False)
        pruned = self.model.prune(before=before, keep=keep, interval=interval)
        assert self.store.prune(before=before, keep=keep, interval=interval) == pruned

    @rule()
    def open_again(self) -> None:
        self.store.close()
        self.store = open_store(self.place, durability="relaxed")

    @invariant()
    def is_as_the_model(self) -> None:
        if not hasattr(self, "store"):
            return
        assert self.store.load(charges_since=500) == self.model.load(charges_since=500)
        heads = self.model.runs()
        assert self.store.runs() == heads
        for head in heads[:2]:
            assert self.store.run(head.id) == self.model.run(head.id)
            assert list(self.store.log(head.number)) == list(self.model.log(head.number))


def _empty(where: str) -> None:
    with psycopg.connect(where, autocommit=True) as connection:
        connection.execute(
            "TRUNCATE runs, documents, generators, units, machines, charges, carried, attempts, log, "
            "memories, notes, counters, leases"
        )


def test_sqlite_is_as_its_model() -> None:
    run_state_machine_as_test(StoreMachine, settings=settings(max_examples=25, **SETTINGS))


def test_postgres_is_as_its_model() -> None:
    running_server()

    class InPostgres(StoreMachine):
        where = new_database()

    run_state_machine_as_test(InPostgres, settings=settings(max_examples=10, **SETTINGS))
