"""Orders and ends of attempts as JSON, between a control plane and agents elsewhere.

The format is part of the agent protocol (`PROTOCOL`): an agent and a server of different versions understand each other
as long as that number is the same. Whatever comes in is checked field by field, for the other end is not trusted.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from tradewind.live.port import Broke, Done, Order, ShareOrder, Usage
from tradewind.model.action import (
    Action,
    Call,
    Container,
    Derived,
    Divisible,
    Function,
    Json,
    Limits,
    Output,
    Ref,
    Shell,
)

PROTOCOL = 1
"""Changes when a server could no longer talk to agents of an earlier version."""

CAUSES = ("error", "memory", "timeout", "silence", "missing", "start", "lost", "returned")
"""Why an attempt may have broken, as agents tell it."""

is_name = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}").fullmatch
"""Whether a text can be the name of an agent, or of a folder."""

_is_path = re.compile(r"(/[A-Za-z0-9][A-Za-z0-9._-]{0,63}){1,12}").fullmatch
_is_secret = re.compile(r"[\x21-\x7e]{1,200}").fullmatch
_REF, _DERIVED, _PLAIN = "$ref", "$derived", "$plain"
_LARGEST = 10**15
_LONGEST = 2000
"""Characters of a reason that are kept."""
_TAIL = 20_000


class MalformedError(ValueError):
    """A message that does not follow the protocol."""


class Sent(NamedTuple):
    """A file on the server that an attempt needs."""

    path: str
    """Where it lies on the server: what stands for it in the inputs of the calls."""
    name: str
    """What it is called, within `path` if that is a folder."""
    size: int


class RemoteOrder(NamedTuple):
    """An order as an agent gets it."""

    run: str
    unit: int
    attempt: int
    slot: int
    """Which of the agent's machines it is for."""
    folder: str
    """Where the attempt's files will lie on the server; here it is but a text."""
    checkpoints: str
    """A name that stays the same over the attempts of a unit that saves its progress; empty: it does not."""
    calls: tuple[Call, ...]
    files: tuple[Sent, ...] = ()
    cpus: int = 1
    memory: int | None = None
    most: int = 0
    share: ShareOrder | None = None

    @property
    def key(self) -> tuple[int, int]:
        """Unit and attempt."""
        return self.unit, self.attempt


# Orders


def order_json(order: Order, slot: int, files: Sequence[Sent]) -> dict[str, Any]:
    """An order on its way to an agent."""
    return {
        "run": order.run,
        "unit": order.unit,
        "attempt": order.attempt,
        "slot": slot,
        "folder": order.folder,
        "checkpoints": sha256(order.checkpoint.encode()).hexdigest()[:16] if order.checkpoint else "",
        "cpus": order.cpus,
        "memory": order.memory,
        "most": order.most,
        "share": None if order.share is None else list(order.share),
        "files": [list(each) for each in files],
        "calls": [_call_json(call) for call in order.calls],
    }


def order_of(data: Any) -> RemoteOrder:
    """An order that came from a server; a `MalformedError` says what is wrong with it."""
    checkpoints = _text(data, "checkpoints")
    return RemoteOrder(
        run=_named(data, "run"),
        unit=_whole(data, "unit"),
        attempt=_whole(data, "attempt"),
        slot=_whole(data, "slot"),
        folder=_text(data, "folder"),
        checkpoints=_named(data, "checkpoints") if checkpoints else "",
        calls=tuple(map(_call_of, _list(data, "calls"))),
        files=tuple(map(_sent_of, _list(data, "files"))),
        cpus=_whole(data, "cpus"),
        memory=None if data.get("memory") is None else _whole(data, "memory"),
        most=_whole(data, "most"),
        share=None if data.get("share") is None else _share_of(data["share"]),
    )


def _share_of(data: Any) -> ShareOrder:
    match data:
        case [str() as path, str() as lease, int() as iterations] if _is_path(path) and _is_secret(lease):
            return ShareOrder(path, lease, _whole({"iterations": iterations}, "iterations"))
    raise MalformedError(f"a share is {data!r:.40}")


