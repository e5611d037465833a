"""Token waves against a brute-force reference on random graphs."""

import random
from collections.abc import Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from tradewind.policies.parts.tokens import Enough, Waves, token_waves
from tradewind.policies.protocol import Unit


class Node:
    """A unit of which only what the tokens look at is there; counts how often its children are gone through."""

    def __init__(self, number: int) -> None:
        self.id = number
        self.waits = 0
        self.is_ended = False
        self.kin: list[Unit] = []
        self.visits = 0

    @property
    def children(self) -> Sequence["Unit"]:
        self.visits += 1
        return self.kin


def graph(edges: Sequence[tuple[int, int]], size: int, done: set[int]) -> list[Node]:
    nodes = [Node(number) for number in range(size)]
    for parent, child in edges:
        nodes[parent].kin.append(nodes[child])  # type: ignore[arg-type]
        nodes[child].waits += parent not in done
    for number in done:
        nodes[number].is_ended = True
    return nodes


def active(nodes: list[Node]) -> Iterator[Unit]:
    yield from (node for node in nodes if not node.is_ended and not node.waits)  # type: ignore[misc]


def brute_force(edges: Sequence[tuple[int, int]], size: int, done: set[int], depth: int | None) -> Waves:
    held = set(done)
    waves: list[int] = []
    while depth is None or len(waves) < depth:
        wave = {n for n in range(size) if n not in held and all(p in held for p, c in edges if c == n)}
        if not wave:
            break
        waves.append(len(wave))
        held |= wave
    return Waves(sum(waves), max(waves, default=0))


def test_waves_of_a_small_graph() -> None:
    edges = [(0, 2), (1, 2), (2, 3), (2, 4), (2, 5), (0, 5)]
    assert token_waves(active(graph(edges, 6, set())), None) == Waves(6, 3)
    assert token_waves(active(graph(edges, 6, set())), 1) == Waves(2, 2)
    assert token_waves(active(graph(edges, 6, set())), 2) == Waves(3, 2)
    assert token_waves(active(graph(edges, 6, {0, 1})), 2) == Waves(4, 3)
    assert token_waves(active(graph(edges, 6, set(range(6)))), None) == Waves(0, 0)
    assert token_waves(active(graph(edges, 6, set())), 0) == Waves(0, 0)


@given(seed=st.integers(0, 10**6), size=st.integers(0, 25), depth=st.one_of(st.none(), st.integers(1, 6)))
def test_waves_are_those_of_the_plainest_search_and_each_edge_is_seen_once(
    seed: int, size: int, depth: int | None
) -> None:
    rng = random.Random(seed)
    edges = [(p, c) for c in range(size) for p in range(c) if rng.random() < 0.15]
    done: set[int] = set()
    for node in range(size):  # parents first
        if all(p in done for p, c in edges if c == node) and rng.random() < 0.4:
            done.add(node)
    nodes = graph(edges, size, done)
    before = [node.waits for node in nodes]
    assert token_waves(active(nodes), depth) == brute_force(edges, size, done, depth)
    assert all(node.visits <= 1 for node in nodes)
    assert [node.waits for node in nodes] == before, "the graph is only looked at"
    if depth == 1:
        assert not any(node.visits for node in nodes), "the last wave is not walked from"


@given(
    seed=st.integers(0, 10**6),
    depth=st.one_of(st.none(), st.integers(1, 6)),
    tasks=st.one_of(st.none(), st.integers(1, 30)),
    width=st.one_of(st.none(), st.integers(1, 12)),
)
def test_a_walk_that_may_end_early_is_complete_unless_it_has_found_enough(
    seed: int, depth: int | None, tasks: int | None, width: int | None
) -> None:
    rng = random.Random(seed)
    size = rng.randrange(25)
    edges = [(p, c) for c in range(size) for p in range(c) if rng.random() < 0.15]
    whole = brute_force(edges, size, set(), depth)
    found = token_waves(active(graph(edges, size, set())), depth, Enough(tasks, width))
    is_enough = (tasks is not None and whole.tasks >= tasks) or (width is not None and whole.widest >= width)
    assert found.is_cut == is_enough
    if found.is_cut:
        assert found.tasks == tasks or (tasks or 0) <= found.tasks <= whole.tasks or found.widest >= (width or size)
    else:
        assert found == whole


def test_what_waits_beyond_enough_is_not_looked_at() -> None:
    asked = 0

    def backlog() -> Iterator[Unit]:
        nonlocal asked
        for node in graph([], 10_000, set()):
            asked += 1
            yield node  # type: ignore[misc]

    assert token_waves(backlog(), None, Enough(tasks=50)) == Waves(50, 50, is_cut=True)
    assert asked == 50
