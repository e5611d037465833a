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
    Unfolded,
    enter,
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


def load(body: Body, saved: Json) -> tuple[Frame, dict[str, tuple[Frame, tuple[int, ...]]]]:
    """The program's frame, and the open chains with the frames they are in."""
    if saved.get("version") != VERSION:
        raise ValueError(f"state of version {saved.get('version')!r}; this release reads version {VERSION}")
    chains: dict[str, tuple[Frame, tuple[int, ...]]] = {}
    frames: list[Frame] = []
    root = _load_frame(Frame(body, None, 0, dict(saved["root"]["variables"])), saved["root"], chains, frames)
    for frame in frames:  # only now, when all states are known
        _count_waits(frame)
    return root, chains


def _save_frame(frame: Frame, chains: Mapping[str, list[int]]) -> dict[str, Json]:
    steps: dict[str, Json] = {}
    opened: dict[str, list[str]] = {}
    for part in frame.body.parts:
        state = frame.states[part.at]
        if state == WAITING:
            continue
        entry: dict[str, Json] = {"is": _WORDS[state]}
        if state == DONE:
            entry["outputs"] = dict(frame.values[part.at])
        elif state == UNFOLDED or (state == BROKEN and part.at in frame.unfolded):
            entry |= _save_unfolded(frame.unfolded[part.at], chains)
        elif state == OPEN and (chain := frame.call_id(part.at)) in chains:
            opened[chain] = [frame.body.parts[at].step.id for at in chains[chain]]
        steps[part.step.id] = entry
    saved: dict[str, Json] = {"variables": frame.variables, "steps": steps}
    if opened:
        saved["chains"] = opened
    return saved


def _save_unfolded(unfolded: Unfolded, chains: Mapping[str, list[int]]) -> dict[str, Json]:
    return {
        "count": unfolded.count,
        "gave": [[list(path), dict(outputs)] for path, outputs in unfolded.gave.items()],
        "frames": [[list(path), _save_frame(frame, chains)] for path, frame in unfolded.frames.items()],
    }


def _load_frame(
    frame: Frame, saved: Json, chains: dict[str, tuple[Frame, tuple[int, ...]]], frames: list[Frame]
) -> Frame:
    frames.append(frame)
    places = frame.body.places
    for name, entry in saved["steps"].items():
        at = places[name]
        frame.states[at] = _STATES[entry["is"]]
        if "outputs" in entry:
            frame.values[at] = Outputs(entry["outputs"])
        if "frames" in entry:
            frame.unfolded[at] = _load_unfolded(frame, at, entry, chains, frames)
    for chain, members in saved.get("chains", {}).items():
        chains[chain] = (frame, tuple(places[member] for member in members))
    return frame


def _load_unfolded(frame: Frame, at: int, entry: Any, chains: Any, frames: list[Frame]) -> Unfolded:
    unfolded = Unfolded()
    unfolded.count = entry["count"]
    unfolded.gave = {tuple(path): Outputs(outputs) for path, outputs in entry["gave"]}
    body = frame.part(at).body
    if body is None:
        raise ValueError(f"the step {frame.call_id(at)!r} has no body; was the program changed?")
    for path, inner in entry["frames"]:
        entered = enter(body, frame, at, dict(inner["variables"]), tuple(path))
        unfolded.frames[entered.path] = _load_frame(entered, inner, chains, frames)
    return unfolded


def _count_waits(frame: Frame) -> None:
    frame.left = sum(not ENDED[state] for state in frame.states)
    for part in frame.body.parts:
        if ENDED[frame.states[part.at]]:
            for child in part.children:
                frame.waits[child] -= 1
    wait_outside(frame)
