"""What a server keeps and asks, over both databases."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from store_places import DATABASES, ended_server, place  # noqa: F401
from store_samples import DONE, a_batch, a_run, an_end, units_of

from tradewind.live.documents import encode
from tradewind.live.indexing import Indexer
from tradewind.live.search import parse
from tradewind.live.store import tables
from tradewind.live.store.access import WRITES, Access, AuditRow, TenantRow, TokenRow
from tradewind.live.store.money import Costs
from tradewind.live.store.pages import Pages
from tradewind.live.store.port import Changes
from tradewind.live.store.readers import Readers
from tradewind.live.store.rows import AttemptRow, ChargeRow, KeyRow, MachineRow, UnitChange, run_id
from tradewind.live.store.searching import BUDGET, Searcher
from tradewind.live.store.sql import SqlStore
from tradewind.live.store.statements import Write
from tradewind.model.requirement import Requirement
from tradewind.model.units import DAY, SECOND
from tradewind.model.workflow import Task, Workflow

FAILED, WAITING = 5, 0
START = 1_800_000_000 * SECOND


class Desk(NamedTuple):
    store: SqlStore
    access: Access
    pages: Pages
    searcher: Searcher
    indexer: Indexer
    costs: Costs

    def found(self, query: str, tenant: str | None = None) -> tuple[list[int], list[int]]:
        """Numbers of the runs and of the tasks that a query finds."""
        while self.indexer.catch_up():
            pass
        asked = parse(query, START)
        runs, tasks = self.searcher.runs(asked, tenant, None, 50), self.searcher.tasks(asked, tenant, None, 50)
        assert (runs.total, tasks.total) == (len(runs.hits), len(tasks.hits))
        return [hit.number for hit in runs.hits], [hit.number for hit in tasks.hits]


@pytest.fixture(params=DATABASES)
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    with place(request.param, tmp_path) as made:
        store = made.open()
        assert isinstance(store, SqlStore)
        readers = Readers(store.url)
        pages = Pages(readers)
        yield Desk(store, Access(store, readers), pages, Searcher(readers), Indexer(store, pages), Costs(readers, {}))
        readers.close()


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.table)
def test_rows_and_tables_agree(write: Write) -> None:
    assert write.names == tuple(tables.metadata.tables[write.table].columns.keys())


def test_tenants_and_tokens_are_kept(desk: Desk) -> None:
    ada = TenantRow("ada", None, DAY, 1.5, 3, None, START)
    desk.access.put_tenant(ada)
    desk.access.put_tenant(TenantRow("bob", 7, 1, 1.0, None, 9, START))
    desk.access.put_tenant(ada._replace(budget=5))
    assert [row.name for row in desk.access.tenants()] == ["ada", "bob"]
    assert desk.access.tenants()[0] == ada._replace(budget=5)
    token = TokenRow("abc", "digest", "Ada's own", "ada", "user", 1, None, None)
    desk.access.put_token(token)
    desk.access.use_tokens({"abc": 9, "nobody": 9})
    assert desk.access.token("abc") == token._replace(used=9)
    assert desk.access.token("x' OR '1'='1") is None
    desk.access.drop_tenant("ada")
    assert desk.access.tokens() == []
    assert not desk.access.drop_token("abc")


def test_the_audit_log_is_numbered_and_paged(desk: Desk) -> None:
    for at in range(3):
        desk.access.note([AuditRow(-1, at, None, "ada", "POST runs", f"/{at}", 201, "::1")] * 2)
    assert [row.number for row in desk.access.audit(None, 4)] == [5, 4, 3, 2]
    assert [row.target for row in desk.access.audit(2, 4)] == ["/0", "/0"]
    assert desk.access.forget_audit(2) == 4


def test_keys_are_saved_with_their_runs_and_go_with_them(desk: Desk) -> None:
    key = KeyRow("ada", "once", "digest", 0, 5)
    desk.store.save(Changes(new_runs=[a_run(0)], keys=[key]))
    assert desk.access.key("ada", "once") == key
    assert desk.access.key("bob", "once") is None
    desk.store.save(Changes(runs=[an_end(0, 9)]))
    desk.store.forget(0)
    assert desk.access.key("ada", "once") is None
    assert desk.pages.runs() == []


def test_runs_are_listed_by_pages(desk: Desk) -> None:
    runs = [replace_run(number, "ada" if number % 2 else "bob", f"run {number}") for number in range(7)]
    desk.store.save(Changes(new_runs=runs))
    desk.store.save(Changes(runs=[an_end(3, 50, "failed")]))
    assert [head.number for head in desk.pages.runs(limit=3)] == [6, 5, 4]
    assert [head.number for head in desk.pages.runs(before=4, limit=2)] == [3, 2]
    assert [head.number for head in desk.pages.runs(tenant="ada")] == [5, 3, 1]
    assert [head.number for head in desk.pages.runs(status="failed")] == [3]
    assert [head.number for head in desk.pages.runs(name="run 4")] == [4]
    assert [head.number for head in desk.pages.runs(since=2 * SECOND, until=4 * SECOND)] == [3, 2]
    assert desk.pages.head(runs[2].id) == desk.pages.heads([2])[2]
    assert desk.pages.head("nothing") is None
    found = desk.pages.described(runs[2].id, "keeps going/")
    assert found is not None
    assert found[1:] == ({"size": 2}, None, None)


def replace_run(number: int, tenant: str, name: str, document: bytes = b'{"$":"Workflow"}'):  # type: ignore[no-untyped-def]
    at = number * SECOND
    return a_run(number)._replace(tenant=tenant, name=name, submitted=at, id=run_id(at, number), document=document)


def test_units_attempts_and_machines_are_listed_by_pages(desk: Desk) -> None:
    attempts = [
        AttemptRow(0, unit, attempt, 3, 1, 2, "done" if attempt else "lost") for unit in (1, 2) for attempt in (0, 1)
    ]
    machines = [MachineRow(number, "small", "ada" if number else "bob", number % 3, 1, 2, 3) for number in range(5)]
    desk.store.save(Changes(new_runs=[a_run(0)], new_units=units_of(0, 0, 5), attempts=attempts, machines=machines))
    desk.store.save(Changes(units=[UnitChange(0, 2, DONE)]))
    assert [unit.number for unit in desk.pages.units(0, after=1, limit=2)] == [2, 3]
    assert [unit.number for unit in desk.pages.units(0, states=[DONE])] == [2]
    assert [unit.number for unit in desk.pages.units(0, name="chain-4")] == [4]
    assert desk.pages.counts([0]) == {0: {WAITING: 4, DONE: 1}}
    assert desk.pages.attempts(0, 2) == attempts[2:]
    assert desk.pages.attempts_of_run(0, (1, 0), 2) == attempts[1:3]
    assert desk.pages.tried_again(0, 9) == [attempts[0], attempts[2]]
    assert [row.number for row in desk.pages.machines(tenant="ada", before=4, limit=2)] == [3, 2]
    assert [row.number for row in desk.pages.machines(states=[1])] == [4, 1]
    assert desk.pages.machine_kinds([1, 2, 99]) == {1: "small", 2: "small"}


def test_the_log_is_read_from_a_batch_or_a_time_on(desk: Desk) -> None:
    assert desk.pages.first_batch() is None
    assert desk.pages.batch_since(0) is None
    assert desk.pages.last_batch() == -1
    batches = [
        a_batch(first, at, {"event": str(first)}) for first, at in ((3, 10), (4, 10), (9, 20), (30, 21), (31, 40))
    ]
    desk.store.save(Changes(log=batches))
    assert (desk.pages.first_batch(), desk.pages.last_batch()) == (3, 31)
    assert [batch.first for batch in desk.pages.batches(5, 2)] == [9, 30]
    for time in range(45):
        wanted = next((batch.first for batch in batches if batch.at >= time), None)
        assert desk.pages.batch_since(time) == wanted, time


def test_costs_add_up(desk: Desk) -> None:
    machines = [MachineRow(0, "small", "ada", 3, 0, 1, 100, 100), MachineRow(1, "big", "bob", 2, 0, 1, 60)]
    charges = [
        ChargeRow(0, 0, "ada", 0, 60),
        ChargeRow(1, 0, "ada", 60, 60),
        ChargeRow(2, 0, "ada", 100, 20, refund=True),
        ChargeRow(3, 1, "bob", 70, 500),
    ]
    attempts = [AttemptRow(0, 0, 1, 0, 10, 60, "done"), AttemptRow(0, 1, 1, 1, 0, 30, "done")]
    desk.store.save(Changes(new_runs=[a_run(0)], machines=machines, charges=charges, attempts=attempts))
    assert [(each.key, each.cost) for each in desk.costs.sums("tenant")] == [("ada", 100), ("bob", 500)]
    assert [(each.key, each.cost) for each in desk.costs.sums("machine_type")] == [("big", 500), ("small", 100)]
    assert [(each.key, each.charged) for each in desk.costs.sums("interval", interval=60)] == [("0", 60), ("60", 560)]
    assert [(each.key, each.cost) for each in desk.costs.sums("machine", tenant="ada", since=60)] == [("0", 40)]
    assert desk.costs.of_run(0, now=100) == [("big", 150, 30), ("small", 50, 50)]
    assert desk.pages.spent() == {"ada": (120, 20), "bob": (500, 0)}


def found_world(desk: Desk) -> None:
    """Three runs: Ada's of three tasks, done but for one; Bob's of two, active; Ada's of none, suspended."""
    gpu = Requirement(frozenset({"gpu"}))
    document = encode(Workflow("w", (Task("align reads", "a", gpu), Task("b", "b"), Task("c", "c")), ((), (), ())))
    runs = [
        replace_run(0, "ada", "Montage of M17", document),
        replace_run(1, "bob", "montage two"),
        replace_run(2, "ada", "pause"),
    ]
    names = ["align reads", "trim_7", "trim_8", "align", "other"]
    units = [
        unit._replace(run=0 if unit.number < 3 else 1, chain=names[unit.number], started=unit.number * 10)
        for unit in units_of(0, 0, 5)
    ]
    log = [
        {"event": "admitted", "run": 0, "first": 0, "tasks": 3},
        {"event": "admitted", "run": 1, "first": 3, "tasks": 1},
        {"event": "grown", "run": 1, "first": 4, "tasks": 1},
        {"event": "admitted", "run": 2, "first": 5, "tasks": 0},
        {"event": "suspended", "run": 2},
    ]
    desk.store.save(Changes(new_runs=runs, new_units=units, log=[a_batch(0, 5, *log)]))
    while desk.indexer.catch_up():
        pass
    ends = [
        {"event": "failed", "run": 0, "unit": 1, "reason": "Exit code 3: no space left"},
        {"event": "ended", "run": 0},
    ]
    failed = UnitChange(0, 1, FAILED, 1, started=15, message="exit code 3")
    changes = [UnitChange(0, 0, DONE, 1, started=10, ended=20), failed]
    desk.store.save(Changes(runs=[an_end(0, 60, "failed")], units=changes, log=[a_batch(10, 60, *ends)]))