def _sent_of(data: Any) -> Sent:
    if not isinstance(data, list) or len(data) != 3:
        raise MalformedError(f"a file is {data!r:.80}")
    path, name, size = data
    fields = {"path": path, "name": name, "size": size}
    sent = Sent(_text(fields, "path"), _text(fields, "name"), _whole(fields, "size"))
    if not sent.path.startswith("/") or not is_plain_path(sent.name):
        raise MalformedError(f"a file is {data!r:.80}")
    return sent


def is_plain_path(path: str) -> bool:
    """Whether a path names something below a folder, and nothing else."""
    parts = path.split("/")
    return (
        0 < len(path) <= 4096
        and path.isprintable()
        and "\\" not in path
        and all(part not in ("", ".", "..") and len(part.encode()) <= 255 for part in parts)
    )


def _call_json(call: Call) -> dict[str, Any]:
    return {
        "id": call.id,
        "action": _action_json(call.action),
        "inputs": {name: _value_json(value) for name, value in call.inputs.items()},
        "outputs": {name: [each.path, each.many, each.value, each.optional] for name, each in call.outputs.items()},
        "environment": dict(call.environment),
        "run": call.limits.run,
        "silence": call.limits.silence,
    }


def _call_of(data: Any) -> Call:
    limits = [None if _field(data, name) is None else _whole(data, name) for name in ("run", "silence")]
    environment = _mapping(data, "environment")
    if not all(isinstance(value, str) and "\0" not in value for value in environment.values()):
        raise MalformedError("the environment of a call is not made of text")
    return Call(
        _text(data, "id"),
        _action_of(_field(data, "action")),
        inputs={name: _value_of(value) for name, value in _mapping(data, "inputs").items()},
        outputs={name: _output_of(value) for name, value in _mapping(data, "outputs").items()},
        environment=environment,
        limits=Limits(*limits),
    )


def _output_of(data: Any) -> Output:
    match data:
        case [str() as path, bool() as many, str() as value, bool() as optional]:
            if any(each and not is_plain_path(each) for each in (path, value)):
                raise MalformedError(f"an output is {data!r:.80}")
            return Output(path, many, value, optional)
    raise MalformedError(f"an output is {data!r:.80}")


def _action_json(action: Action) -> dict[str, Any]:
    if isinstance(action, Shell):
        return {"kind": "shell", "command": action.command, "shell": action.shell}
    if isinstance(action, Function):
        return {"kind": "function", "target": action.target}
    if isinstance(action, Container):
        return {
            "kind": "container",
            "image": action.image,
            "command": action.command,
            "options": list(action.options),
            "entrypoint": action.entrypoint,
            "shell": action.shell,
        }
    return {
        "kind": "divisible",
        "command": action.command,
        "target": action.target,
        "reducer": action.reducer,
        "reduce": action.reduce,
        "shell": action.shell,
    }


def _action_of(data: Any) -> Action:
    kind = _text(data, "kind")
    if kind == "shell":
        return Shell(_text(data, "command"), _text(data, "shell"))
    if kind == "function":
        return Function(_text(data, "target"))
    if kind == "container":
        options = _list(data, "options")
        if not all(isinstance(word, str) and "\0" not in word for word in options):
            raise MalformedError("the options of a container are not made of text")
        return Container(
            _text(data, "image"),
            _text(data, "command"),
            tuple(options),
            _field(data, "entrypoint") is True,
            _text(data, "shell"),
        )
    if kind == "divisible":
        return Divisible(
            0,
            _text(data, "command"),
            _text(data, "target"),
            reducer=_text(data, "reducer"),
            reduce=_text(data, "reduce"),
            shell=_text(data, "shell"),
        )
    raise MalformedError(f"an action is {kind!r:.80}")


def _value_json(value: Any) -> Any:
    if isinstance(value, Ref):
        return {_REF: [value.call, value.output, list(value.path)]}
    if isinstance(value, Derived):
        return {_DERIVED: [value.template, {name: _value_json(each) for name, each in value.names.items()}]}
    if isinstance(value, Mapping):
        plain = {name: _value_json(each) for name, each in value.items()}
        return {_PLAIN: plain} if any(name.startswith("$") for name in plain) else plain
    if isinstance(value, list | tuple):
        return [_value_json(each) for each in value]
    return value


