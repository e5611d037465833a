"""The state of a generator as plain JSON, and back.

Only what cannot be worked out again is kept: which steps ended and with what outputs, which chains are open, and for
loops the items that are on their way. What each step still waits for is counted anew.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tradewind.core.chains.frame import (
    BROKEN,
    DONE,
    ENDED,
    OPEN,
    PASSING,
    SKIPPED,
    UNFOLDED,
    WAITING,
    Fault,
    Frame,
    Opened,
    Unfolded,
    opened,
    wait_outside,
)
from tradewind.core.chains.plan import Body
from tradewind.model.action import Json
from tradewind.model.expression import Outputs

VERSION = 1

_WORDS = {OPEN: "open", PASSING: "passing", DONE: "done", SKIPPED: "skipped", BROKEN: "broken", UNFOLDED: "unfolded"}
_STATES = {word: state for state, word in _WORDS.items()}


def save(
    root: Frame, chains: Mapping[str, Sequence[int]], faults: Sequence[Fault], outputs: Outputs | None
) -> dict[str, Json]:
    """Everything about a run but its program."""
    return {
        "version": VERSION,
        "root": _save_frame(root, {chain: list(members) for chain, members in chains.items()}),
        "faults": [list(fault) for fault in faults],
        "outputs": None if outputs is None else dict(outputs),
    }


def load(body: Body, saved: Json) -> tuple[Frame, dict[str, Opened]]:
    """The program's frame, and the open chains."""
    if saved.get("version") != VERSION:
        raise ValueError(f"state of version {saved.get('version')!r}; this release reads version {VERSION}")
    chains: dict[str, Opened] = {}
    frames: list[Frame] = []
    root = _load_frame(Frame(Unfolded(body), dict(saved["root"]["variables"])), saved["root"], chains, frames)
    for frame in frames:  # only now, when all states are known
        _count_waits(frame)
    return root, chains


def _save_frame(frame: Frame, chains: Mapping[str, list[int]]) -> dict[str, Json]:
    steps: dict[str, Json] = {}
    members: dict[str, list[str]] = {}
    for part in frame.body.parts:
        state = frame.states[part.at]
        if state == WAITING:
            continue
        entry: dict[str, Json] = {"is": _WORDS[state]}
        if state == DONE:
            entry["outputs"] = dict(frame.progress.values[part.at])
        elif state == UNFOLDED or (state == BROKEN and part.at in frame.progress.unfolded):
            entry |= _save_unfolded(frame.progress.unfolded[part.at], chains)
        elif state == OPEN and (chain := frame.call_id(part.at)) in chains:
            members[chain] = [frame.body.parts[at].step.id for at in chains[chain]]
        steps[part.step.id] = entry
    saved: dict[str, Json] = {"variables": frame.variables(), "steps": steps}
    if members:
        saved["chains"] = members
    return saved


def _save_unfolded(unfolded: Unfolded, chains: Mapping[str, list[int]]) -> dict[str, Json]:
    return {
        "count": unfolded.count,
        "gave": [[list(path), dict(outputs)] for path, outputs in unfolded.gave.items()],
        "frames": [[list(frame.path), _save_frame(frame, chains)] for frame in unfolded.frames()],
    }


def _load_frame(frame: Frame, saved: Json, chains: dict[str, Opened], frames: list[Frame]) -> Frame:
    frames.append(frame)
    places = frame.body.places
    for name, entry in saved["steps"].items():
        at = places[name]
        frame.mark(at, _STATES[entry["is"]])
        if "outputs" in entry:
            frame.progress.values[at] = Outputs(entry["outputs"])
        if "frames" in entry:
            frame.progress.unfolded[at] = _load_unfolded(frame, at, entry, chains, frames)
    for chain, members in saved.get("chains", {}).items():
        chains[chain] = opened(frame, [places[member] for member in members])
    return frame


def _load_unfolded(frame: Frame, at: int, entry: Any, chains: Any, frames: list[Frame]) -> Unfolded:
    body = frame.part(at).body
    if body is None:
        raise ValueError(f"the step {frame.call_id(at)!r} has no body; was the program changed?")
    unfolded = Unfolded(body, frame, at)
    unfolded.count = entry["count"]
    unfolded.gave = {tuple(path): Outputs(outputs) for path, outputs in entry["gave"]}
    loop = unfolded.loop
    for path, inner in entry["frames"]:
        variables = inner["variables"]
        given = dict(variables) if loop is None else variables[loop.variable]
        entered = unfolded.enter(given, path[0] if len(path) == 1 else tuple(path))
        _load_frame(entered, inner, chains, frames)
    return unfolded


def _count_waits(frame: Frame) -> None:
    for part in frame.body.parts:
        if ENDED[frame.states[part.at]]:
            frame.progress.left -= 1
            for child in part.children:
                frame.progress.waits[child] -= 1
    wait_outside(frame)