@pytest.mark.parametrize(
    ("query", "runs", "tasks"),
    [
        ("", [2, 1, 0], [4, 3, 2, 1, 0]),
        ("montage", [1, 0], []),
        ("MONT*", [1, 0], []),
        ("align", [], [3, 0]),
        ('"align reads"', [], [0]),
        ("align -reads", [], [3]),
        ("is:task -align", [], [4, 2, 1]),
        ("name:trim", [], [2, 1]),
        ("capability:gpu", [0], [0]),
        ("error:space", [], [1]),
        ("error:exit", [0], [1]),
        ("status:failed", [0], [1]),
        ("status:failed status:cancelled", [0], [2, 1]),
        ("status:cancelled", [], [2]),
        ("status:done", [], [0]),
        ("status:waiting", [], [4, 3]),
        ("status:active", [1], []),
        ("status:suspended", [2], []),
        ("status:active status:suspended", [2, 1], []),
        ("tenant:bob", [1], [4, 3]),
        ("tenant:bo", [], []),
        ("run:{1}", [1], [4, 3]),
        ("run:nothing", [], []),
        ("is:run trim", [], []),
        ("is:task start:<2100-01-01 trim", [], [2, 1]),
        ("start:>=2100-01-01", [], []),
        ("nothing", [], []),
    ],
)
def test_search_finds_the_same_in_every_database(desk: Desk, query: str, runs: list[int], tasks: list[int]) -> None:
    found_world(desk)
    assert desk.found(query.replace("{1}", run_id(SECOND, 1))) == (runs, tasks)


