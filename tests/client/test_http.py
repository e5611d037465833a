"""The client of a server: tries again, goes on, and says clearly what was refused."""

import gzip
from pathlib import Path

import httpx
import pytest
from fake_server import RUN, FakeServer, problem

from tradewind.client.backend import Submission
from tradewind.client.errors import ClientError, RefusedError, UnreachableError
from tradewind.client.http import Http


@pytest.fixture
def fake() -> FakeServer:
    return FakeServer()


def client(fake: FakeServer, pauses: list[float] | None = None) -> Http:
    noted = [] if pauses is None else pauses
    return Http("http://server:1", "tw_secret", transport=fake.transport, sleep=noted.append)


def test_a_lost_connection_is_tried_again_with_growing_pauses(fake: FakeServer) -> None:
    fake.on("GET", "/runs/1abc234-7", RUN)
    fake.trouble = [httpx.ConnectError("refused"), httpx.ReadTimeout("slow"), httpx.Response(503)]
    pauses: list[float] = []
    assert client(fake, pauses).run("1abc234-7") == RUN
    assert pauses == [0.2, 0.5, 1.0]
    assert fake.requests[-1].headers["authorization"] == "Bearer tw_secret"


def test_a_server_that_is_away_is_given_up(fake: FakeServer) -> None:
    fake.trouble = [httpx.ConnectError("refused")] * 20
    with pytest.raises(UnreachableError, match="is the server running"):
        client(fake).run("1abc234-7")
    assert len(fake.requests) == 6


def test_what_must_not_be_done_twice_is_asked_again_only_where_it_was_never_heard(fake: FakeServer) -> None:
    fake.on("POST", "/tokens", {"token": "tw_x"}, 201)
    fake.trouble = [httpx.ConnectError("refused")]
    assert client(fake).ask("POST", "/tokens", json={"name": "x"}) == {"token": "tw_x"}
    fake.trouble = [httpx.ReadError("cut off")]
    with pytest.raises(UnreachableError, match="may have been processed"):
        client(fake).ask("POST", "/tokens", json={"name": "x"})


def test_a_busy_server_is_given_the_time_it_asks_for(fake: FakeServer) -> None:
    fake.on("GET", "/runs/1abc234-7", RUN)
    fake.trouble = [httpx.Response(429, headers={"Retry-After": "7"})]
    pauses: list[float] = []
    client(fake, pauses).run("1abc234-7")
    assert pauses == [7.0]


def test_a_submission_keeps_its_key_over_tries(fake: FakeServer, tmp_path: Path) -> None:
    file = tmp_path / "align.yaml"
    file.write_text("steps: {a: {run: 'true'}}")
    fake.on("POST", "/runs", RUN, 201)
    fake.trouble = [httpx.RemoteProtocolError("cut off")]
    submission = Submission(file, {"sample": "x"}, name="night", priority=3, deadline="2h", keep_going=True)
    assert client(fake).submit(submission)["id"] == RUN["id"]
    keys = {request.headers["idempotency-key"] for request in fake.requests}
    assert len(fake.requests) == 2
    assert len(keys) == 1
    assert fake.bodies()[-1] == {
        "workflow": file.read_text(),
        "parameters": {"sample": "x"},
        "name": "night",
        "file": "align.yaml",
        "priority": 3,
        "deadline": "2h",
        "keep_going": True,
    }
    client(fake).submit(submission)
    assert fake.requests[-1].headers["idempotency-key"] not in keys


def test_included_files_travel_along(fake: FakeServer, tmp_path: Path) -> None:
    fake.on("POST", "/runs", RUN, 201)
    (tmp_path / "parts").mkdir()
    (tmp_path / "main.yaml").write_text("steps: {a: {include: parts/inner.yaml}, b: {include: here}}")
    (tmp_path / "parts" / "inner.yaml").write_text("steps: {c: {include: deep.yaml}}")
    (tmp_path / "parts" / "deep.yaml").write_text("steps: {d: {run: 'true'}}")
    client(fake).submit(Submission(tmp_path / "main.yaml"))
    assert set(fake.bodies()[0]["files"]) == {"parts/inner.yaml", "parts/deep.yaml"}


def test_a_compressed_document_goes_as_it_is(fake: FakeServer, tmp_path: Path) -> None:
    fake.on("POST", "/runs", RUN, 201)
    file = tmp_path / "big.json.gz"
    file.write_bytes(gzip.compress(b"{}"))
    client(fake).submit(Submission(file, {"a": "1"}, priority=2, keep_going=True))
    request = fake.requests[0]
    assert request.content == file.read_bytes()
    said = {"file": "big.json.gz", "priority": "2", "keep_going": "true", "parameter": "a=1"}
    assert dict(request.url.params.multi_items()) == said


def test_a_refusal_says_what_the_server_says(fake: FakeServer, tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text("steps: {}")
    detail = "w.yaml:4: steps.a.needs: no step named 'trim'; did you mean 'trimm'?"
    problems = [{"place": "steps.a.needs", "line": 4, "reason": "no step named 'trim'", "remedy": ""}]
    fake.trouble = [problem(422, "Bad", detail, type="/problems/impossible", problems=problems)]
    with pytest.raises(RefusedError) as caught:
        client(fake).submit(Submission(file))
    assert (caught.value.kind, str(caught.value)) == ("impossible", detail)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b'"text"'], ids=["empty", "html", "list", "text"])
