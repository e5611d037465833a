"""The data of the timeline of machines, as columns of small numbers."""

from heapq import heappop, heappush
from typing import Any

from tradewind.model.units import MINUTE, Time
from tradewind.pictures.report.account import Account
from tradewind.pictures.report.facts import CANCELLED, DONE, FAILED, LOST, RUNNING, Attempt

OUTCOMES = (DONE, FAILED, LOST, CANCELLED, RUNNING)
COLOURS = (
    *("#3f74bf", "#d9822b", "#3f9a5f", "#7d5fb2", "#2b97a3", "#c7659c", "#a0764c", "#87902f"),
    *("#5b8def", "#b0699a", "#4aa58c", "#8c6d31", "#6b7f99", "#b58900", "#4c9a2a", "#8e7cc3"),
)


def chart(account: Account) -> dict[str, Any]:
    """Return bars by row, rows by machine; times in ticks from the start."""
    begin, end = account.begin, account.end
    tick = 1 if end - begin < MINUTE else 1000
    place = {name: at for at, name in enumerate(account.steps)}
    by_machine: dict[int, list[tuple[Time, Time, Attempt, str, int]]] = {}
    for unit in account.units:
        for attempt in unit.attempts:
            bar = (attempt.begin, attempt.end or end, attempt, unit.id, place[unit.kind])
            by_machine.setdefault(attempt.machine, []).append(bar)
    starts, lengths, rows, steps, outcomes, numbers, ids = [], [], [], [], [], [], []
    machines: list[list[Any]] = []
    row = 0
    for machine in account.machines:
        bars = sorted(by_machine.get(machine.number, ()), key=lambda bar: (bar[0], bar[2].unit))
        lanes, count = _lanes([(since, until) for since, until, *_ in bars])
        for (since, until, attempt, id, step), lane in zip(bars, lanes, strict=True):
            starts.append((since - begin) // tick)
            lengths.append((until - since) // tick)
            rows.append(row + lane)
            steps.append(step)
            outcomes.append(OUTCOMES.index(attempt.outcome))
            numbers.append(attempt.number)
            ids.append(id)
        gone = end if machine.gone is None else min(machine.gone, max(end, machine.acquired))
        up = gone if machine.up is None else min(machine.up, gone)
        times = [(each - begin) // tick for each in (machine.acquired, up, gone)]
        machines.append([f"{machine.kind} {machine.number}", *times, int(machine.is_lost), row, count])
        row += count
    return {
        "tick": tick,
        "length": (end - begin) // tick,
        "rows": row,
        "steps": [[name, colour(at)] for name, at in place.items()],
        "outcomes": OUTCOMES,
        "machines": machines,
        "starts": starts,
        "lengths": lengths,
        "row": rows,
        "step": steps,
        "outcome": outcomes,
        "attempt": numbers if any(number > 1 for number in numbers) else [],
        "ids": "\n".join(id.replace("\n", " ") for id in ids),
    }


def colour(place: int) -> str:
    """Return the colour of the step at a position."""
    return COLOURS[place % len(COLOURS)]


def _lanes(bars: list[tuple[Time, Time]]) -> tuple[list[int], int]:
    """Return the lowest free lane for each bar, and the number of lanes."""
    free: list[int] = []
    busy: list[tuple[Time, int]] = []
    lanes: list[int] = []
    count = 0
    for since, until in bars:
        while busy and busy[0][0] <= since:
            heappush(free, heappop(busy)[1])
        if free:
            lane = heappop(free)
        else:
            lane, count = count, count + 1
        heappush(busy, (until, lane))
        lanes.append(lane)
    return lanes, max(count, 1)