def test_steps_of_a_chain_are_found_by_their_names(desk: Desk) -> None:
    tasks = (Task("first", "trim"), Task("second", "align"), Task("third", "plot"))
    document = encode(Workflow("w", tasks, ((), (0,), (1,))))
    unit = units_of(0, 0, 1)[0]._replace(chain="first")
    log = a_batch(0, 5, {"event": "admitted", "run": 0, "first": 0, "tasks": 1})
    desk.store.save(Changes(new_runs=[replace_run(0, "ada", "w", document)], new_units=[unit], log=[log]))
    for word in ("first", "second", "name:third", "align"):
        assert desk.found(word) == ([], [0]), word
    assert desk.found("fourth") == ([], [])


def test_search_sees_only_what_belongs_to_a_tenant(desk: Desk) -> None:
    found_world(desk)
    assert desk.found("", "bob") == ([1], [4, 3])
    assert desk.found("tenant:ada", "bob") == ([], [])
    assert desk.found("tenant:bob tenant:ada", "bob") == ([1], [4, 3])
    assert desk.found("-x", "cleo") == ([], [])


def test_ended_runs_are_summed_up_and_forgotten(desk: Desk) -> None:
    found_world(desk)
    desk.found("")
    assert desk.pages.tallies([0, 1]) == {0: {DONE: 1, FAILED: 1, 6: 1}}
    assert desk.pages.counts([0])[0] == {DONE: 1, FAILED: 1, WAITING: 1}
    desk.store.save(
        Changes(
            runs=[an_end(0, 60)._replace(ended=None, status="active")],
            log=[a_batch(20, 70, {"event": "resumed", "run": 0})],
        )
    )
    assert desk.found("status:failed") == ([], [])
    assert desk.pages.tallies([0]) == {}
    desk.store.forget(0)
    assert desk.found("montage") == ([1], [])
    assert desk.found("trim") == ([], [])


