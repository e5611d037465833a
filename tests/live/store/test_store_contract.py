"""What every store promises, over all of them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread
from types import MappingProxyType

import pytest
from store_places import EVERYWHERE, Place, ended_server, place  # noqa: F401
from store_samples import DONE, READY, RUNNING, WAITING, a_batch, a_run, an_end, done, units_of

from tradewind.live.store.errors import LostLeaseError, UnknownRowError
from tradewind.live.store.port import Changes, Lease, Numbers, Pruned, RunDetail, Saved, Spent, Store
from tradewind.live.store.rows import AttemptRow, ChargeRow, MachineRow, RunChange, RunHead, UnitChange, UnitRow
from tradewind.model.units import DAY


@pytest.fixture(name="place", params=EVERYWHERE)
def _place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with place(request.param, tmp_path) as made:
        yield made


@pytest.fixture
def store(place: Place) -> Store:
    return place.open()


def test_a_new_store_is_empty(store: Store) -> None:
    saved = store.load()
    assert saved == Saved([], [], [], [], {}, {}, {}, Numbers(0, 0, 0, 0, 0))
    assert store.runs() == []
    assert list(store.log()) == []


def test_what_was_saved_is_there_when_opened_again(place: Place) -> None:
    store = place.open()
    run = a_run(0, generator={"left": [1, 2]})
    units = units_of(0, 0, 3)
    machine = MachineRow(7, "small", "ada", 1, acquired=5, expected=6, paid_until=7, because="work waits")
    changes = Changes(
        new_runs=[run],
        new_units=units,
        machines=[machine],
        charges=[ChargeRow(0, 7, "ada", 5, 100)],
        memories={"pfa": {"rate": 0.5}},
        notes={"budget": {"ada": None}},
        log=[a_batch(4, 5, {"event": "x"}, {"event": "y"})],
    )
    store.save(changes)
    store.close()
    saved = place.open().load()
    assert saved.runs == [run]
    assert saved.units == units
    assert saved.machines == [machine]
    assert saved.charges == changes.charges
    assert saved.memories == changes.memories
    assert saved.notes == changes.notes
    assert saved.next == Numbers(run=1, unit=3, machine=8, charge=1, seq=6)


def test_saving_a_batch_twice_is_the_same_as_saving_it_once(store: Store) -> None:
    changes = Changes(
        new_runs=[a_run(0, generator=[1])],
        new_units=units_of(0, 0, 2),
        machines=[MachineRow(0, "small", "ada", 0, 1, 2, 3)],
        charges=[ChargeRow(0, 0, "ada", 5, 100)],
        attempts=[AttemptRow(0, 0, 1, 0, 1, 2, "done")],
        log=[a_batch(0, 5, {"run": 0})],
        notes={"a": 1},
    )
    store.save(changes)
    once = (store.load(), store.runs(), store.run(changes.new_runs[0].id), list(store.log()))
    store.save(changes)
    assert (store.load(), store.runs(), store.run(changes.new_runs[0].id), list(store.log())) == once


def test_changes_carry_only_what_may_change(store: Store) -> None:
    run, (unit, other) = a_run(0, generator={"step": 1}), units_of(0, 0, 2)
    store.save(Changes(new_runs=[run], new_units=[unit, other]))
    store.save(
        Changes(
            runs=[RunChange(0, priority=9, deadline=77, ended=None, status="active")],
            units=[UnitChange(0, 0, RUNNING, attempt=1, machine=4, started=6)],
        )
    )
    saved = store.load()
    assert saved.runs == [run._replace(priority=9, deadline=77)]
    assert saved.units == [unit._replace(state=RUNNING, attempt=1, machine=4, started=6), other]
    store.save(
        Changes(
            runs=[RunChange(0, 9, 77, None, "active", generator={"step": 2})],
            units=[UnitChange(0, 0, DONE, 1, 2, 3, None, 6, 8, {"a": {"out": [1, None, "é"]}}, "well done")],
        )
    )
    saved = store.load()
    assert saved.runs[0].generator == {"step": 2}
    assert saved.units[0] == UnitRow(
        0, 0, "chain-0", None, DONE, 1, 2, 3, None, 6, 8, {"a": {"out": [1, None, "é"]}}, "well done"
    )


def test_a_machine_is_saved_whole_and_loaded_while_it_is_held(store: Store) -> None:
    machine = MachineRow(0, "small", "ada", 0, 1, 2, 3)
    store.save(Changes(machines=[machine, machine._replace(number=1)]))
    store.save(Changes(machines=[machine._replace(state=1, paid_until=9)]))
    assert store.load().machines == [machine._replace(state=1, paid_until=9), machine._replace(number=1)]
    store.save(Changes(machines=[machine._replace(state=4, released=11, because="lost")]))
    assert store.load().machines == [machine._replace(number=1)]
    assert store.load().next.machine == 2


def test_ended_runs_are_not_loaded_but_can_be_asked_for(store: Store) -> None:
    runs = [a_run(number, submitted=number) for number in range(3)]
    units = [unit for run in runs for unit in units_of(run.number, run.number * 2, 2)]
    store.save(Changes(new_runs=runs, new_units=units))
    attempt = AttemptRow(1, 2, 1, 0, 3, 9, "error", "no such file", "runs/1/2.1", 1.25, 4096)
    notes = {"keeps going/1": True, "keeps going/11": True, "seen": 3}
    store.save(Changes(runs=[an_end(1, 9, "failed")], units=[done(units[2])], attempts=[attempt], notes=notes))
    saved = store.load()
    assert [run.number for run in saved.runs] == [0, 2]
    assert [unit.number for unit in saved.units] == [0, 1, 4, 5]
    detail = store.run(runs[1].id)
    assert detail == RunDetail(
        runs[1]._replace(ended=9, status="failed"),
        [units[2]._replace(**done(units[2])._asdict()), units[3]],
        [attempt],
        {"keeps going/1": True},
    )
    assert store.run("nobody") is None


def test_runs_are_listed_newest_first_with_counts_of_their_units(store: Store) -> None:
    runs = [a_run(n, submitted=n, tenant="ada" if n % 2 else "bob") for n in range(4)]
    store.save(Changes(new_runs=runs, new_units=units_of(0, 0, 3)))
    store.save(Changes(units=[UnitChange(0, 1, READY)], runs=[an_end(3, 5)]))
    heads = store.runs()
    assert [head.number for head in heads] == [3, 2, 1, 0]
    assert heads[0] == RunHead(3, runs[3].id, "run 3", "ada", 0, None, 3, 5, "done", {})
    assert heads[3].units == {WAITING: 2, READY: 1}
    assert [head.number for head in store.runs(tenant="bob")] == [2, 0]
    assert [head.number for head in store.runs(status="active", limit=2)] == [2, 1]


def test_charges_are_loaded_since_a_time_and_added_up_for_ever(store: Store) -> None:
    charges = [
        ChargeRow(0, 0, "ada", 10, 100),
        ChargeRow(1, 0, "ada", 20, 30, refund=True),
        ChargeRow(2, 1, "bob", 30, 7),
    ]
    store.save(Changes(charges=charges))
    saved = store.load(charges_since=20)
    assert saved.charges == charges[1:]
    assert saved.spent == {"ada": Spent(100, 30), "bob": Spent(7, 0)}


def test_the_log_of_a_run_ends_with_the_batch_after_its_end(store: Store) -> None:
    start, kill = {"event": "start", "run": 1, "unit": 7}, {"event": "kill", "unit": 7}
    store.save(
        Changes(
            new_runs=[a_run(1, submitted=10, ended=20, status="done")],
            log=[
                a_batch(0, 5, {"event": "machine-ready", "machine": 0}),
                a_batch(1, 10, start, {"event": "start", "run": 2, "unit": 8}),
                a_batch(3, 15, kill, {"event": "kill", "unit": 8}),
                a_batch(5, 20, {"event": "ended", "run": 1}),
                a_batch(6, 21, {"event": "dropped", "run": 1}),
                a_batch(7, 22, {"event": "dropped", "run": 1, "late": True}),
            ],
        )
    )
    assert list(store.log(1)) == [start, kill, {"event": "ended", "run": 1}, {"event": "dropped", "run": 1}]
    assert list(store.log(99)) == []
    assert len(list(store.log())) == 8


def test_a_long_log_is_read_page_by_page(store: Store) -> None:
    records = [{"event": "start", "run": 0, "unit": n} for n in range(300)]
    store.save(Changes(new_runs=[a_run(0)], log=[a_batch(n, n, record) for n, record in enumerate(records)]))
    assert list(store.log(0)) == records


def test_memories_and_notes_are_replaced_by_name(store: Store) -> None:
    store.save(Changes(memories={"pfa": 1, "plf": [2]}, notes={"a": 1, "b": 2}))
    store.save(Changes(memories={"pfa": {"x": None}}, notes={"b": None}))
    saved = store.load()
    assert saved.memories == {"pfa": {"x": None}, "plf": [2]}
    assert saved.notes == {"a": 1, "b": None}


def test_awkward_values_survive(store: Store) -> None:
    odd = {"big": 2**70, "half": "\ud800", "zero": "\x00", "quotes": "\"'\\{},NULL", "proxy": [], "é": 1.5}
    run = a_run(0)._replace(document=bytes(range(256)), name='"\\,{}NULL')
    unit = UnitRow(0, 0, "NULL", b"\\x00\xff", WAITING, message="line\nline \\ \" ' é")
    store.save(Changes(new_runs=[run], new_units=[unit, unit._replace(number=1, tasks=b"", results=odd)]))
    saved = store.load()
    assert saved.runs == [run]
    assert saved.units == [unit, unit._replace(number=1, tasks=b"", results=odd)]


def test_text_that_no_database_takes_is_made_fit(store: Store) -> None:
    unit = UnitRow(0, 0, "a\x00b", None, WAITING)
    store.save(Changes(new_runs=[a_run(0)], new_units=[unit]))
    store.save(Changes(units=[UnitChange(0, 0, DONE, message="\x00 \udcff")]))
    assert store.load().units == [unit._replace(chain="a\ufffdb", state=DONE, message="\ufffd ?")]


def test_mappings_of_any_kind_are_json(store: Store) -> None:
    store.save(Changes(notes={"a": MappingProxyType({"b": MappingProxyType({})})}))
    assert store.load().notes == {"a": {"b": {}}}


def test_nothing_of_a_batch_that_cannot_be_stored_is_kept(store: Store) -> None:
    with pytest.raises(TypeError, match="set"):
        store.save(Changes(new_runs=[a_run(0)], notes={"bad": {1, 2}}))
    with pytest.raises(UnknownRowError, match="never saved"):
        store.save(Changes(new_runs=[a_run(0)], units=[UnitChange(0, 5, DONE)]))
    with pytest.raises(UnknownRowError, match="never saved"):
        store.save(Changes(new_runs=[a_run(0)], runs=[an_end(3, 1)]))
    assert store.load() == replace(store.load(), runs=[], units=[], notes={}, next=Numbers())
    store.save(Changes(new_runs=[a_run(0)]))
    assert len(store.load().runs) == 1


def test_a_run_may_be_new_and_changed_in_one_batch(store: Store) -> None:
    changes = Changes(new_runs=[a_run(0, generator=1)], runs=[RunChange(0, 5, None, None, "active", generator=2)])
    changes.new_units = units_of(0, 0, 1)
    changes.units = [done(changes.new_units[0])]
    store.save(changes)
    assert store.load().runs == [a_run(0)._replace(priority=5, generator=2)]
    assert store.load().units[0].state == DONE


def test_what_a_store_was_given_may_be_changed_afterwards(store: Store) -> None:
    note = {"a": [1]}
    store.save(Changes(notes={"n": note}))
    note["a"].append(2)
    store.load().notes["n"]["a"].append(3)
    assert store.load().notes == {"n": {"a": [1]}}


def test_an_empty_batch_is_nothing(store: Store) -> None:
    assert not Changes()
    assert Changes(notes={"a": 1})
    store.save(Changes())


# Leading


def test_one_holder_leads_until_its_lease_expires(place: Place) -> None:
    first, second = place.open(), place.open()
    lease = first.take_lease("leader", "a", until=100, now=0)
    assert lease is not None
    assert second.take_lease("leader", "b", until=150, now=99) is None
    assert first.renew_lease(lease, until=200)
    assert second.take_lease("leader", "b", until=300, now=199) is None
    newer = second.take_lease("leader", "b", until=300, now=200)
    assert newer is not None
    assert newer.token > lease.token
    assert not first.renew_lease(lease, until=400)


def test_names_are_led_apart(store: Store) -> None:
    assert store.take_lease("one", "a", until=100, now=0)
    assert store.take_lease("two", "b", until=100, now=0)


def test_who_lost_the_lease_writes_nothing(place: Place) -> None:
    first, second = place.open(), place.open()
    lease = first.take_lease("leader", "a", until=10, now=0)
    assert lease is not None
    first.save(Changes(notes={"by": "a"}), lease)
    newer = second.take_lease("leader", "b", until=20, now=10)
    with pytest.raises(LostLeaseError, match="stop this one"):
        first.save(Changes(notes={"by": "a again"}), lease)
    assert second.load().notes == {"by": "a"}
    second.save(Changes(notes={"by": "b"}), newer)
    assert first.load().notes == {"by": "b"}
    with pytest.raises(LostLeaseError):
        first.save(Changes(), Lease("never taken", 1))


def test_a_dropped_lease_can_be_taken_at_once(place: Place) -> None:
    first, second = place.open(), place.open()
    lease = first.take_lease("leader", "a", until=100, now=0)
    assert lease is not None
    first.drop_lease(lease)
    newer = second.take_lease("leader", "b", until=100, now=1)
    assert newer is not None
    first.drop_lease(lease)  # too late: it is not the newest any more
    assert first.take_lease("leader", "a", until=100, now=2) is None


def test_who_takes_its_own_lease_again_gets_a_newer_one(store: Store) -> None:
    lease = store.take_lease("leader", "a", until=100, now=0)
    newer = store.take_lease("leader", "a", until=100, now=1)
    assert lease is not None
    assert newer is not None
    with pytest.raises(LostLeaseError):
        store.save(Changes(notes={"by": "the old one"}), lease)
    store.save(Changes(notes={"by": "the new one"}), newer)


def test_a_new_leader_sees_all_that_the_old_one_will_ever_have_written(place: Place) -> None:
    first, second = place.open(), place.open()
    lease = first.take_lease("leader", "a", until=10, now=0)
    lost: list[LostLeaseError] = []

    def lead() -> None:
        number = 0
        try:
            while True:
                first.save(Changes(notes={"number": number}), lease)
                number += 1
        except LostLeaseError as error:
            lost.append(error)

    old = Thread(target=lead)
    old.start()
    while not second.load().notes:
        pass
    assert second.take_lease("leader", "b", until=100, now=10)
    seen = second.load()
    old.join()
    assert lost
    assert second.load() == seen


# Pruning


def test_pruning_forgets_old_runs_and_keeps_the_newest(store: Store) -> None:
    store.save(
        Changes(
            new_runs=[a_run(n, submitted=n * 10, ended=n * 10 + 5, status="done") for n in range(4)]
            + [a_run(4, submitted=100)],
            new_units=[unit for n in range(5) for unit in units_of(n, n * 2, 2)],
            attempts=[AttemptRow(n, n * 2, 1, 0, 0, 1, "done") for n in range(5)],
        )
    )
    assert store.prune(before=30, keep=2) == Pruned(runs=2, units=4)
    assert [head.number for head in store.runs()] == [4, 3, 2]
    assert store.prune(before=1_000) == Pruned(runs=2, units=4)
    assert [head.number for head in store.runs()] == [4]
    assert [unit.number for unit in store.load().units] == [8, 9]
    detail = store.run(a_run(4, submitted=100).id)
    assert detail is not None
    assert [attempt.unit for attempt in detail.attempts] == [8]


def test_numbers_are_never_used_again(store: Store) -> None:
    store.save(
        Changes(
            new_runs=[a_run(5, ended=1, status="done")],
            new_units=units_of(5, 10, 2),
            machines=[MachineRow(3, "small", "ada", 3, 0, 0, 0, released=1)],
            charges=[ChargeRow(8, 3, "ada", 0, 5)],
            log=[a_batch(20, 1, {"run": 5})],
        )
    )
    before = store.load().next
    assert store.prune(before=10, interval=0) == Pruned(1, 2, 1, 1, 1)
    assert store.load().next == before == Numbers(6, 12, 4, 9, 21)


def test_history_goes_only_with_the_oldest_run_that_it_belongs_to(store: Store) -> None:
    machine = MachineRow(0, "small", "ada", 3, 0, 0, 0, released=10)
    store.save(
        Changes(
            new_runs=[a_run(0, submitted=20), a_run(1, submitted=30, ended=40, status="done")],
            machines=[machine, machine._replace(number=1, released=25), machine._replace(number=2, released=None)],
            log=[a_batch(0, 15, {}), a_batch(1, 20, {})],
        )
    )
    assert store.prune(before=100) == Pruned(runs=1, units=0, machines=1, batches=1)
    assert [machine.number for machine in store.load().machines] == [2]
    assert len(list(store.log())) == 1


def test_charges_stay_as_long_as_they_count_against_a_budget_and_their_sums_for_ever(store: Store) -> None:
    charges = [ChargeRow(n, 0, "ada", at, 10, refund=n == 1) for n, at in enumerate((0, 1, DAY, 2 * DAY))]
    store.save(Changes(charges=charges))
    assert store.prune(before=2 * DAY, interval=DAY).charges == 2
    saved = store.load()
    assert saved.charges == charges[2:]
    assert saved.spent == {"ada": Spent(30, 10)}
    assert store.prune(before=3 * DAY, interval=0).charges == 2
    assert store.load().spent == {"ada": Spent(30, 10)}
