"""Options of tasks and workflows: each works, or is refused."""

import socket
from pathlib import Path
from typing import Any

import pytest
from api_tasks import square, sum_of_squares

from tradewind import task
from tradewind.client.errors import UnreachableError
from tradewind.model.action import Limits
from tradewind.model.units import SECOND
from tradewind.policies.registry import PolicyError


@pytest.mark.parametrize("verb", ["run", "start", "submit"])
def test_a_server_that_is_not_there_is_told_at_once(verb: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(UnreachableError, match=url):
        getattr(sum_of_squares.using(server=url), verb)(3)


@pytest.mark.parametrize(
    "place",
    [{"machines": "m.yaml"}, {"policy": "pfa"}, {"policy_parameters": {"m": 3}}, {"budget": 2}, {"interval": "1m"}],
    ids=str,
)
def test_what_a_server_decides_is_refused(place: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="cannot be set for a server"):
        sum_of_squares.using(server="http://127.0.0.1:1", **place)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"retries": -1}, "retries must be a non-negative integer, not -1"),
        ({"retries": 1.5}, "retries must be a non-negative integer, not 1.5"),
        ({"retries": True}, "retries must be"),
        ({"retry_delay": "5s"}, "retry_delay has no effect without retries"),
        ({"retries": 1, "retry_delay": -1}, "retry_delay: -1 is negative"),
        ({"cpus": -1}, "cpus must be"),
        ({"gpus": 0.5}, "gpus must be"),
        ({"amounts": {"licences": -2}}, "licences must be"),
        ({"memory": "much"}, "memory: "),
        ({"timeout": 0}, "timeout must be greater than zero"),
        ({"silence": "0s"}, "silence must be greater than zero"),
        ({"timeout": True}, "timeout: "),
        ({"runtime": -3}, "runtime: -3 is negative"),
        ({"capabilities": "gpu"}, "capabilities must be a list of words"),
        ({"env": {"N": 3}}, "env: N must be text, not 3"),
        ({"cache": "no"}, "cache must be True or False, not 'no'"),
        ({"checkpoint": 1}, "checkpoint must be True or False"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], told: str) -> None:
    for give in (task, square.options):
        with pytest.raises(ValueError, match=f"^{told}"):
            give(**options)


def test_options_that_are_changed_leave_the_others_as_they_were() -> None:
    changed = square.options(timeout=5, retries=2).options(silence=3, retry_delay=1)
    assert changed.settings.limits == Limits(5 * SECOND, 3 * SECOND)
    assert (changed.settings.retries.error.attempts, changed.settings.retries.error.delay) == (3, SECOND)


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ({"server": "http://127.0.0.1:1", "profile": "team"}, "give server or profile, not both"),
        ({"interval": 0}, "interval must be above zero, not 0"),
        ({"priority": "high"}, "priority must be a whole number, not 'high'"),
    ],
)
def test_places_that_make_no_sense_are_refused(place: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        sum_of_squares.using(**place)


def test_parameters_are_those_of_the_policy_that_is_used(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="policy 'fixed' has no parameter 'bogus'"):
        sum_of_squares.using(folder=tmp_path, policy_parameters={"bogus": 1}).run(3)
