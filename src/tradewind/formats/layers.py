"""Lay out the boxes and lines of a layered graph.

The usual three steps (Sugiyama, Tagawa, Toda, 1981): lines that cross several layers get a waypoint in each, shared by
all lines from one box; boxes are ordered within their layer by the mean position of their neighbours, back and forth;
and each layer is moved as close to its neighbours as the heights of the boxes allow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

SWEEPS = 12
_WAY_POINT_HEIGHT = 4.0


@dataclass(slots=True)
class Node:
    """A box, or a waypoint of a line."""

    layer: int
    height: float
    before: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)
    y: float = 0.0
    """The middle of the box."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The boxes with their positions."""

    nodes: Sequence[Node]
    """The boxes, then the waypoints."""
    hops: Mapping[tuple[int, int], int]
    """Line segments from one layer to the next, with the total weight of the lines that share them."""
    layers: Sequence[Sequence[int]]
    """Boxes and waypoints of each layer from top to bottom."""

    @property
    def height(self) -> float:
        """Return the distance from the top of the highest box to the bottom of the lowest."""
        return max((node.y + node.height / 2 for node in self.nodes), default=0.0)


def arrange_layers(
    layer_of: Sequence[int], heights: Sequence[float], lines: Mapping[tuple[int, int], int], gap: float
) -> Layout:
    """Place boxes, given their layers and heights, so that weighted lines are short and rarely cross."""
    nodes = [Node(layer, height) for layer, height in zip(layer_of, heights, strict=True)]
    hops = _route(nodes, lines)
    layers: list[list[int]] = [[] for _ in range(max((node.layer for node in nodes), default=0) + 1)]
    for index, node in enumerate(nodes):
        layers[node.layer].append(index)
    layers = _order(nodes, layers)
    _spread(nodes, layers, gap)
    _close_up(nodes, 3 * gap)
    return Layout(nodes, hops, layers)


def _route(nodes: list[Node], lines: Mapping[tuple[int, int], int]) -> dict[tuple[int, int], int]:
    """Give each line a waypoint in every layer it crosses, and link neighbours."""
    way_points: dict[tuple[int, int], int] = {}
    hops: dict[tuple[int, int], int] = {}
    for (start, end), weight in sorted(lines.items()):
        route = [start]
        for layer in range(nodes[start].layer + 1, nodes[end].layer):
            # All lines from one box share its waypoints, so that a fan-out is drawn as one trunk.
            if (start, layer) not in way_points:
                way_points[start, layer] = len(nodes)
                nodes.append(Node(layer, _WAY_POINT_HEIGHT))
            route.append(way_points[start, layer])
        for hop in pairwise([*route, end]):
            if hop not in hops:
                hops[hop] = 0
                nodes[hop[0]].after.append(hop[1])
                nodes[hop[1]].before.append(hop[0])
            hops[hop] += weight
    return hops


def _order(nodes: Sequence[Node], layers: list[list[int]]) -> list[list[int]]:
    """Order each layer by the mean position of its neighbours, forth and back; keep the order with fewest crossings."""
    # Barycentre sweeps do not always improve the order, so the best one seen is kept.
    best, fewest = [list(layer) for layer in layers], _crossings(nodes, layers)
    for sweep in range(SWEEPS):
        forth = sweep % 2 == 0
        place = _places(layers)
        for layer in layers if forth else reversed(layers):
            mean: dict[int, float] = {}
            for index in layer:
                neighbours = nodes[index].before if forth else nodes[index].after
                places = [place[other] for other in neighbours]
                mean[index] = sum(places) / len(places) if places else place[index]
            layer.sort(key=mean.__getitem__)
            for position, index in enumerate(layer):
                # Positions are relative (0 to 1), so that layers of different size can be compared.
                place[index] = (position + 0.5) / len(layer)
        crossings = _crossings(nodes, layers)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    return best


def _places(layers: Sequence[Sequence[int]]) -> dict[int, float]:
    return {index: (at + 0.5) / len(layer) for layer in layers for at, index in enumerate(layer)}


def _crossings(nodes: Sequence[Node], layers: Sequence[Sequence[int]]) -> int:
    """Count the pairs of lines that cross between neighbouring layers, with a Fenwick tree."""
    rank = {index: at for layer in layers for at, index in enumerate(layer)}
    total = 0
    for layer, following in pairwise(layers):
        ends = [rank[after] for index in layer for after in sorted(nodes[index].after, key=rank.__getitem__)]
        tree = [0] * (len(following) + 1)
        # A line crosses each earlier one that ends further down.
        for seen, end in enumerate(ends):
            total += seen - _sum_up_to(tree, end + 1)
            at = end + 1
            while at < len(tree):
                tree[at] += 1
                at += at & -at
    return total


def _sum_up_to(tree: Sequence[int], at: int) -> int:
    total = 0
    while at:
        total += tree[at]
        at -= at & -at
    return total


def _spread(nodes: Sequence[Node], layers: Sequence[Sequence[int]], gap: float) -> None:
    """Move each layer as close to its neighbours as possible, forth and back."""
    for layer in layers:
        for index, y in zip(layer, _fit(nodes, layer, [0.0] * len(layer), gap), strict=True):
            nodes[index].y = y
    for sweep in range(SWEEPS):
        forth = sweep % 2 == 0
        for layer in layers if forth else reversed(layers):
            wanted = []
            for index in layer:
                near = nodes[index].before if forth else nodes[index].after
                near = near or nodes[index].after or nodes[index].before
                wanted.append(sum(nodes[other].y for other in near) / len(near) if near else nodes[index].y)
            for index, y in zip(layer, _fit(nodes, layer, wanted, gap), strict=True):
                nodes[index].y = y


def _close_up(nodes: Sequence[Node], gap: float) -> None:
    """Start at zero, and close gaps that are empty in every layer, such as between disconnected parts."""
    bottom, moved = -gap, 0.0
    for node in sorted(nodes, key=lambda node: node.y - node.height / 2):
        top = node.y - node.height / 2
        # Nothing reaches into this stretch in any layer: move everything below it up.
        if top - moved > bottom + gap or bottom < 0:
            moved = top - bottom - gap
        node.y -= moved
        bottom = max(bottom, node.y + node.height / 2)


def _fit(nodes: Sequence[Node], layer: Sequence[int], wanted: Sequence[float], gap: float) -> list[float]:
    """Return the positions nearest to the wanted ones that keep order and distance (pool adjacent violators)."""
    offsets = [0.0]
    for above, below in pairwise(layer):
        offsets.append(offsets[-1] + (nodes[above].height + nodes[below].height) / 2 + gap)
    pools: list[tuple[float, int]] = []
    for want, offset in zip(wanted, offsets, strict=False):
        # Without the offsets, keeping the distance means keeping a non-decreasing order.
        mean, size = want - offset, 1
        # Boxes that would overlap move together, to the mean of their wanted positions.
        while pools and pools[-1][0] > mean:
            other, count = pools.pop()
            mean, size = (mean * size + other * count) / (size + count), size + count
        pools.append((mean, size))
    flat = [mean for mean, size in pools for _ in range(size)]
    return [base + offset for base, offset in zip(flat, offsets, strict=False)]
