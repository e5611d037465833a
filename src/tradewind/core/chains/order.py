"""Which step follows which in a chain: the one rule, for programs and for static workflows.

A chain is a maximal linear run (Steep paper, section 3). `b` follows `a` in a chain if nothing else can begin when
`a` has ended, and nothing else must end for `b` to begin:

- *no fork*: every other successor of `a` waits for `b` too (`b` leads them all);
- *no join*: every other predecessor of `b` has ended before `a` begins;
- and both ask the same of a machine, and neither is to be alone (the caller's `fit`).

The paper cuts at any task with several inputs or outputs and unites what the tasks of a chain require. We cut by what
can really run at the same time, and where the requirement changes, so that a step that needs a GPU does not drag
those before it onto the GPU's machine. The rule looks at the graph alone, never at what happens to have finished:
chains are the same in whatever order results arrive.

Whether a step leads another one is a question of reachability. Each is answered by a search of at most `REACH` edges,
so that linking stays linear in the size of the graph; where a shortcut spans more, the chain is cut, which is safe.
"""

from collections.abc import Callable, Sequence

REACH = 256

Rows = Sequence[Sequence[int]]


def followers(parents: Rows, fit: Callable[[int, int], bool], starts: Rows | None = None) -> list[int]:
    """For each node of a graph, arranged so that parents stand first, the node that follows it in its chain, or -1.

    `parents` are the nodes that must have ended before a node can end; `starts` those among them that must have ended
    before any part of it can begin (by default the same).
    """
    children: list[list[int]] = [[] for _ in parents]
    for child, row in enumerate(parents):
        for parent in set(row):
            children[parent].append(child)
    following = [-1] * len(parents)
    for child, row in enumerate(parents):
        if not row:
            continue
        parent = max(row)
        if (
            children[parent][0] == child
            and fit(parent, child)
            and _has_all_before(parent, row, parents)
            and _leads(child, children[parent], children, starts)
        ):
            following[parent] = child
    return following


def _has_all_before(last: int, row: Sequence[int], parents: Rows) -> bool:
    """Whether all of a row have ended once the last of them begins."""
    wanted = set(row)
    wanted.discard(last)
    if not wanted:
        return True
    if len(wanted) > REACH:
        return False
    earliest, left = min(wanted), REACH
    seen, waiting = {last}, [last]
    while waiting:
        for parent in parents[waiting.pop()]:
            left -= 1
            if left < 0:
                return False
            if parent >= earliest and parent not in seen:
                wanted.discard(parent)
                if not wanted:
                    return True
                seen.add(parent)
                waiting.append(parent)
    return False


def _leads(first: int, row: Sequence[int], children: Rows, starts: Rows | None) -> bool:
    """Whether all others of a row can only begin once the first of them has ended."""
    others = [node for node in row if node != first]
    if not others:
        return True
    if len(others) > REACH:
        return False
    latest, left = max(others), REACH
    after, waiting = {first}, [first]
    while waiting:
        for child in children[waiting.pop()]:
            left -= 1
            if left < 0:
                return False
            if child <= latest and child not in after:
                after.add(child)
                waiting.append(child)
    if starts is None:
        return after.issuperset(others)
    return all(any(parent in after for parent in starts[node]) for node in others)
