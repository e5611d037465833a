"""Keys: a digest over all that a call depends on, kept in parts so that one can tell later which of them differed."""

import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

from tradewind.live.cache.digests import Digests
from tradewind.live.worker.shells import usual
from tradewind.model.action import Call, Container, Divisible, Function, Json, Shell, shell_words
from tradewind.model.values import show

_COMMON = 1_000
"""Steps of which the common parts are kept."""
_SHOWN = 100
"""Characters of a part that are kept for people."""


class Part(NamedTuple):
    """One part of a key."""

    digest: str
    shown: str
    """In a few words, for people."""


@dataclass(slots=True)
class Key:
    """All that a call depends on."""

    parts: dict[str, Part]
    files: list[str] = field(default_factory=list)
    """Paths among its inputs."""
    modified: int = 0
    """When the last of them was changed, in nanoseconds."""

    @property
    def text(self) -> str:
        """The key itself."""
        return _digest({name: part.digest for name, part in self.parts.items()})


class Keys:
    """Makes keys."""

    def __init__(self, digests: Digests, modules: Sequence[str]) -> None:
        self._digests = digests
        self._modules = modules
        self._files: dict[str, str] = {}
        """Where the modules of functions were found."""
        self._known: dict[tuple[int, int, int], tuple[Call, dict[str, Part]]] = {}
        """Parts that calls of one step have in common, by what they are made of, with a call that keeps that alive."""

    def of(self, call: Call, inputs: Mapping[str, Json]) -> Key:
        """The key of a call with its inputs as values."""
        action = call.action
        key = Key(dict(self._common(call)))
        if isinstance(action, Function):
            version = action.version
            key.parts["code"] = Part(version, version[:12]) if version else self._code(action.target)
        if isinstance(action, Divisible):
            if action.target:
                key.parts["code"] = self._code(action.target)
            if action.reducer == "python":
                key.parts["reducer"] = self._code(action.reduce)
        of_code = {"function"} if isinstance(action, Function) and action.version else ()
        for name in sorted(inputs.keys() - of_code):  # the version stands for a function that is passed along
            value = self._value(inputs[name], key)
            key.parts[f"inputs.{name}"] = _part(value, show(inputs[name]))
        return key

    def _common(self, call: Call) -> dict[str, Part]:
        """The parts that do not depend on inputs and files."""
        made_of = id(call.action), id(call.outputs), id(call.environment)
        known = self._known.get(made_of)
        if known is not None:
            return known[1]
        parts: dict[str, Part] = {}
        match call.action:
            case Shell(command):
                parts["command"] = _part(["shell", command], command)
                parts["shell"] = _shell(call.action.shell)
            case Container() as container:
                words = [container.command, *container.options, container.entrypoint]
                parts["command"] = _part(["container", *words], container.command)
                parts["shell"] = _shell(container.shell)
                parts["image"] = _part(container.image, container.image)
            case Divisible() as job:
                words = [job.iterations, job.command, job.target, job.reducer, job.reduce]
                parts["command"] = _part(["divisible", *words], job.command or job.target)
                parts["shell"] = _shell(job.shell)
            case Function(target):
                parts["command"] = _part(["function", target], target)
        for name in sorted(call.environment):
            parts[f"env.{name}"] = _part(call.environment[name], call.environment[name])
        outputs = {name: [each.path, each.many, each.value, each.optional] for name, each in call.outputs.items()}
        parts["outputs"] = _part(outputs, ", ".join(sorted(outputs)))
        if len(self._known) >= _COMMON:
            self._known.clear()
        self._known[made_of] = call, parts
        return parts

    def _value(self, value: Json, key: Key) -> Json:
        """A value with what is in files instead of their paths."""
        if isinstance(value, str) and value.startswith("/"):
            found = self._digests.of(value)
            if found is None:
                return value
            key.files.append(value)
            key.modified = max(key.modified, found.modified)
            return {"": "file", "name": value.rpartition("/")[2], "is": found.text}
        if isinstance(value, list | tuple):
            return [self._value(item, key) for item in value]
        if isinstance(value, Mapping):
            return {str(name): self._value(item, key) for name, item in value.items()}
        return value

    def _code(self, target: str) -> Part:
        """The module of a function, as it stands in its file."""
        module, _, name = target.partition(":")
        known = self._files.get(module)
        for file in (known,) if known is not None else self._candidates(module):
            if digest := self._digests.text(file):
                self._files[module] = file
                return Part(digest, f"{name} in {file}")
        return Part("", f"{name} in {module}")

    def _candidates(self, module: str) -> Iterator[str]:
        path = module.replace(".", "/")
        for folder in (*self._modules, *sys.path):
            yield f"{folder}/{path}.py"
            yield f"{folder}/{path}/__init__.py"


def _shell(named: str) -> Part:
    """The shell that runs a command here, with its options."""
    shown = " ".join(shell_words(named) or usual())
    return _part(shown, shown)


def _part(value: Json, shown: str) -> Part:
    flat = " ".join(shown.split())
    return Part(_digest(value), flat if len(flat) <= _SHOWN else f"{flat[: _SHOWN - 1]}…")


def _digest(value: Json) -> str:
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(text, digest_size=20).hexdigest()
