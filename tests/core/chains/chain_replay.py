"""Programs run without running anything: results are made up, in any order, with a reload before each of them."""

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path

import yaml

from tradewind.core.chains import Chain, Fault, Generator, prepare
from tradewind.formats import load_program
from tradewind.model.action import Call, Container, Derived, Json, Output, Ref, Shell
from tradewind.model.expression import resolve
from tradewind.model.parameters import bind
from tradewind.model.program import Program

Results = Mapping[str, Mapping[str, Json]]
"""Outputs by call, where they matter; others are made up."""
Choose = Callable[[Sequence[str]], int]
"""Which of the open chains finishes next."""

EVERY = 60
"""So many steps are each preceded by a reload, and after that every so many: a reload costs as much as there is."""


def read(path: Path) -> tuple[Program, Results]:
    """A program, and the results that the comment at its end gives."""
    _, found, comment = path.read_text().partition("# results\n")
    given = "\n".join(line.removeprefix("#") for line in comment.splitlines())
    return load_program(path), (yaml.safe_load(given) or {}) if found else {}


def made_up(call: Call, given: Results) -> dict[str, Json]:
    return {
        name: given.get(call.id, {}).get(name, _value(call.id, name, output)) for name, output in call.outputs.items()
    }


def _value(call: str, name: str, output: Output) -> Json:
    if output.value in ("json", "return"):
        return [f"{call}:{name}"]
    return f"{call}:{name}" if output.value else f"/{call}/{output.path}"


def results_of(chain: Chain, given: Results) -> dict[str, dict[str, Json]]:
    """The results of a chain, with its inputs resolved as a worker would."""
    results: dict[str, dict[str, Json]] = {}
    for call in chain.calls:
        for value in call.inputs.values():
            json.dumps(resolve(value, results))
        results[call.id] = made_up(call, given)
    return results


class Run:
    """A program on its way, with all chains it ever made."""

    def __init__(self, program: Program, given: Results, parameters: Mapping[str, Json] | None = None) -> None:
        self.program = program
        self.given = given
        self.plan = prepare(program)
        self.generator = Generator(program, bind(program, parameters or {}), plan=self.plan)
        self.open: dict[str, Chain] = {}
        self.all: dict[str, Chain] = {}
        self._take(self.generator.begin())

    def finish(self, chain: str) -> list[Chain]:
        made = self.generator.finished(chain, results_of(self.open.pop(chain), self.given))
        self._take(made)
        return made

    def reload(self) -> None:
        """Go on from what was saved, and be sure that nothing was lost."""
        saved = json.dumps(self.generator.save())
        before = (self.generator.is_done, self.generator.faults)
        self.generator = Generator.load(self.program, json.loads(saved), plan=self.plan)
        assert {chain.id: chain for chain in self.generator.open_chains()} == self.open
        assert (self.generator.is_done, self.generator.faults) == before
        assert json.loads(json.dumps(self.generator.save())) == json.loads(saved)

    def complete(self, choose: Choose = lambda _: 0, *, reload: bool = False) -> "Run":
        for step in count():
            if not self.open:
                return self
            if reload and (step < EVERY or step % EVERY == 0):
                self.reload()
            ready = sorted(self.open)
            self.finish(ready[choose(ready)])
        raise AssertionError("never reached")

    @property
    def end(self) -> tuple[dict[str, Chain], Json, set[Fault]]:
        """All that must not depend on the order of results."""
        outputs = self.generator.outputs() if self.generator.is_done else None
        return self.all, outputs, set(self.generator.faults)

    def _take(self, chains: Sequence[Chain]) -> None:
        for chain in chains:
            assert chain.id not in self.all, "a chain is made once"
            self.open[chain.id] = self.all[chain.id] = chain


def orders(program: Program, given: Results, most: int = 300) -> Iterator[Run]:
    """Runs in every order of results where there are few, otherwise in a seeded sample of them; all with reloads."""
    trail: list[tuple[int, int]] = []
    for _ in range(most):  # depth first: the trail says which choice to take at each step, and of how many
        taken: list[tuple[int, int]] = []

        yield Run(program, given).complete(_along(trail, taken), reload=True)
        while taken and taken[-1][0] + 1 == taken[-1][1]:
            taken.pop()
        if not taken:
            return
        trail = [*taken[:-1], (taken[-1][0] + 1, taken[-1][1])]
    for seed in range(60):
        yield Run(program, given).complete(at_random(seed), reload=True)


def at_random(seed: int) -> Choose:
    chance = random.Random(seed)
    return lambda ready: chance.randrange(len(ready))


def _along(trail: Sequence[tuple[int, int]], taken: list[tuple[int, int]]) -> Choose:
    """Follow a trail, then always take the first; note what was taken."""

    def choose(ready: Sequence[str]) -> int:
        at = trail[len(taken)][0] if len(taken) < len(trail) else 0
        taken.append((at, len(ready)))
        return at

    return choose


# As text


def told(program: Program, given: Results) -> str:
    """What becomes of a program, chain by chain, as people read it."""
    run = Run(program, given)
    lines = ["begin", *_shown(run.open.values())]
    while run.open:
        first = next(iter(run.open))
        lines += [f"finished {first}", *_shown(run.finish(first))]
    lines += [f"fault {fault.step}: {fault.reason}" for fault in run.generator.faults]
    if run.generator.is_done:
        lines += [f"output {name} = {json.dumps(value)}" for name, value in run.generator.outputs().items()]
    return "\n".join((*lines, ""))


def _shown(chains: Iterable[Chain]) -> Iterator[str]:
    for chain in chains:
        yield f"  chain {chain.name} on {chain.requirement}"
        for call in chain.calls:
            outputs = ", ".join(f"{name}={output.path or output.value}" for name, output in call.outputs.items())
            yield f"    {call.id}: {_command(call)}" + (f" -> {outputs}" if outputs else "")


def _command(call: Call) -> str:
    if isinstance(call.action, Shell | Container):
        text = call.action.command
        for name, value in call.inputs.items():
            text = text.replace(f"{{{{ {name} }}}}", _input(value))
        return text
    return f"{call.action.target}({', '.join(f'{name}={_input(value)}' for name, value in call.inputs.items())})"


def _input(value: Json) -> str:
    if isinstance(value, Ref):
        return f"<{value.call}.{'.'.join((value.output, *map(str, value.path)))}>"
    if isinstance(value, Derived):
        return f"<{value.template}>"
    return json.dumps(value) if not isinstance(value, str) else value
