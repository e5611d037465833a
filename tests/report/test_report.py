"""Reports: the figures against the log they come from, and the page as a browser will see it."""

import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_logs import FORK, finished, fork_log, simulated, start

from tradewind.model.elastic import Elastic
from tradewind.model.machine import MachineType
from tradewind.model.units import MINUTE, SECOND, UNIT
from tradewind.model.workflow import Task, Workflow
from tradewind.pictures.report.account import Account, Source, account
from tradewind.pictures.report.facts import Plain
from tradewind.pictures.report.page import page
from tradewind.pictures.report.sources import ReportError, from_log
from tradewind.pictures.report.waits import Held


class Page(HTMLParser):
    """Collects what a browser would load or run."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.loads: list[str] = []
        self.sections: list[str] = []
        self._is_script = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        self._is_script = tag == "script"
        if tag == "section":
            self.sections.append(values["id"] or "")
        self.loads += [value for name, value in values.items() if name in ("src", "href") and value and value[0] != "#"]

    def handle_data(self, data: str) -> None:
        if self._is_script:
            self.scripts.append(data)
            self._is_script = False


def parsed(found: Account) -> tuple[Page, dict[str, Any]]:
    reader = Page()
    reader.feed(page(found).decode())
    return reader, json.loads(reader.scripts[0])


def of_fork(records: list[Plain] | None = None) -> Account:
    return account(Source("fork", records or fork_log(), document=FORK))


def test_the_page_holds_all_sections_and_loads_nothing() -> None:
    reader, data = parsed(of_fork())
    assert reader.sections == ["time", "graph", "steps", "types", "path", "waits", "failures"]
    assert reader.loads == []
    assert len(reader.scripts) == 2
    assert data["ids"].split("\n") == ["split", "work_2", "work_2", "work_1", "join"]
    assert [data["outcomes"][each] for each in data["outcome"]] == ["done", "failed", "done", "done", "done"]


def test_the_critical_path_goes_over_attempts_and_parents() -> None:
    links = [(link.unit.id, link.attempt.number, link.after, link.waited) for link in of_fork().path]
    assert links == [
        ("split", 1, "submission", 10 * SECOND),
        ("work_2", 1, "parent", 0),
        ("work_2", 2, "attempt", 5 * SECOND),
        ("join", 1, "parent", 0),
    ]


def test_each_wait_has_its_reason() -> None:
    found = of_fork()
    waits = {(found.facts.units[wait.unit].id, wait.held): wait.length for wait in found.waits}
    assert waits == {
        ("split", Held.BOOT): 10 * SECOND,
        ("work_2", Held.RETRY): 5 * SECOND,
        ("work_1", Held.BUDGET): 25 * SECOND,
        ("join", Held.PARENTS): 5 * SECOND,
    }


def test_cost_goes_to_steps_and_waste_is_named() -> None:
    costs = of_fork().costs
    assert costs.total.cost == pytest.approx(100 * UNIT)
    assert costs.total.booting == pytest.approx(10 * UNIT)
    assert costs.total.repeated == pytest.approx(10 * UNIT)
    assert costs.steps["work"].cost == pytest.approx(35 * UNIT)
    assert costs.total.idle == pytest.approx(25 * UNIT)
    assert costs.total.at_work == 65 * SECOND


def test_a_log_without_its_workflow_still_gives_a_report() -> None:
    found = account(Source("log", fork_log()))
    assert set(found.steps) == {"split", "work", "join"}
    assert b"--workflow" in page(found)
    assert [link.unit.id for link in found.path][-1] == "join"


def test_names_from_outside_cannot_break_the_page() -> None:
    evil = "</script><img src=http://bad>"
    tasks = (Task(evil, evil, runtime=SECOND), Task("b", "<!--", runtime=SECOND))
    records = simulated(Workflow(evil, tasks, ((), (0,))))
    reader, data = parsed(account(Source(evil, records, document=Workflow(evil, tasks, ((), (0,))))))
    assert reader.loads == []
    assert len(reader.scripts) == 2
    assert data["ids"].split("\n") == [evil, "b"]


@given(
    runtimes=st.lists(st.integers(1, 300), min_size=1, max_size=25),
    limit=st.integers(1, 5),
    seed=st.integers(0, 1000),
    budget=st.one_of(st.none(), st.integers(2, 9)),
)
@settings(max_examples=25)
def test_figures_add_up(runtimes: list[int], limit: int, seed: int, budget: int | None) -> None:
    tasks = tuple(Task(f"t{at}", f"k{at % 3}", runtime=time * SECOND) for at, time in enumerate(runtimes))
    parents = tuple(tuple(sorted({(at * 7 + seed) % at, at // 2})) if at else () for at in range(len(tasks)))
    workflow = Workflow("w", tasks, parents)
    machines = (MachineType("one", price=UNIT, limit=limit), MachineType("two", price=2 * UNIT, limit=1, speed=2.0))
    records = simulated(workflow, machines, seed=seed, budget=None if budget is None else budget * UNIT)
    found = account(Source("w", records, document=workflow))
    paid = sum(record["amount"] for record in records if record["event"] == "charged")
    back = sum(record["amount"] for record in records if record["event"] == "refunded")
    assert found.costs.total.cost / UNIT == pytest.approx(paid - back)
    by_step = sum(use.cost for use in found.costs.steps.values())
    assert by_step + found.costs.total.idle + found.costs.total.booting == pytest.approx(found.costs.total.cost)
    assert sum(use.cost for use in found.costs.types.values()) == pytest.approx(found.costs.total.cost)
    assert found.path[-1].attempt.end == found.end
    assert sum(link.length + link.waited for link in found.path) == found.end - found.begin
    assert all(wait.length > 0 for wait in found.waits)
    _, data = parsed(found)
    assert len(data["starts"]) == len(data["ids"].split("\n")) == len(tasks)
    bars = sorted(zip(data["row"], data["starts"], data["lengths"], strict=True))
    for (row, begin, length), (other, later, _) in pairwise(bars):
        assert row != other or begin + length <= later + 1, "bars of one row lie side by side"


def test_a_large_run_stays_small_and_is_read_only_once() -> None:
    tasks = tuple(Task(f"work_{at:05}", "work", runtime=(at % 50 + 1) * SECOND) for at in range(5_000))
    workflow = Workflow("wide", tasks, ((),) * len(tasks))
    records = iter(simulated(workflow, (MachineType("m", price=UNIT, limit=40),)))
    text = page(account(Source("wide", records, document=workflow)))
    assert len(text) < 60 * len(tasks), "60 bytes a task, and the page itself"
    assert next(records, None) is None


def test_what_is_no_log_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text('{"at": 1, "event": "submitted"}\n{"no": "record"}\n')
    with pytest.raises(ReportError, match=r"log.jsonl:2: not a record"):
        account(from_log(file))


def test_times_are_counted_in_ticks_that_fit_the_run() -> None:
    short, long = (simulated(Workflow("w", (Task("t", "t", runtime=time),), ((),))) for time in (SECOND, 10 * MINUTE))
    assert parsed(account(Source("s", short)))[1]["tick"] == 1
    assert parsed(account(Source("l", long)))[1]["tick"] == 1000


def test_the_script_speaks_of_columns_that_are_there() -> None:
    reader, data = parsed(of_fork())
    named = set(re.findall(r"\bdata\.(\w+)", reader.scripts[1])) | {"starts", "lengths", "row", "step", "outcome"}
    assert named - data.keys() <= {"textContent"}


def test_of_a_shared_machine_a_run_pays_for_what_it_used_while_it_was_there() -> None:
    other = {"run": 1, "tenant": "lab"}
    records = fork_log()
    records[-2:-2] = [
        {"at": 82.0, "event": "submitted", "seq": 20, "tenant": "lab", "workflow": "late"},
        {"at": 82.0, "event": "admitted", "cause": 20, **other, "workflow": "late", "first": 4, "tasks": 1},
        start(82.0, 20, 4, "late") | {"run": 1},
        finished(92.0, 21, 4, "late") | {"run": 1},
        {"at": 92.0, "event": "ended", "cause": 21, **other, "status": "done"},
    ]
    late = account(Source("late", records, 1))
    assert [unit.id for unit in late.units] == ["late"]
    assert late.costs.total.useful == late.costs.total.cost == pytest.approx(10 * UNIT)
    first = account(Source("fork", records, 0, FORK))
    assert first.costs.total.cost == pytest.approx(80 * UNIT), "from its submission to its end"
    assert first.costs.total.held == 80 * SECOND


def test_a_suspended_run_waits_to_be_resumed() -> None:
    run = {"run": 0, "tenant": "lab"}
    records = fork_log()
    records[8:10] = [
        {"at": 20.0, "event": "eligible", "cause": 3, **run, "change": 2},
        {"at": 20.0, "event": "suspended", "seq": 30, "run": 0},
        {"at": 20.0, "event": "eligible", "cause": 30, **run, "change": -2},
        {"at": 24.0, "event": "resumed", "seq": 31, "run": 0},
        {"at": 24.0, "event": "eligible", "cause": 31, **run, "change": 2},
        start(24.0, 31, 2, "work_2"),
    ]
    told = account(Source("fork", records, document=FORK))
    held = {told.facts.units[wait.unit].id: wait.held for wait in told.waits if wait.attempt == 1}
    assert held["work_2"] is Held.SUSPENDED
    alone = account(Source("fork", records))
    assert alone.facts.units[2].eligible == 24 * SECOND


def test_what_ran_on_a_lost_machine_is_lost_and_its_money_wasted() -> None:
    records = fork_log()[:7]
    records += [
        {"at": 15.0, "event": "machine-lost", "seq": 3, "machine": 0, "reason": "it was taken away"},
        finished(16.0, 4, 0, "split"),
    ]
    told = account(Source("fork", records, document=FORK))
    assert [(each.outcome, each.reason) for each in told.units[0].attempts] == [("lost", "it was taken away")]
    assert told.costs.total.repeated == pytest.approx(120 * UNIT / 3)
    assert b"it was taken away" in page(told)


def test_of_several_attempts_at_once_each_ends_in_its_own_way() -> None:
    why = "another attempt was faster"
    records = fork_log()[:7]
    records += [
        {"at": 10.0, "event": "acquire", "cause": 2, "machine": 1, "kind": "m", "tenant": "lab", "because": "copies"},
        {"at": 12.0, "event": "machine-ready", "seq": 3, "machine": 1},
        start(12.0, 3, 0, "split", 2) | {"machine": 1},
        finished(20.0, 4, 0, "split"),
        {"at": 20.0, "event": "kill", "cause": 4, "unit": 0, "attempt": 2, "machine": 1, "because": why},
    ]
    told = account(Source("fork", records, document=FORK))
    assert [(each.outcome, each.reason) for each in told.units[0].attempts] == [("done", ""), ("cancelled", why)]


def test_what_was_known_from_before_is_counted() -> None:
    records = fork_log()
    records.insert(2, {"at": 0.0, "event": "recalled", "cause": 1, "run": 0, "tenant": "lab", "first": 9, "tasks": 12})
    assert b"<b>12</b><span>from the cache" in page(account(Source("fork", records)))


@given(begin=st.integers(0, 40), end=st.integers(0, 40), missing=st.sets(st.integers(0, 60), max_size=8))
@settings(max_examples=40)
def test_a_log_with_gaps_still_gives_a_report(begin: int, end: int, missing: set[int]) -> None:
    tasks = tuple(Task(f"t{at}", f"k{at % 3}", runtime=(at % 7 + 1) * SECOND) for at in range(12))
    workflow = Workflow("w", tasks, tuple((at // 2,) if at else () for at in range(12)))
    records = simulated(workflow)
    left = [each for at, each in enumerate(records[begin : len(records) - end]) if at not in missing]
    for document in (workflow, None):
        assert page(account(Source("w", left, document=document))).endswith(b"</html>\n")


def test_what_shares_of_a_divisible_task_have_delivered_is_of_use_however_they_end() -> None:
    task = Task("sim", "sim", runtime=600 * MINUTE, elastic=Elastic(10_000, initial=4))
    work = Workflow("job", (task,), ((),), deadline=60 * MINUTE)
    found = account(Source("job", simulated(work), document=work))
    assert found.costs.total.repeated == pytest.approx(0, abs=0.01 * found.costs.total.cost)
    assert found.costs.total.useful > 0.5 * found.costs.total.cost
