"""Finding policies, and what is said when they are not found."""

from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from tradewind.policies import registry
from tradewind.policies.baseline.demand import OFFER
from tradewind.policies.protocol import Offer
from tradewind.policies.registry import PolicyError, build, describe, names, offer


def test_the_policies_of_this_package_are_installed() -> None:
    assert {"demand", "fixed", "pfa", "plf", "scf"} <= set(names())
    assert list(names()) == sorted(names())


@pytest.mark.parametrize("name", ["demand", "fixed", "pfa", "plf", "scf"])
def test_every_policy_can_be_built_and_describes_itself(name: str) -> None:
    assert build(name).name == name
    found = offer(name)
    assert found.name == name
    assert found.summary
    assert all(parameter[0] and parameter[3] for parameter in describe(found))


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("pfaa", {}, "no policy named 'pfaa'; did you mean 'pfa'?"),
        ("pfa", {"alhpa": 0.5}, "policy 'pfa' has no parameter 'alhpa'; did you mean 'alpha'?"),
        ("pfa", {"zzz": 1}, "policy 'pfa' has no parameter 'zzz'; it takes smoothing, m, alpha"),
        ("demand", {"zzz": 1}, "policy 'demand' has no parameter 'zzz'; it takes none"),
        ("pfa", {"m": "many"}, "policy 'pfa': m: Input should be a valid integer"),
        ("pfa", {"smoothing": "sma"}, "policy 'pfa': smoothing: Input should be 'ma' or 'ewma'"),
        ("pfa", {"alpha": 1.0}, "policy 'pfa': parameters: Value error, alpha must be at least 0 and below 1"),
        ("pfa", {"m": -1}, "policy 'pfa': parameters: Value error, m must not be negative"),
        ("fixed", {"machines": 0}, "policy 'fixed': parameters: Value error, machines must be at least 1"),
    ],
)
def test_errors_name_the_remedy(name: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError) as error:
        build(name, parameters)
    assert str(error.value).startswith(message)


def test_an_unlike_name_gets_a_list() -> None:
    with pytest.raises(PolicyError, match=r"no policy named 'zebra'; use one of .*demand, .*pfa"):
        offer("zebra")


def test_text_is_read_as_the_type_a_parameter_wants() -> None:
    policy: Any = build("pfa", {"m": "3", "alpha": "0.5", "smoothing": "ewma"})
    assert (policy.scaler._parameters.m, policy.scaler._parameters.alpha) == (3, 0.5)


@dataclass(frozen=True)
class Knobs:
    must: int
    may: float | None = field(default=None, metadata={"help": "perhaps"})


def test_parameters_are_described() -> None:
    found = Offer("x", "", Knobs, lambda _: build("demand"))
    assert describe(found) == [("must", "int", "", ""), ("may", "float | NoneType", "None", "perhaps")]
    assert describe(offer("pfa"))[0] == (
        "smoothing",
        "ma | ewma",
        "ma",
        "ma: moving average; ewma: exponentially weighted",
    )


def test_what_is_no_policy_is_not_taken_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("bad", "tradewind.policies.registry:GROUP", registry.GROUP)
    good = EntryPoint("good", "tradewind.policies.baseline.demand:OFFER", registry.GROUP)
    monkeypatch.setattr(registry, "_points", lambda: {"bad": point, "good": good})
    with pytest.raises(PolicyError, match=r"policy 'bad' \(tradewind.policies.registry:GROUP\) is not a"):
        offer("bad")
    assert offer("good") is OFFER
