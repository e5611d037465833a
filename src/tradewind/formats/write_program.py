"""Write programs as native documents, which read back as the same program.

The version by which the cache identifies an uploaded Python function is lost.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from tradewind.formats.names import kind_of
from tradewind.model.action import Container, Divisible, Function, Json, Output, Shell
from tradewind.model.program import LOSSES, MOST_ITEMS, NO_RETRIES, Kind, Parameter, Program, Retries, Step
from tradewind.model.units import in_seconds
from tradewind.model.workflow import Retry

_VALUES = frozenset({"stdout", "json", "return"})


def write_program(program: Program) -> str:
    """Return a program as native YAML."""
    return yaml.safe_dump(program_document(program), sort_keys=False, allow_unicode=True, width=10_000)


def program_document(program: Program) -> dict[str, Json]:
    """Return a program as a native document, with all programs it includes."""
    document: dict[str, Json] = {"name": program.name}
    if program.priority:
        document["priority"] = program.priority
    if program.deadline is not None:
        document["deadline"] = in_seconds(program.deadline)
    document |= _body(program)
    included = dict(_included(program))
    if included:
        document["programs"] = {name: _body(each) for name, each in included.items()}
    return document


def _included(program: Program) -> Iterator[tuple[str, Program]]:
    for name, each in program.includes.items():
        yield name, each
        yield from _included(each)


def _body(program: Program) -> dict[str, Json]:
    body: dict[str, Json] = {}
    if program.parameters:
        body["params"] = {name: _parameter(each) for name, each in program.parameters.items()}
    body["steps"] = {step.id: _step(step) for step in program.steps}
    if program.outputs:
        body["outputs"] = dict(program.outputs)
    return body


def _parameter(parameter: Parameter) -> Json:
    found: dict[str, Json] = {"required": True} if parameter.required else {"default": parameter.default}
    if parameter.required and parameter.default is not None:
        found["default"] = parameter.default
    if parameter.kind is not Kind.ANY:
        found["type"] = parameter.kind.value
    if parameter.description:
        found["description"] = parameter.description
    return found


def _step(step: Step) -> dict[str, Json]:
    found: dict[str, Json] = {}
    if step.name and step.name != kind_of(step.id):
        found["name"] = step.name
    if step.needs:
        found["needs"] = list(step.needs)
    if step.when is not True:
        found["when"] = step.when
    found |= _loop(step)
    match step.action:
        case Shell(command):
            found["run"] = command
        case Function(target):
            found["python"] = target
        case Container() as container:
            found["container"] = _container(container)
        case Divisible() as job:
            found["divisible"] = _divisible(job)
        case None:
            pass
    if step.include:
        found["include"] = step.include
    if step.inputs:
        found["inputs"] = dict(step.inputs)
    if step.steps:
        found["steps"] = {inner.id: _step(inner) for inner in step.steps}
    if step.outputs or step.gives:
        found["outputs"] = {name: _output(each) for name, each in step.outputs.items()} | dict(step.gives)
    return found | _demands(step)


def _loop(step: Step) -> dict[str, Json]:
    loop = step.loop
    if loop is None:
        return {}
    found: dict[str, Json] = {"for_each": loop.over}
    if loop.variable != "item":
        found["as"] = loop.variable
    if loop.expected is not None:
        found["expect"] = loop.expected
    if loop.feed:
        found["repeat"] = loop.feed if loop.most == MOST_ITEMS else {"add": loop.feed, "most": loop.most}
    return found


def _container(container: Container) -> Json:
    found: dict[str, Json] = {"image": container.image, "run": container.command}
    if container.options:
        found["options"] = list(container.options)
    return found | ({"entrypoint": True} if container.entrypoint else {})


def _divisible(job: Divisible) -> Json:
    found: dict[str, Json] = {"iterations": job.iterations}
    found |= {"run": job.command} if job.command else {"python": job.target}
    if job.within is not None:
        found["within"] = in_seconds(job.within)
    if job.reducer != "concatenate":
        found["reduce"] = {job.reducer: job.reduce} if job.reduce else job.reducer
    if job.initial is not None:
        found["partitions"] = job.initial
    if job.maximum != 1_000:
        found["most"] = job.maximum
    if job.balancer:
        found["balancer"] = job.balancer
    if job.lots:
        found["sites"] = {name: {"slots": lot.slots, "speed": lot.speed} for name, lot in job.lots.items()}
    return found


def _output(output: Output) -> Json:
    if output.value:
        return output.value if output.value in _VALUES else {"value": output.value}
    return {"path": output.path, "many": output.many} | ({"optional": True} if output.optional else {})


def _demands(step: Step) -> dict[str, Json]:
    """Return the requirement, retries, time-outs, environment and shell of a step."""
    found: dict[str, Json] = {}
    if step.requirement.capabilities:
        found["capabilities"] = sorted(step.requirement.capabilities)
    if step.requirement.amounts:
        found["amounts"] = dict(step.requirement.amounts)
    if step.runtime is not None:
        found["runtime"] = in_seconds(step.runtime)
    if step.runtimes:
        found["runtimes"] = {name: in_seconds(time) for name, time in step.runtimes.items()}
    if step.retries != NO_RETRIES:
        found["retries"] = _retries(step.retries)
    limits = {"run": step.limits.run, "silence": step.limits.silence, "total": step.total}
    if any(limits.values()):
        found["timeout"] = {name: in_seconds(time) for name, time in limits.items() if time is not None}
    if step.environment:
        found["env"] = dict(step.environment)
    is_divisible = isinstance(step.action, Divisible)  # implied for a divisible step
    flags: Mapping[str, Any] = {"checkpoint": step.checkpoint, "alone": step.alone} if not is_divisible else {}
    found |= {name: True for name, value in flags.items() if value}
    if isinstance(step.action, Shell | Container | Divisible) and step.action.shell:
        found["shell"] = step.action.shell
    return found if step.cache else found | {"cache": False}


def _retries(retries: Retries) -> Json:
    causes = {"error": retries.error, "memory": retries.memory, "timeout": retries.timeout}
    found: dict[str, Json] = {name: _retry(each) for name, each in causes.items()}
    found["memory_growth"] = retries.growth
    return found if retries.lost.attempts == LOSSES else found | {"lost": retries.lost.attempts}


def _retry(retry: Retry) -> Json:
    return {
        "attempts": retry.attempts,
        "delay": in_seconds(retry.delay),
        "factor": retry.factor,
        "max_delay": in_seconds(retry.max_delay),
    }
