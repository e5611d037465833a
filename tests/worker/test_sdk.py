"""The iterator: alone, and against a service that forgets, refuses and takes back."""

import os
import signal
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import tradewind
from tradewind.worker.client import Backoff, CallError, Client, UnreachableError
from tradewind.worker.sdk import Iterations


def test_by_hand_all_iterations_come_once() -> None:
    with tradewind.iterations(total=10, chunk=4) as it:
        for chunk in it:
            it.deliver(list(chunk))
    assert it.results == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    with pytest.raises(ValueError, match="tradewind worker"):
        tradewind.iterations()


class Service:
    """Answers as it was told to."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.calls: list[tuple[str, Any]] = []

    def __call__(self, method: str, path: str, body: Any = None, **_: Any) -> Any:
        self.calls.append((path.rsplit("/", 1)[1], body))
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def partition(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Iterations, Service]]:
    def make(*answers: Any, **more: Any) -> tuple[Iterations, Service]:
        service = Service(*answers)
        monkeypatch.setattr(Client, "call", lambda _self, *given, **named: service(*given, **named))
        return Iterations(url="http://x/p", lease="l", **more), service

    return make


def told(next: str, *ranges: tuple[int, int], interval: float = 1e9) -> dict[str, Any]:
    return {"next": next, "ranges": list(ranges), "interval": interval, "deliveries": 0}


def test_results_go_with_the_next_report_and_finish_comes_last(partition: Any) -> None:
    it, service = partition(told("go", (5, 9)), told("end"), None, chunk=2)
    with it:
        for chunk in it:
            it.deliver(sum(chunk))
    assert [verb for verb, _ in service.calls] == ["start", "report", "finish"]
    report = service.calls[1][1]
    assert report["done"] == 4
    assert [(each["number"], each["ranges"], each["result"]) for each in report["deliveries"]] == [
        (1, [(5, 7)], 11),
        (2, [(7, 9)], 15),
    ]


def test_results_are_combined_if_that_is_possible(partition: Any) -> None:
    it, service = partition(told("go", (0, 6)), told("end"), None, chunk=2, combine=lambda one, other: one + other)
    with it:
        for chunk in it:
            it.deliver(sum(chunk))
    (delivery,) = service.calls[1][1]["deliveries"]
    assert (delivery["ranges"], delivery["result"]) == ([(0, 6)], 15)


def test_what_was_done_but_not_delivered_is_not_done_again(partition: Any) -> None:
    it, service = partition(
        told("go", (0, 4), interval=0.0), told("go", (0, 4)), told("end", (0, 4)), told("end"), chunk=2
    )
    with it:
        seen = list(it)
        it.deliver("all")
    assert seen == [range(2), range(2, 4)]
    assert service.calls[-2][1]["deliveries"][0]["ranges"] == [(0, 4)]


def test_iterations_that_were_taken_back_are_not_done(partition: Any) -> None:
    it, service = partition(told("go", (0, 100), interval=0.0), told("go", (0, 3)), told("end"), None, chunk=1)
    with it:
        done = []
        for chunk in it:
            it.deliver(1)
            done += list(chunk)
    assert done == [0, 1, 2]
    assert service.calls[-1][0] == "finish"


def test_a_lost_lease_ends_the_loop_quietly(partition: Any) -> None:
    it, service = partition(told("go", (0, 2)), CallError(409, "over", "/problems/stale"), chunk=2)
    with it:
        for chunk in it:
            it.deliver(len(chunk))
    assert it.is_lost
    assert [verb for verb, _ in service.calls] == ["start", "report"]


def test_an_error_is_told_and_what_it_did_not_finish_goes_back(partition: Any) -> None:
    it, service = partition(told("go", (0, 2)), None, chunk=2)

    def work() -> None:
        with it:
            for _ in it:
                raise ZeroDivisionError("oh")

    with pytest.raises(ZeroDivisionError):
        work()
    assert service.calls[-1] == ("finish", {"failure": "ZeroDivisionError: oh"})


def test_a_worker_that_ends_lets_the_present_chunk_be_delivered(partition: Any) -> None:
    it, service = partition(told("go", (0, 100)), told("go", (2, 100)), None, chunk=2)
    with it:
        for chunk in it:
            it.deliver(len(chunk))
            os.kill(os.getpid(), signal.SIGTERM)
    assert [verb for verb, _ in service.calls] == ["start", "report", "finish"]
    assert service.calls[1][1]["done"] == 2


def test_pauses_grow_with_jitter_and_start_again_when_it_went_well() -> None:
    backoff = Backoff(lambda: 0.5)
    assert [round(backoff.pause(), 1) for _ in range(10)] == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]
    backoff.reset()
    assert backoff.pause() == 0.2


def test_a_client_tries_again_until_somebody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[httpx.ConnectError | httpx.Response] = [
        httpx.ConnectError("down"),
        httpx.Response(503),
        httpx.Response(200, json={"a": 1}),
    ]

    def handle(_: httpx.Request) -> httpx.Response:
        answer = answers.pop(0)
        if isinstance(answer, httpx.ConnectError):
            raise answer
        return answer

    monkeypatch.setattr("tradewind.worker.client.time.sleep", lambda _: None)
    client = Client("http://x", "s", transport=httpx.MockTransport(handle))
    assert client.call("POST", "/y") == {"a": 1}
    answers += [httpx.Response(404, json={"detail": "no", "type": ""}), httpx.Response(502)]
    with pytest.raises(CallError) as refused:
        client.call("POST", "/y")
    assert refused.value.is_stale
    with pytest.raises(UnreachableError):
        client.call("POST", "/y", patience=0)
    client.close()