def test_an_answer_that_is_no_problem_document_is_still_an_error(fake: FakeServer, body: bytes) -> None:
    fake.trouble = [httpx.Response(500, content=body)]
    with pytest.raises(RefusedError, match="the server answered 500"):
        client(fake).runs()


def test_a_missing_token_has_a_remedy(fake: FakeServer) -> None:
    fake.trouble = [problem(401, "Unauthorized", "no token")]
    with pytest.raises(RefusedError, match="TRADEWIND_TOKEN"):
        client(fake).runs()


def test_lists_are_read_page_by_page(fake: FakeServer) -> None:
    def page(request: httpx.Request) -> httpx.Response:
        first = int(request.url.params.get("cursor") or 0)
        size = int(request.url.params["limit"])
        items = [{"number": number} for number in range(first, min(first + size, 2500))]
        following = str(first + size) if first + size < 2500 else None
        return httpx.Response(200, json={"items": items, "next": following})

    fake.answers["GET", "/runs/1abc234-7/tasks"] = page
    assert [task["number"] for task in client(fake).tasks("1abc234-7", limit=10_000)] == list(range(2500))
    assert len(client(fake).tasks("1abc234-7", limit=1200)) == 1200
    assert len(fake.requests) == 3 + 2


def test_runs_are_named_by_the_beginning_of_their_id_or_as_the_last(fake: FakeServer) -> None:
    others = [RUN | {"id": "1abd000-8"}, RUN, RUN | {"id": "1abc999-6"}]
    fake.on("GET", "/runs", {"items": others, "next": None})
    fake.on("GET", "/runs/1abc234-7", RUN)
    fake.on("GET", "/runs/1abd000-8", others[0])
    assert client(fake).run("1abc2")["id"] == RUN["id"]
    assert client(fake).run("last")["id"] == "1abd000-8"
    with pytest.raises(ClientError, match="matches 2 runs"):
        client(fake).run("1abc")
    for nobody in ("nowhere-1", "zzz", "../../metrics"):
        with pytest.raises(ClientError, match="tradewind list"):
            client(fake).run(nobody)


def stream(*events: tuple[str, str, str], cut: bool = False) -> httpx.Response:
    text = "".join(f": beat\n\nid: {id}\nevent: {name}\ndata: {data}\n\n" for id, name, data in events)
    return httpx.Response(200, text=text + ("id: 9-9\ndata: {" if cut else ""))


def test_a_stream_goes_on_after_the_last_event_that_was_complete(fake: FakeServer) -> None:
    fake.trouble = [
        stream(("1-0", "start", '{"at": 1}'), ("1-1", "finished", '{"at": 2}'), cut=True),
        httpx.ConnectError("away"),
        stream(("2-0", "ended", '{"at": 3}'), ("2-1", "end", '{"status": "done"}')),
    ]
    events = list(client(fake).events("1abc234-7"))
    assert [event.id for event in events] == ["1-0", "1-1", "2-0", "2-1"]
    assert events[-1].data == {"status": "done"}
    assert [request.headers.get("last-event-id") for request in fake.requests] == [None, "1-1", "1-1"]


def test_a_stream_that_never_comes_back_is_given_up(fake: FakeServer) -> None:
    fake.trouble = [stream(("1-0", "start", "{}"))] + [httpx.ConnectError("away")] * 50
    with pytest.raises(UnreachableError, match="event stream was lost"):
        list(client(fake).events("1abc234-7"))
    assert len(fake.requests) > 10


def test_a_refused_stream_is_not_tried_again(fake: FakeServer) -> None:
    fake.trouble = [problem(404, "Not found", "no such run")]
    with pytest.raises(RefusedError, match="no such run"):
        list(client(fake).events("1abc234-7"))


def test_following_ends_with_the_run(fake: FakeServer) -> None:
    states = iter([RUN, RUN | {"status": "done", "ended": 1010.0}])
    fake.answers["GET", "/runs/1abc234-7"] = lambda _: httpx.Response(200, json=next(states))
    fake.answers["GET", "/runs/1abc234-7/events"] = lambda _: stream(("1-0", "start", "{}"), ("1-1", "end", "{}"))
    assert [run["status"] for run in client(fake).follow("1abc234-7")] == ["active", "done"]


def test_the_end_of_a_log_is_no_error(fake: FakeServer) -> None:
    fake.trouble = [httpx.Response(206, content=b"tail"), problem(416, "Range", "beyond the end")]
    http = client(fake)
    assert http.read_log("1abc234-7", 3, 1, "out", 10) == b"tail"
    assert http.read_log("1abc234-7", 3, 1, "out", 14) == b""
    assert fake.requests[0].headers["range"] == "bytes=10-"


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(ClientError, match="is not a server address"):
        Http("server:1")
