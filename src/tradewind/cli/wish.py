"""The request of a `tradewind run` command, parsed without the command-line library.

The library takes longer to load than everything else a run needs. Ambiguous command lines are not parsed here: they go
to the library, which reports errors and shows the help.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tradewind.model.errors import TradewindError

_FLAGS = {
    "--resume": "resume",
    "--dry-run": "dry_run",
    "--keep-going": "keep_going",
    "--json": "json",
    "--replay": "replay",
    "--no-cache": "no_cache",
    "--burn": "burn",
}
_TEXTS = {
    "-p": "parameter",
    "--param": "parameter",
    "-P": "policy_parameter",
    "--policy": "policy",
    "--placer": "placer",
    "--balancer": "balancer",
    "--budget": "budget",
    "--interval": "interval",
    "--deadline": "deadline",
    "--store": "store",
}
_PATHS = {
    "--params-file": "params_file",
    "--machines": "machines",
    "--folder": "folder",
    "--events": "events",
    "--services": "services",
}
_SPEED, _SLOWEST = "--speed", 0.001
_LISTS = {"parameter", "policy_parameter", "services"}
COMPLETION = "_TRADEWIND_COMPLETE"
"""Set when a shell asks for completions."""


class UsageError(TradewindError):
    """Conflicting options."""


class Wish(NamedTuple):
    """A user's request."""

    file: Path | None = None
    parameters: Sequence[str] = ()
    params_file: Path | None = None
    machines: Path | None = None
    policy: str | None = None
    placer: str | None = None
    balancer: str | None = None
    policy_parameters: Sequence[str] = ()
    budget: str | None = None
    interval: str | None = None
    folder: Path = Path(".tradewind")
    dry_run: bool = False
    keep_going: bool = False
    json: bool = False
    events: Path | None = None
    services: tuple[Path, ...] = ()
    """Service and macro files of a Steep workflow."""
    replay: float | None = None
    """Speed-up of a replay; None: run the workflow's own commands."""
    burns: bool = False
    retry: str = ""
    """Retry the failed tasks of this run."""
    uses_cache: bool = True
    deadline: str | None = None
    """Maximum response time; overrides the workflow's deadline."""
    store: str | None = None
    """Address of the store, if it is not in the folder."""


def wished(
    *,
    file: Path | None = None,
    parameter: Sequence[str] | None = None,
    params_file: Path | None = None,
    machines: Path | None = None,
    policy: str | None = None,
    placer: str | None = None,
    balancer: str | None = None,
    policy_parameter: Sequence[str] | None = None,
    budget: str | None = None,
    interval: str | None = None,
    folder: Path = Path(".tradewind"),
    resume: bool = False,
    dry_run: bool = False,
    keep_going: bool = False,
    json: bool = False,
    events: Path | None = None,
    services: Sequence[Path] | None = None,
    more: Sequence[Path] | None = None,
    replay: bool = False,
    speed: float = 1.0,
    no_cache: bool = False,
    burn: bool = False,
    deadline: str | None = None,
    store: str | None = None,
) -> Wish:
    """Return the request that the options of `run` describe together."""
    if (file is None) != resume:
        raise UsageError("give a workflow, or --resume")
    if more and not services:  # the shell expanded a glob after --services into several words
        raise UsageError(f"give one workflow at a time; unexpected argument {more[0]}")
    if resume:
        given: dict[str, object] = {
            "-p": parameter,
            "--params-file": params_file,
            "--deadline": deadline,
            "--services": services,
        }
        given |= {"--replay": replay, "--keep-going": keep_going, "--no-cache": no_cache, "--dry-run": dry_run}
        if strange := next((name for name, value in given.items() if value), None):
            raise UsageError(f"{strange} is for a new run; --resume continues as the run was started")
    if (burn or speed != 1) and not replay:
        raise UsageError("--speed and --burn need --replay")
    return Wish(
        file=file,
        parameters=parameter or (),
        params_file=params_file,
        machines=machines,
        policy=policy,
        placer=placer,
        balancer=balancer,
        policy_parameters=policy_parameter or (),
        budget=budget,
        interval=interval,
        folder=folder,
        dry_run=dry_run,
        keep_going=keep_going,
        json=json,
        events=events,
        services=(*(services or ()), *(more or ())),
        replay=speed if replay else None,
        burns=burn,
        uses_cache=not no_cache,
        deadline=deadline,
        store=store,
    )


def read(words: Sequence[str]) -> Wish | None:
    """Parse a plain command line; return None if it is another command or ambiguous."""
    if words[:1] != ["run"] or COMPLETION in os.environ:
        return None
    options = _options(words[1:])
    try:
        return None if options is None else wished(**options)
    except UsageError:
        return None


def _options(words: Sequence[str]) -> dict[str, Any] | None:
    found: dict[str, Any] = {}
    files: list[Path] = []
    rest = iter(words)
    for word in rest:
        if word and not word.startswith("-"):
            files.append(Path(word))
        elif word in _FLAGS:
            found[_FLAGS[word]] = True
        else:
            option, equals, text = word.partition("=")
            is_long = option.startswith("--")
            if (equals and not is_long) or not _take(found, option, text if equals else next(rest, "")):
                return None
    return found | {"file": files[0] if files else None, "more": files[1:]}


def _take(found: dict[str, Any], option: str, text: str) -> bool:
    """Store the value of an option; return whether it is unambiguous."""
    if not text or text.startswith("-"):
        return False
    value: str | Path | float | None = text
    name = "speed" if option == _SPEED else _TEXTS.get(option) or _PATHS.get(option)
    if option == _SPEED:
        value = _factor(text)
    elif option in _PATHS:
        value = Path(text)
    if name is None or value is None or (name in found and name not in _LISTS):
        return False
    found[name] = [*found.get(name, ()), value] if name in _LISTS else value
    return True


def _factor(text: str) -> float | None:
    is_plain = text.isascii() and text.replace(".", "", 1).isdecimal()
    return float(text) if is_plain and float(text) >= _SLOWEST else None