def test_the_index_goes_on_where_it_stood(desk: Desk) -> None:
    found_world(desk)
    desk.found("")
    again = Indexer(desk.store, desk.pages)
    assert not again.catch_up()
    from_scratch = desk._replace(indexer=Indexer(desk.store, desk.pages))
    desk.store.transact(lambda session: session.change("DELETE FROM notes"))
    assert from_scratch.found("align") == ([], [3, 0])


def test_pages_of_hits_go_on_where_the_last_ended(desk: Desk) -> None:
    found_world(desk)
    desk.found("")
    first = desk.searcher.tasks(parse("", START), None, None, 2)
    assert ([hit.number for hit in first.hits], first.total, first.is_exact) == ([4, 3], 5, True)
    second = desk.searcher.tasks(parse("", START), None, first.last, 2)
    third = desk.searcher.tasks(parse("", START), None, second.last, 2)
    assert [hit.number for hit in (*second.hits, *third.hits)] == [2, 1, 0]
    assert third.last is None


def test_no_query_looks_at_more_than_its_budget(desk: Desk) -> None:
    many = BUDGET + 10
    desk.store.transact(
        lambda session: session.write_words("task_words", [(number, 0, ["a", "w:x"]) for number in range(many)])
    )
    desk.store.save(Changes(new_runs=[a_run(0)], new_units=units_of(0, 0, many)))
    desk.store.save(Changes(units=[UnitChange(0, 3, DONE)]))
    found = desk.searcher.tasks(parse("x status:done", START), None, None, 5)
    assert (found.hits, found.total, found.is_exact, found.last) == ([], 0, False, 10)
    rest = desk.searcher.tasks(parse("x status:done", START), None, found.last, 5)
    assert ([hit.number for hit in rest.hits], rest.is_exact, rest.last) == ([3], True, None)
