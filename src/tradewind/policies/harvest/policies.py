"""The policies for capacity that shrinks and vanishes, each a placer with the same choice of scalers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from tradewind.model.units import parse_duration
from tradewind.model.workflow import Checkpoint
from tradewind.policies.harvest.acquiring import Acquirer, Targets
from tradewind.policies.harvest.capacity import AnyMachine
from tradewind.policies.harvest.heartbeat import Heartbeats
from tradewind.policies.harvest.matching import MatchMaker, Settings
from tradewind.policies.harvest.oracle import Oracle
from tradewind.policies.harvest.predictor import Predictor
from tradewind.policies.harvest.replicate import Replicas
from tradewind.policies.protocol import Offer, Placer, Policy

UTILISATION = (0.6, 0.8)
FIXED, BY_USE = "fixed", "utilisation"


def _help(default: Any, text: str) -> Any:
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True, slots=True)
class Holding:
    """Which machines are held, and what happens on a shrink."""

    machines: int = _help(64, "number of machines to hold, or to start with")
    scaling: str = _help(FIXED, "`fixed`, `utilisation` (60 to 80 % of the cores), or the name of another policy")
    acquire: bool = _help(default=False, text="whether the most recently changed machines are traded for others")
    epoch: str = _help("1h", "how often machines are traded, and the use of cores is checked")
    replaced: float = _help(0.1, "fraction of the machines that is traded each epoch")
    kill: Literal["newest", "oldest"] = _help("newest", "which attempts are killed first on a machine that shrinks")

    def __post_init__(self) -> None:
        if self.machines < 1:
            raise ValueError("machines must be at least 1")
        if not 0 < self.replaced <= 1:
            raise ValueError("replaced must be greater than 0 and at most 1")
        if parse_duration(self.epoch) <= 0:
            raise ValueError("epoch must be greater than zero")


@dataclass(frozen=True, slots=True)
class Plain(Holding):
    """Plain placement."""

    seed: int = _help(0, "seed for the random order of machines")


@dataclass(frozen=True, slots=True)
class Checkpointed(Plain):
    """Plain placement of tasks that save their progress."""

    interval: str = _help("10m", "run time between two checkpoints")
    cost: str = _help("1m", "time that each checkpoint takes")


@dataclass(frozen=True, slots=True)
class Replicated(Plain):
    """Plain placement of several attempts of each task."""

    replicas: int = _help(3, "number of concurrent attempts of a task, each on another machine")

    def __post_init__(self) -> None:
        Plain.__post_init__(self)
        if self.replicas < 1:
            raise ValueError("replicas must be at least 1")


@dataclass(frozen=True, slots=True)
class Foreseen(Holding):
    """Placement with knowledge of the future."""

    strict: bool = _help(default=False, text="whether it waits for machines that do not shrink at all, as in the paper")


@dataclass(frozen=True, slots=True)
class Predicted(Holding):
    """Placement by prediction."""

    form: Literal["first", "several", "shrink"] = _help(
        "shrink", "changes that count: `first` (equation 1), `several`, or `shrink` (equation 3)"
    )
    naive: bool = _help(default=False, text="whether to ignore machines that have not changed yet, as in the paper")
    window: str = _help("1d", "how long changes are remembered; at least three times the longest task")
    kills: Literal["learnt", "all"] = _help("learnt", "tasks killed by a shrink: the observed fraction, or all (paper)")


@dataclass(frozen=True, slots=True)
class Patient(Predicted):
    """Placement by prediction, where tasks may wait."""

    gain: float = _help(0.3, "how much waiting must pay off, as a fraction")
    max_wait: str = _help("1h", "maximum wait of a task while there is room for it")
    literal: bool = _help(default=False, text="whether several tasks may wait for the same slot, as in the paper")


@dataclass(frozen=True, slots=True)
class Beating(Patient):
    """Placement on the machines that report."""

    threshold: float = _help(0.7, "probability of finishing that a task needs on the machine that reports")


def _policy(
    name: str,
    parameters: Holding,
    placer: Placer,
    *,
    checkpoint: Checkpoint | None = None,
    memory: Predictor | None = None,
) -> Policy:
    other = None
    if parameters.scaling not in (FIXED, BY_USE):
        from tradewind.policies.registry import build  # noqa: PLC0415  # the registry loads this module

        other = build(parameters.scaling).scaler
    targets = Targets(
        machines=parameters.machines,
        bounds=UTILISATION if parameters.scaling == BY_USE else None,
        epoch=parse_duration(parameters.epoch),
        replaced=parameters.replaced if parameters.acquire else 0.0,
    )
    return Policy(name, Acquirer(targets, other), placer, kill=parameters.kill, checkpoint=checkpoint, memory=memory)


def _predictor(parameters: Predicted) -> Predictor:
    return Predictor(
        parse_duration(parameters.window),
        form=parameters.form,
        is_naive=parameters.naive,
        learns_kills=parameters.kills == "learnt",
    )


def _settings(parameters: Patient) -> Settings:
    return Settings(
        literal=parameters.literal,
        gain=0.0 if parameters.literal else parameters.gain,
        max_wait=parse_duration(parameters.max_wait),
    )


def _slacksched(parameters: Patient) -> Policy:
    predictor = _predictor(parameters)
    return _policy("slacksched", parameters, MatchMaker(predictor, _settings(parameters)), memory=predictor)


def _nodelay(parameters: Predicted) -> Policy:
    predictor = _predictor(parameters)
    return _policy("slacksched-nodelay", parameters, MatchMaker(predictor, Settings(delay=False)), memory=predictor)


def _heartbeat(parameters: Beating) -> Policy:
    predictor = _predictor(parameters)
    placer = Heartbeats(predictor, _settings(parameters), parameters.threshold)
    return _policy("slacksched-heartbeat", parameters, placer, memory=predictor)


def _plain(name: str, parameters: Plain) -> Policy:
    return _policy(name, parameters, AnyMachine(parameters.seed))


def _checkpoint(parameters: Checkpointed) -> Policy:
    checkpoint = Checkpoint(parse_duration(parameters.interval), parse_duration(parameters.cost))
    return _policy("checkpoint", parameters, AnyMachine(parameters.seed), checkpoint=checkpoint)


def _replicate(parameters: Replicated) -> Policy:
    return _policy("replicate", parameters, Replicas(parameters.replicas, parameters.seed))


def _offer(name: str, summary: str, parameters: type[Any], build: Callable[[Any], Policy]) -> Offer:
    return Offer(name=name, summary=summary, parameters=parameters, build=build)


SLACKSCHED = _offer(
    "slacksched",
    "on shrinking machines: where a task is expected to finish first, waiting if that pays off",
    Patient,
    _slacksched,
)
NODELAY = _offer(
    "slacksched-nodelay",
    "on shrinking machines: where a task is most likely to finish, without waiting",
    Predicted,
    _nodelay,
)
HEARTBEAT = _offer(
    "slacksched-heartbeat",
    "on shrinking machines: each that reports gets a task it will probably finish",
    Beating,
    _heartbeat,
)
CAPACITY = _offer("capacity", "on shrinking machines: any machine with room", Plain, partial(_plain, "capacity"))
CHECKPOINT = _offer("checkpoint", "any machine with room, and tasks save their progress", Checkpointed, _checkpoint)
REPLICATE = _offer(
    "replicate",
    "several concurrent attempts of each task on machines with room: the first to finish counts",
    Replicated,
    _replicate,
)
ORACLE = _offer(
    "oracle",
    "on shrinking machines: where a task will not be preempted (simulation only)",
    Foreseen,
    lambda parameters: _policy("oracle", parameters, Oracle(is_strict=parameters.strict)),
)