def _value_of(data: Any) -> Json:
    if isinstance(data, list):
        return [_value_of(each) for each in data]
    if not isinstance(data, dict):
        return data
    match data:
        case {"$ref": [str() as call, str() as output, list() as path]} if _is_path_of_keys(path):
            return Ref(call, output, tuple(path))
        case {"$derived": [str() as template, dict() as names]}:
            return Derived(template, {name: _value_of(each) for name, each in names.items()})
        case {"$plain": dict() as plain}:
            return {name: _value_of(each) for name, each in plain.items()}
    if any(name.startswith("$") for name in data):
        raise MalformedError(f"an input is {data!r:.80}")
    return {name: _value_of(each) for name, each in data.items()}


def _is_path_of_keys(path: list[Any]) -> bool:
    return all(isinstance(key, str | int) and not isinstance(key, bool) for key in path)


def replaced(value: Json, change: Callable[[str], str]) -> Json:
    """A value with every text in it changed, keys apart."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Derived):
        return Derived(value.template, {name: replaced(each, change) for name, each in value.names.items()})
    if isinstance(value, Mapping):
        return {name: replaced(each, change) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [replaced(each, change) for each in value]
    return value


# Ends of attempts


def end_json(report: Done | Broke) -> dict[str, Any]:
    """The end of an attempt on its way to the server."""
    told: dict[str, Any] = {
        "unit": report.unit,
        "attempt": report.attempt,
        "cpu": report.usage.cpu,
        "memory": report.usage.memory,
    }
    if isinstance(report, Done):
        return told | {"results": {call: dict(outputs) for call, outputs in report.results.items()}}
    return told | {"cause": report.cause, "reason": report.reason, "call": report.call, "tail": report.tail}


def end_of(data: Any, machine: int) -> Done | Broke:
    """The end of an attempt on a machine, as its agent tells it; a `MalformedError` says what is wrong with it."""
    unit, attempt = _whole(data, "unit"), _whole(data, "attempt")
    usage = Usage(_number(data, "cpu"), _whole(data, "memory"))
    if "results" in data:
        results = _mapping(data, "results")
        if not all(isinstance(outputs, dict) for outputs in results.values()):
            raise MalformedError("results are not made of mappings")
        return Done(unit, attempt, machine, results, usage)
    cause = _text(data, "cause")
    if cause not in CAUSES:
        raise MalformedError(f"cause is {cause!r:.80}")
    reason, call, tail = (_text(data, name) for name in ("reason", "call", "tail"))
    return Broke(unit, attempt, machine, cause, reason[:_LONGEST], call[:_LONGEST], tail[-_TAIL:], usage)


# Fields


def _field(data: Any, name: str) -> Any:
    if not isinstance(data, dict) or name not in data:
        raise MalformedError(f"no {name} in {data!r:.80}")
    return data[name]


def _text(data: Any, name: str) -> str:
    found = _field(data, name)
    if not isinstance(found, str) or "\0" in found:
        raise MalformedError(f"{name} is {found!r:.80}")
    return found


def _named(data: Any, name: str) -> str:
    found = _text(data, name)
    if not is_name(found):
        raise MalformedError(f"{name} is {found!r:.80}")
    return found


def _whole(data: Any, name: str) -> int:
    found = _field(data, name)
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found <= _LARGEST:
        raise MalformedError(f"{name} is {found!r:.80}")
    return found


def _number(data: Any, name: str) -> float:
    found = _field(data, name)
    if not isinstance(found, int | float) or isinstance(found, bool) or not 0 <= found <= _LARGEST:
        raise MalformedError(f"{name} is {found!r:.80}")
    return float(found) if math.isfinite(found) else 0.0


def _list(data: Any, name: str) -> list[Any]:
    found = _field(data, name)
    if not isinstance(found, list):
        raise MalformedError(f"{name} is {found!r:.80}")
    return found


def _mapping(data: Any, name: str) -> dict[str, Any]:
    found = _field(data, name)
    if not isinstance(found, dict):
        raise MalformedError(f"{name} is {found!r:.80}")
    return found
