"""Programs of shares in virtual time: they report until they are answered, repeat themselves, fall silent and die."""

import json
from dataclasses import dataclass, field
from random import Random

from tradewind.live.driver import Driver
from tradewind.live.engines.fake import Key, Yard
from tradewind.live.facts import Answer, Declined, Given, Progress
from tradewind.live.port import Broke, Done, Order
from tradewind.model.elastic import Range
from tradewind.model.units import SECOND


@dataclass(slots=True)
class Program:
    """The process of one share."""

    order: Order
    held: list[Range] = field(default_factory=list)
    done: int = 0
    number: int = 0
    elapsed: int = 0
    pending: tuple[int, int, int, tuple[Given, ...]] | None = None
    """Done, elapsed, ahead and deliveries of the report that is not answered."""
    is_started: bool = False
    is_silent: bool = False
    is_over: bool = False

    def heard(self, report: tuple[int, int, int, tuple[Given, ...]], answer: Answer | Declined) -> None:
        """The control plane has answered one of its reports."""
        if report is not self.pending:
            return  # an answer to a repeated one
        self.pending = None
        self.is_started = True
        if isinstance(answer, Declined):
            assert answer.is_stale, answer.reason
            self.is_over = True
        else:
            assert answer.deliveries == self.number
            self.held = list(answer.ranges)
            self.is_over = answer.next == "end" and not self.held

    def work(self, chance: Random) -> None:
        """Do some iterations, and deliver most of them with the next report."""
        given: list[Given] = []
        for _ in range(chance.randint(0, 3)):
            if not self.held:
                break
            begin, end = self.held[0]
            middle = min(end, begin + chance.randint(1, 40))
            self.held[0:1] = [(middle, end)] if middle < end else []
            self.number += 1
            self.done += middle - begin
            text = json.dumps({"inline": [begin, middle]})
            given.append(Given(self.number, ((begin, middle),), text))
        self.elapsed += chance.randint(1, 5 * SECOND)
        self.pending = self.done, self.elapsed, 0, tuple(given)


@dataclass(slots=True)
class Crowd:
    """The programs of all shares that run in a yard."""

    chance: Random
    deadliness: float
    programs: dict[Key, Program] = field(default_factory=dict)
    reports: int = 0
    silences: int = 0

    def start(self, order: Order, yard: Yard) -> None:
        """A program begins."""
        key = order.unit, order.attempt, order.machine
        yard.running[key] = order
        self.programs[key] = Program(order)

    def step(self, driver: Driver, yard: Yard) -> list[Done | Broke]:
        """Let programs go on; how some of them have ended."""
        ends: list[Done | Broke] = []
        for key in [key for key in self.programs if key not in yard.running]:
            del self.programs[key]  # killed, or gone with its machine
        for key, program in list(self.programs.items()):
            if program.is_over or (program.is_started and self.chance.random() < self.deadliness):
                del self.programs[key]
                yard.running.pop(key)
                ends.append(Done(*key) if program.is_over else Broke(*key, "error", "it broke"))
            elif not program.is_silent:
                self._act(driver, program)
        return ends

    def _act(self, driver: Driver, program: Program) -> None:
        if self.chance.random() < self.deadliness:
            program.is_silent = True
            self.silences += 1
            return
        if program.pending is None:
            if program.is_started:
                program.work(self.chance)
            else:
                program.pending = 0, 0, 0, ()
        elif self.chance.random() < 0.7:
            return  # it waits for its answer a little longer
        report = program.pending
        assert report is not None
        for _ in range(1 + (self.chance.random() < 0.1)):
            self.reports += 1
            order = program.order
            driver.tell(Progress(order.unit, order.attempt, *report, lambda answer: program.heard(report, answer)))
