"""Run times and boot lags learned from what has happened, for policies that want to know them beforehand.

What is known of a step is asked in this order:
1. how long tasks of this name took on this machine type: a quantile of those nearest in input size;
2. what the task declares, which also counts as long as fewer than three have finished on that type;
3. how long they took on other types, in proportion to the speeds of the types;
4. a guess of a minute on a machine of speed 1, with a warning, once for each name.
How long a machine takes to come up is what its type declares, until three of that type have come up; from then on it is
a quantile of what the last ones took.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tradewind.core.machines import Kind
from tradewind.core.work import Unit, declared
from tradewind.model.machine import MachineType
from tradewind.model.units import MINUTE, Duration
from tradewind.model.workflow import Task

GUESS: Duration = MINUTE
ENOUGH = 3
"""So many finished tasks, or machines that came up, outweigh what is declared."""
NEAREST = 20
"""So many tasks, nearest in input size, are asked; of machines, so many that came up last."""
KEPT = 200
"""So many tasks of a name and type are remembered, the latest."""
MOST = 10_000
"""So many names and types are remembered, those that finished last: names may be made up for each run."""

_TIMES, _BOOT, _ITEMS = "run times ", "boot of ", "items of "
"""How the names begin under which things are saved."""

Sample = tuple[int, Duration]
"""Bytes of input, and how long it took."""


class _History:
    """How long tasks of one name took on one machine type."""

    __slots__ = ("_answers", "place", "samples", "speed", "step", "type")

    def __init__(self, step: str, type: str, speed: float, place: int) -> None:
        self.step = step
        self.type = type
        self.speed = speed
        self.place = place
        """Where it is saved; the place of one that is forgotten is given to another."""
        self.samples: deque[Sample] = deque(maxlen=KEPT)
        self._answers: dict[int, Duration] = {}
        """What was asked since the last sample came."""

    def add(self, size: int, time: Duration) -> None:
        self.samples.append((size, time))
        self._answers.clear()

    def near(self, size: int, share: float) -> Duration:
        found = self._answers.get(size)
        if found is None:
            found = self._answers[size] = quantile_near(self.samples, size, share)
        return found


class Learned:
    """Estimates that get better with each task that finishes and each machine that comes up."""

    def __init__(self, quantile: float = 0.5, warn: Callable[[str], None] = lambda _: None) -> None:
        self._quantile = quantile
        self._warn = warn
        self._steps: dict[str, dict[str, _History]] = {}
        """By name of step, then by machine type."""
        self._latest: dict[int, _History] = {}
        """By their places; what was learned last comes last."""
        self._boots: dict[str, deque[Duration]] = {}
        """How long machines of each type took to come up."""
        self._items: dict[str, int] = {}
        """How many items each loop had when it last began; the latest come last."""
        self._fresh_items: set[str] = set()
        self._unseen: set[str] = set()
        self._fresh_places: set[int] = set()
        """Where something is to be saved anew."""
        self._fresh_boots: set[str] = set()

    def __call__(self, unit: Unit, kind: Kind) -> Duration:
        """How long a unit is thought to run on a kind."""
        return self.of(unit.task, kind.type)

    def of(self, task: Task, type: MachineType) -> Duration:
        """How long a task is thought to run on a machine type."""
        is_declared = task.runtime is not None or type.name in task.runtimes
        known = self._steps.get(task.name, {})
        here = known.get(type.name)
        if here is not None and (len(here.samples) >= ENOUGH or not is_declared):
            return here.near(input_size(task), self._quantile)
        if is_declared:
            return declared(task, type)
        for elsewhere in known.values():
            return round(elsewhere.near(input_size(task), self._quantile) * elsewhere.speed / type.speed)
        if task.name not in self._unseen:
            self._unseen.add(task.name)
            self._warn(f"nothing is known of how long {task.name!r} takes; taken as a minute until one has finished")
        return round(GUESS / type.speed)

    def knows(self, name: str) -> bool:
        """Whether a task of a name has finished before."""
        return name in self._steps

    def lag(self, type: MachineType) -> Duration | None:
        """How long a machine of a type is thought to take until it is up; None: as declared, for few have been seen."""
        seen = self._boots.get(type.name, ())
        return None if len(seen) < ENOUGH else _quantile(sorted(seen), self._quantile)

    def learn(self, unit: Unit, kind: Kind, time: Duration) -> None:
        """A unit has finished."""
        type = kind.type
        history = self._history(unit.task.name, type.name, type.speed)
        history.add(input_size(unit.task), time)
        self._latest[history.place] = self._latest.pop(history.place)
        self._fresh_places.add(history.place)

    def learn_lag(self, type: MachineType, lag: Duration) -> None:
        """A machine has come up, so long after it was asked for."""
        self._boots.setdefault(type.name, deque(maxlen=NEAREST)).append(lag)
        self._fresh_boots.add(type.name)

    def items(self, loop: str) -> int | None:
        """How many items a loop is thought to have, by where it stands in its program; None: it never ran."""
        return self._items.get(loop)

    def learn_items(self, counted: Mapping[str, int]) -> None:
        """Loops have begun, with so many items each."""
        for loop, count in counted.items():
            if self._items.pop(loop, None) != count:
                self._fresh_items.add(loop)
            self._items[loop] = count
        while len(self._items) > MOST:
            self._fresh_items.discard(oldest := next(iter(self._items)))
            del self._items[oldest]

    def changes(self) -> dict[str, Any]:
        """What has been learned of since this was last asked, under names of its own; each replaces what it was."""
        places, self._fresh_places = sorted(self._fresh_places), set()
        boots, self._fresh_boots = sorted(self._fresh_boots), set()
        found: dict[str, Any] = {f"{_BOOT}{type}": {"boot": type, "lags": list(self._boots[type])} for type in boots}
        loops, self._fresh_items = sorted(self._fresh_items), set()
        found |= {f"{_ITEMS}{loop}": {"items": self._items[loop]} for loop in loops}
        for place in places:
            history = self._latest[place]
            found[f"{_TIMES}{place}"] = {
                "step": history.step,
                "machine": history.type,
                "speed": history.speed,
                "samples": [list(each) for each in history.samples],
            }
        return found

    def load(self, saved: Mapping[str, Any]) -> None:
        """Go on from what was learned before; what others have saved is passed over."""
        for key, value in saved.items():
            if key.startswith(_BOOT):
                self._boots[value["boot"]] = deque(value["lags"], maxlen=NEAREST)
            elif key.startswith(_ITEMS):
                self._items[key.removeprefix(_ITEMS)] = value["items"]
            elif key.startswith(_TIMES) and (place := int(key.removeprefix(_TIMES))) < MOST:
                history = self._add(_History(value["step"], value["machine"], value["speed"], place))
                for size, time in value["samples"]:
                    history.add(size, time)

    def _history(self, step: str, type: str, speed: float) -> _History:
        types = self._steps.get(step)
        found = None if types is None else types.get(type)
        if found is None:
            place = len(self._latest) if len(self._latest) < MOST else self._forget()
            found = self._add(_History(step, type, speed, place))
        return found

    def _add(self, history: _History) -> _History:
        self._steps.setdefault(history.step, {})[history.type] = self._latest[history.place] = history
        return history

    def _forget(self) -> int:
        """Forget that of which nothing was learned for the longest time; the place that is free then."""
        place = next(iter(self._latest))
        oldest = self._latest.pop(place)
        del self._steps[oldest.step][oldest.type]
        if not self._steps[oldest.step]:
            del self._steps[oldest.step]
        return place


def input_size(task: Task) -> int:
    """Bytes that a task reads, as far as is known."""
    return sum(file.size for file in task.inputs)


def quantile_near(samples: Sequence[Sample] | deque[Sample], size: int, share: float) -> Duration:
    """A quantile of the times of those samples whose inputs are nearest in size, by their proportion."""
    near = sorted(samples, key=lambda sample: _distance(sample[0], size))[:NEAREST]
    return _quantile(sorted(time for _, time in near), share)


def _quantile(ordered: Sequence[Duration], share: float) -> Duration:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _distance(one: int, other: int) -> float:
    return max(one, other) / max(1, min(one, other))
