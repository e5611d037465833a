"""Whether targets could be met at all: how much of all work somebody who knew the future could do in time.

Between two instants at which a job comes or is due, a job can have as many iterations as the fastest slots that it may
hold do, and all jobs together as many as all slots do. That work can be moved freely between jobs within such a
stretch makes this a bound from above. The most that can be done in time is the largest flow from jobs to stretches.
"""

from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from tradewind.experiments.tascaas.world import Job, Site
from tradewind.model.units import Time

_NOTHING = 1e-3
"""Iterations that are not worth a path."""


def share_in_time(sites: Sequence[Site], jobs: Sequence[tuple[Time, Job]]) -> float:
    """The part of all iterations that could be done by when they are due; 1: every target can be met."""
    windows = [(at, at + job.target) for at, job in jobs]
    edges = sorted({time for window in windows for time in window})
    stretches = list(pairwise(edges))
    source, sink = len(jobs) + len(stretches), len(jobs) + len(stretches) + 1
    network = _Network(sink + 1)
    for place, (begin, end) in enumerate(stretches, len(jobs)):
        rates = sorted((_done(site, slot, begin, end) for site in sites for slot in range(site.slots)), reverse=True)
        network.add(place, sink, sum(rates))
        for number, (since, due) in enumerate(windows):
            if since <= begin and end <= due:
                network.add(number, place, sum(rates[: jobs[number][1].maximum]))
    for number, (_, job) in enumerate(jobs):
        network.add(source, number, float(job.iterations))
    return network.flow(source, sink) / sum(job.iterations for _, job in jobs)


def _done(site: Site, slot: int, begin: Time, end: Time) -> float:
    return site.noise[slot % len(site.noise)].done(site.speed, begin, end)


class _Edge(NamedTuple):
    to: int
    back: int
    """Place of the reverse edge among those of `to`."""


class _Network:
    """A network whose largest flow is found by blocking flows (Dinic)."""

    def __init__(self, nodes: int) -> None:
        self._edges: list[list[_Edge]] = [[] for _ in range(nodes)]
        self._left: list[list[float]] = [[] for _ in range(nodes)]

    def add(self, start: int, end: int, most: float) -> None:
        """An edge that can carry so much."""
        self._edges[start].append(_Edge(end, len(self._edges[end])))
        self._left[start].append(most)
        self._edges[end].append(_Edge(start, len(self._edges[start]) - 1))
        self._left[end].append(0.0)

    def flow(self, source: int, sink: int) -> float:
        """The largest flow."""
        total = 0.0
        while (levels := self._levels(source))[sink] >= 0:
            nexts = [0] * len(self._edges)
            while (sent := self._send(source, sink, float("inf"), levels, nexts)) > _NOTHING:
                total += sent
        return total

    def _levels(self, source: int) -> list[int]:
        levels = [-1] * len(self._edges)
        levels[source] = 0
        waiting = deque([source])
        while waiting:
            node = waiting.popleft()
            for edge, left in zip(self._edges[node], self._left[node], strict=True):
                if left > _NOTHING and levels[edge.to] < 0:
                    levels[edge.to] = levels[node] + 1
                    waiting.append(edge.to)
        return levels

    def _send(self, node: int, sink: int, most: float, levels: list[int], nexts: list[int]) -> float:
        if node == sink:
            return most
        edges, left = self._edges[node], self._left[node]
        while (place := nexts[node]) < len(edges):
            edge = edges[place]
            if left[place] > _NOTHING and levels[edge.to] == levels[node] + 1:
                sent = self._send(edge.to, sink, min(most, left[place]), levels, nexts)
                if sent > _NOTHING:
                    left[place] -= sent
                    self._left[edge.to][edge.back] += sent
                    return sent
            nexts[node] += 1
        return 0.0
