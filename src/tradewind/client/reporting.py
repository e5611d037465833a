"""Collect the data of a report from a server: the log of a run, its machines, and the output of failed attempts."""

from collections.abc import Iterable, Iterator
from contextlib import closing

import httpx

from tradewind.client import sse
from tradewind.client.errors import RefusedError
from tradewind.client.http import Http
from tradewind.client.problems import check
from tradewind.model.units import SECOND
from tradewind.model.workflow import Task, Workflow, arrange
from tradewind.pictures.report.account import Source
from tradewind.pictures.report.facts import Plain

_SILENCE = 1.5
"""Seconds without an event after which all past events have arrived."""
_AFTERWARDS = 600.0
"""Seconds after a run's end in which its machines may still be returned."""
_MOST_TAILS = 20
_LINES = 40


def source_of(server: Http, run: str) -> Source:
    """Return the source of a report on a server."""
    head = server.run(run)
    records = list(_records(server, head))
    machines = {record["machine"] for record in records if record["event"] == "acquire"}
    met = {record["machine"] for record in records if record["event"] == "start"}
    earlier = [record for number in sorted(met - machines) for record in _machine(server, number)]
    return Source(
        f"{head['name']} · {head['id']}",
        [*earlier, *records],
        head["number"],
        _workflow(server, head["id"]),
        tails=_tails(server, head, records),
        is_real=True,
    )


def _records(server: Http, head: Plain) -> Iterator[Plain]:
    """Yield the log from a run's first record until shortly after its end, or until now."""
    with closing(server.events(head["id"])) as events:
        first = next(events, None)
    if first is None:
        return
    begin = f"{int(first.id.rpartition('-')[0]) - 1}-0"
    until = None if head["ended"] is None else head["ended"] + _AFTERWARDS
    try:
        with server.stream("/events", {"Last-Event-ID": begin}, _SILENCE) as answer:
            for event in sse.parse(check(answer).iter_lines()):
                if isinstance(event.data, dict) and "at" in event.data:
                    if until is not None and event.data["at"] > until:
                        return
                    yield event.data
    except httpx.ReadTimeout:
        return


def _machine(server: Http, number: int) -> Iterable[Plain]:
    """Yield records of a machine that was rented before the run began, as in a log."""
    try:
        machine = server.ask("GET", f"/machines/{number}")
    except RefusedError:
        return ()
    acquired = {"at": machine["acquired"], "event": "acquire", "cause": -1, "machine": number}
    acquired |= {"kind": machine["machine_type"], "tenant": machine["tenant"], "because": machine["because"]}
    return acquired, {"at": machine["expected"], "event": "machine-ready", "machine": number}


def _workflow(server: Http, run: str) -> Workflow | None:
    """Return the graph of a run, if it was known from the start."""
    found = server.ask("GET", f"/runs/{run}/document")
    if "tasks" not in found:
        return None
    place = {task["id"]: at for at, task in enumerate(found["tasks"])}
    tasks = [Task(task["id"], task["name"], runtime=SECOND) for task in found["tasks"]]
    return arrange(found["name"], tasks, [[place[each] for each in task["needs"]] for task in found["tasks"]])


def _tails(server: Http, head: Plain, records: Iterable[Plain]) -> dict[tuple[int, int], str]:
    failed = [each for each in records if each["event"] == "failed" and each.get("run") == head["number"]]
    tails: dict[tuple[int, int], str] = {}
    for record in failed[-_MOST_TAILS:]:
        unit, attempt = record["unit"], record["attempt"]
        tails[unit, attempt] = "\n".join(_ends(server, head["id"], unit, attempt))
    return tails


def _ends(server: Http, run: str, task: int, attempt: int) -> Iterator[str]:
    try:
        for file in server.log_files(run, task, attempt):
            if file["bytes"]:
                yield server.tail(run, task, attempt, file["name"], _LINES).rstrip("\n")
    except RefusedError:
        return  # the output is no longer stored
