"""The frontend of a site against a service that answers as it was told to: hints, hooks, lost networks, refusals."""

import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tradewind.model.errors import TradewindError
from tradewind.worker import frontend as module
from tradewind.worker.client import Backoff, CallError, UnreachableError
from tradewind.worker.frontend import Frontend, Plan, run_worker

SLEEP = (sys.executable, "-c", "import time; time.sleep(60)")


class Service:
    """Hints as it likes, hands out partitions, and can be out of reach."""

    def __init__(self) -> None:
        self.hint = 1
        self.partitions = 0
        self.is_away = False
        self.refuses: CallError | None = None
        self.is_forgetful = False
        self.calls: list[tuple[str, str, Any]] = []

    def once(self, method: str, path: str, body: Any = None, secret: str | None = None) -> Any:
        self.calls.append((method, path, body))
        if self.is_away:
            raise UnreachableError(f"{path}: nobody there")
        if self.refuses is not None:
            raise self.refuses
        if path.endswith("/site"):
            return {"site": "a"}
        told = {"update_every": 0.0, "poll_every": 0.0, "hint": self.hint, "partitions": []}
        if path.endswith("/fetch"):
            if self.is_forgetful:
                self.is_forgetful = False
                raise CallError(404, "no site 'a' is known")
            told["partitions"] = [_partition(len(self.calls), place) for place in range(self.partitions)]
            self.partitions = 0
        return told

    def close(self) -> None:
        """Nothing is open."""

    def sent(self, end: str) -> list[Any]:
        return [body for _, path, body in self.calls if path.endswith(end)]


def _partition(number: int, place: int) -> dict[str, Any]:
    names = {"job": "j", "partition": 100 * number + place, "lease": "l", "path": f"/p/{number}/{place}"}
    return {**names, "command": list(SLEEP), "iterations": 1, "input": None}


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def site(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Frontend]:
    monkeypatch.setattr(module, "Client", lambda *_: service)
    monkeypatch.setattr(Backoff, "pause", lambda _: 0.0)

    def make(**more: Any) -> Frontend:
        return Frontend(replace(Plan("http://x", "t", 1, 4, tmp_path / "work"), **more), lambda _: None)

    return make


def test_slots_follow_the_hint_between_one_and_the_most(service: Service, site: Callable[..., Frontend]) -> None:
    here = site()
    for hint, slots in ((3, 3), (9, 4), (0, 1), (2, 2)):
        service.hint = hint
        here.step()
        here.step()
        assert here.wanted == slots
        assert service.sent("/sites/a")[-1] == {"slots": slots, "max_slots": 4}
        assert service.sent("/fetch")[-1]["slots"] == slots


def test_slots_at_work_are_not_given_up(service: Service, site: Callable[..., Frontend]) -> None:
    here = site(grace=0.0)
    service.hint = service.partitions = 3
    here.step()
    here.step()
    service.hint = 0
    here.step()
    assert here.wanted == 3
    here.drain()
    here.run()
    assert len(service.sent("/finish")) == 3, "what is stopped is handed back"
    assert all(body == {"failure": ""} for body in service.sent("/finish"))
    assert service.calls[-1][:2] == ("DELETE", "/worker/v1/sites/a")


def test_a_hook_hears_of_every_change_one_at_a_time(
    service: Service, site: Callable[..., Frontend], tmp_path: Path
) -> None:
    hook, gate = tmp_path / "hook", tmp_path / "gate"
    hook.write_text(
        f'#!/bin/sh\nwhile [ ! -e {gate} ]; do sleep 0.01; done\necho "$1 $TRADEWIND_SLOTS" >> {tmp_path}/told\n'
    )
    hook.chmod(0o755)
    here = site(hook=str(hook))
    for hint in (2, 3, 4):  # the first one keeps the hook busy, and only the last one still counts then
        service.hint = hint
        here.step()
        here.step()
    gate.touch()
    until = time.monotonic() + 30
    while not (tmp_path / "told").exists() or len((tmp_path / "told").read_text().splitlines()) < 2:
        here.step()
        assert time.monotonic() < until
        time.sleep(0.01)
    assert (tmp_path / "told").read_text().splitlines() == ["2 2", "4 4"]
    assert here._hook is not None
    assert here._hook.wait(30) == 0


def test_a_hook_that_cannot_be_run_stops_nobody(service: Service, site: Callable[..., Frontend]) -> None:
    here = site(hook="/nowhere/at/all")
    service.hint = 2
    for _ in range(3):
        here.step()
    assert here.wanted == 2


def test_a_fetch_without_an_answer_is_sent_again_under_the_same_key(
    service: Service, site: Callable[..., Frontend]
) -> None:
    here = site()
    here.step()
    service.is_away = True
    for _ in range(3):
        here.step()
    service.is_away = False
    here.step()
    keys = [body["key"] for body in service.sent("/fetch")]
    here.step()
    assert len(keys) == 5
    assert len(set(keys)) == 2, "the first one was answered, and all others are one request"
    assert service.sent("/fetch")[-1]["key"] not in keys


def test_a_site_that_was_forgotten_registers_again(service: Service, site: Callable[..., Frontend]) -> None:
    here = site()
    here.step()
    service.is_forgetful = True
    here.step()
    before = len(service.sent("/sites/a"))
    here.step()
    assert len(service.sent("/sites/a")) == before + 1


def test_ends_are_told_when_the_network_is_back(service: Service, site: Callable[..., Frontend]) -> None:
    here = site(command=(sys.executable, "-c", "pass"))
    service.partitions = 1
    here.step()
    service.is_away = True
    until = time.monotonic() + 30
    while not service.sent("/finish"):
        here.step()
        assert time.monotonic() < until
        time.sleep(0.01)
    tried = len(service.sent("/finish"))
    service.is_away = False
    here.step()
    here.step()
    assert len(service.sent("/finish")) == tried + 1, "once more, and then no more"


def test_a_worker_whose_token_is_taken_away_ends_and_says_so(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "Client", lambda *_: service)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    service.refuses = CallError(401, "the token is not known")
    plan = Plan("http://x", "t", 1, 1, tmp_path)
    with pytest.raises(TradewindError, match=r"token is not known.*new token"):
        run_worker(plan, lambda _: None)
