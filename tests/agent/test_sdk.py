"""The iterator: alone, and against a service that forgets, refuses and takes back."""

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tradewind
from tradewind.agent.calls import CallError, Client, UnreachableError
from tradewind.agent.sdk import Iterations
from tradewind.model.backoff import Backoff
from tradewind.model.units import SECOND, in_seconds


def test_by_hand_all_iterations_come_once() -> None:
    with tradewind.iterations(total=10, chunk=4) as it:
        for chunk in it:
            it.deliver(list(chunk))
    assert it.results == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    with pytest.raises(ValueError, match="tradewind submit --iterations"):
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
        return answer() if callable(answer) else answer


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


def test_a_program_goes_on_while_its_report_is_on_its_way(partition: Any) -> None:
    is_further = threading.Event()

    def late() -> dict[str, Any]:
        assert is_further.wait(30), "the program waits for the answer"
        return told("go", (2, 6))

    done: list[range] = []
    it, service = partition(
        told("go", (0, 6), interval=1.0), late, told("end"), chunk=2, clock=lambda: float(len(done))
    )
    with it:
        for chunk in it:
            done.append(chunk)
            it.deliver(chunk.start)
            if chunk.start == 2:
                is_further.set()
    assert done == [range(2), range(2, 4), range(4, 6)], "each once, also those that the answer still counts as held"
    first, second = (body for verb, body in service.calls if verb == "report")
    assert (first["done"], first["ahead"], [each["number"] for each in first["deliveries"]]) == (2, 2, [1])
    assert (second["done"], [each["number"] for each in second["deliveries"]]) == (6, [2, 3])


def test_meanwhile_it_does_no_more_than_it_said(partition: Any) -> None:
    done: list[range] = []
    seen: list[list[range]] = []

    def late() -> dict[str, Any]:
        while len(done) < 2:
            time.sleep(0.001)
        seen.append(list(done))
        return told("end", (2, 4))

    start = told("go", (0, 100), interval=1.0)
    it, service = partition(start, late, told("end"), None, chunk=2, clock=lambda: float(len(done)))
    with it:
        for chunk in it:
            done.append(chunk)
            it.deliver(0)
    assert [verb for verb, _ in service.calls] == ["start", "report", "report", "finish"]
    assert service.calls[1][1]["ahead"] == 2
    assert seen == [done] == [[range(2), range(2, 4)]], "what it holds beyond that may have been taken back"
    assert service.calls[2][1]["deliveries"][0]["ranges"] == [(2, 4)]


def test_a_report_has_no_more_deliveries_than_the_service_takes(partition: Any) -> None:
    goes = [told("go", (done, 200)) for done in (60, 120, 180)]
    it, service = partition(told("go", (0, 200)), *goes, told("end"), chunk=1)
    with it:
        for chunk in it:
            it.deliver(chunk.start)
    reports = [body["deliveries"] for verb, body in service.calls if verb == "report"]
    assert all(0 < len(deliveries) <= 60 for deliveries in reports)
    assert [each["result"] for deliveries in reports for each in deliveries] == list(range(200))


def test_time_that_calls_take_is_no_time_of_work(partition: Any) -> None:
    now = 0.0

    def after(seconds: float, answer: Any) -> Callable[[], Any]:
        def told() -> Any:
            nonlocal now
            now += seconds
            return answer

        return told

    answers = [after(70, told("go", (0, 2))), after(500, told("go", (2, 4))), after(90, told("end")), None]
    it, service = partition(*answers, chunk=2, clock=lambda: now)
    with it:
        for _ in it:
            now += 3
            it.deliver(0)
    assert [body["elapsed"] for verb, body in service.calls if verb == "report"] == [3, 6]


def test_pauses_between_tries_are_those_that_the_lease_allows(partition: Any) -> None:
    it, _ = partition({**told("end"), "silence": 4.0}, None)
    with it:
        assert it._client is not None
        assert it._client.silence == 4 * SECOND


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
    backoff = Backoff(lambda: 1.0)
    pauses = [in_seconds(backoff.pause()) for _ in range(10)]
    assert pauses == [0.0, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 15.0, 15.0], "at once, and then with growing pauses"
    backoff.reset()
    assert [in_seconds(backoff.pause()) for _ in range(2)] == [0.0, 0.2]


@given(st.integers(1, 10**9), st.lists(st.floats(0, 1), min_size=20, max_size=20))
def test_no_pause_is_longer_than_half_the_silence_that_a_lease_allows(silence: int, chances: list[float]) -> None:
    backoff = Backoff(chances.pop, silence)
    assert all(0 <= backoff.pause() <= silence // 2 for _ in range(20))


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

    monkeypatch.setattr("tradewind.agent.calls.time.sleep", lambda _: None)
    client = Client("http://x", "s", transport=httpx.MockTransport(handle))
    assert client.call("POST", "/y") == {"a": 1}
    answers += [httpx.Response(404, json={"detail": "no", "type": ""}), httpx.Response(502)]
    with pytest.raises(CallError) as refused:
        client.call("POST", "/y")
    assert refused.value.is_stale
    with pytest.raises(UnreachableError):
        client.call("POST", "/y", patience=0)
    client.close()
