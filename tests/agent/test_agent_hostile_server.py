"""An agent trusts no server with its folders: names and paths that a server sends lead nowhere but into its own."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tradewind.agent import process
from tradewind.agent.control_plane import Backoff, ControlPlane
from tradewind.agent.offer import Offer
from tradewind.agent.process import Agent, Plan
from tradewind.live.order_json import MalformedError, order_of
from tradewind.model.errors import TradewindError

SHELL = {"kind": "shell", "command": "cat {{ f }} > got", "shell": ""}
CALL: dict[str, Any] = {
    "id": "a",
    "action": SHELL,
    "inputs": {"f": "/srv/runs/r/x/data"},
    "outputs": {"got": ["got", False, "", False]},
    "environment": {},
    "run": None,
    "silence": None,
}
GOOD: dict[str, Any] = {
    "run": "r-1",
    "unit": 1,
    "attempt": 1,
    "slot": 0,
    "folder": "/srv/runs/r-1/a.1",
    "checkpoints": "",
    "cpus": 1,
    "memory": None,
    "most": 0,
    "files": [["/srv/runs/r/x/data", "data", 7]],
    "calls": [CALL],
}


class Hostile:
    """A server that answers as it likes."""

    def __init__(self) -> None:
        self.agent: Any = "desk"
        self.terms: Any = {"wait": 0.0, "hint": None}
        self.orders: list[Any] = []
        self.drop: Any = []
        self.hint: Any = None
        self.content = b"hostile"
        self.ends: list[Any] = []
        self.stored: dict[str, bytes] = {}
        self.calls = 0
        self.most = 30

    async def answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if path.endswith("/agent"):
            return httpx.Response(200, json={"agent": self.agent})
        if "/inputs/" in path:
            return httpx.Response(200, content=self.content)
        if "/files/" in path:
            self.stored[path] = await request.aread()
            return httpx.Response(204)
        if not path.endswith("/orders"):
            return httpx.Response(200, json=self.terms)
        await asyncio.sleep(0.02)
        self.calls += 1
        body = json.loads(request.content)
        self.ends += body["ends"]
        if self.ends or self.calls > self.most:
            return httpx.Response(401, json={"detail": "go away \x1b[2J"})
        return httpx.Response(200, json={"orders": self.orders, "drop": self.drop, "hint": self.hint})


@pytest.fixture
def server() -> Hostile:
    return Hostile()


Work = Callable[..., list[str]]


@pytest.fixture
def work(server: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    """Let an agent work until the server refuses it; what it said."""

    async def answer(request: httpx.Request) -> httpx.Response:
        return await server.answer(request)

    transport = httpx.MockTransport(answer)
    monkeypatch.setattr(process, "ControlPlane", lambda url, token: ControlPlane(url, token, transport))
    monkeypatch.setattr(Backoff, "pause", lambda _: 0.01)

    def on(*orders: Any) -> list[str]:
        server.orders = list(orders)
        said: list[str] = []

        async def live() -> None:
            plan = Plan("http://x", "t", tmp_path / "deep" / "er" / "work", Offer(slots=1), grace=0.2, home=tmp_path)
            with pytest.raises(TradewindError, match="refuses"):
                await Agent(plan, said.append).run()

        asyncio.run(live())
        return said

    return on


def snapshot(folder: Path) -> list[tuple[Path, bytes]]:
    """All files but those in the agent's own folder."""
    own = folder / "deep/er/work"
    return sorted((each, each.read_bytes()) for each in folder.rglob("*") if each.is_file() and own not in each.parents)


def test_a_good_order_is_carried_out(server: Hostile, work: Work) -> None:
    work(GOOD)
    (end,) = server.ends
    assert end["results"] == {"a": {"got": "/srv/runs/r-1/a.1/got"}}
    assert "got" in end["files"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"run": "../../x"},
        {"run": ".."},
        {"run": ""},
        {"run": "/x"},
        {"run": "a\0b"},
        {"run": "x" * 300},
        {"run": 7},
        {"unit": "../1"},
        {"unit": -1},
        {"unit": True},
        {"unit": 1.5},
        {"attempt": None},
        {"slot": "0"},
        {"checkpoints": "../x"},
        {"checkpoints": "a/b"},
        {"files": [["/srv/x", "../x", 7]]},
        {"files": [["/srv/x", "/etc/x", 7]]},
        {"files": [["/srv/x", "a/../../x", 7]]},
        {"files": [["/srv/x", "..", 7]]},
        {"files": [["/srv/x", "", 7]]},
        {"files": [["x", "x", 7]]},
        {"files": [["/srv/x", "x", "7"]]},
        {"files": [["/srv/x", "x"]]},
        {"files": "x"},
        {"calls": [CALL | {"outputs": {"x": ["../../secret", False, "", False]}}]},
        {"calls": [CALL | {"outputs": {"x": ["/etc/passwd", False, "", False]}}]},
        {"calls": [CALL | {"outputs": {"x": ["", False, "../secret.json", False]}}]},
        {"calls": [CALL | {"outputs": {"x": [1, False, "", False]}}]},
        {"calls": [CALL | {"action": {"kind": "magic"}}]},
        {"calls": [CALL | {"action": "shell"}]},
        {"calls": [CALL | {"environment": {"A": "a\0b"}}]},
        {"calls": [CALL | {"inputs": {"f": {"$ref": [1, 2, 3]}}}]},
        {"calls": [CALL | {"run": "soon"}]},
        {"calls": ["a"]},
        {"calls": None},
    ],
)
def test_what_is_malformed_is_not_carried_out(wrong: dict[str, Any]) -> None:
    order_of(GOOD)
    with pytest.raises(MalformedError):
        order_of(GOOD | wrong)


@pytest.mark.parametrize("wrong", [{"run": "../../x"}, {"files": [["/srv/x", "../../../x", 7]]}, {"unit": "a"}])
def test_a_malformed_order_touches_nothing(wrong: dict[str, Any], work: Work, tmp_path: Path) -> None:
    for place in ("x", "deep/x", "deep/er/x"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("precious")
    before = snapshot(tmp_path)
    said = work(GOOD | wrong, "order", None, 7)
    assert snapshot(tmp_path) == before
    assert any("cannot be taken" in words for words in said), said
    assert not any("\x1b" in words or "\0" in words for words in said)


def test_files_that_are_fetched_stay_in_the_folder(server: Hostile, work: Work, tmp_path: Path) -> None:
    """Whatever a file is called on the server."""
    (tmp_path / "precious").write_text("mine")
    before = snapshot(tmp_path)
    path = str(tmp_path / "precious")
    server.content = b"hostile"
    work(GOOD | {"files": [[path, "precious", 7]], "calls": [CALL | {"inputs": {"f": path}}]})
    assert snapshot(tmp_path) == before
    (end,) = server.ends
    assert "results" in end, "the step reads the copy"


@pytest.mark.parametrize("content", [b"", b"short", b"much too long"])
def test_a_file_of_another_size_is_not_taken(content: bytes, server: Hostile, work: Work, tmp_path: Path) -> None:
    server.content = content
    work(GOOD)
    assert not [each for each in (tmp_path / "deep/er/work/inputs").rglob("*") if each.is_file()]


def test_outputs_that_lead_out_of_the_folder_are_not_uploaded(server: Hostile, work: Work, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("mine")
    code = "import pathlib\ndef leak():\n    return pathlib.Path('../../../../../../secret')\n"
    (tmp_path / "leaky.py").write_text(code)
    function = {"kind": "function", "target": "leaky:leak"}
    work(
        GOOD
        | {
            "files": [],
            "calls": [CALL | {"action": function, "inputs": {}, "outputs": {"x": ["", False, "return", False]}}],
        }
    )
    (end,) = server.ends
    assert not any("secret" in path for path in (*end["files"], *server.stored))


@pytest.mark.parametrize(
    "wrong",
    [
        {"agent": "../x"},
        {"agent": None},
        {"terms": {}},
        {"terms": {"wait": "long", "hint": None}},
        {"terms": {"wait": 0.0, "hint": "many"}},
        {"terms": []},
        {"hint": -1},
        {"drop": {}},
        {"drop": [["a", 1, True], [1], 7, None]},
    ],
)
def test_malformed_answers_do_not_end_an_agent(wrong: dict[str, Any], server: Hostile, work: Work) -> None:
    good = {name: getattr(server, name) for name in wrong}
    answered = 0
    answer = server.answer

    async def first_wrong(request: httpx.Request) -> httpx.Response:
        nonlocal answered
        answered += 1
        if answered > 6:
            for name, value in good.items():
                setattr(server, name, value)
        return await answer(request)

    server.answer = first_wrong  # type: ignore[method-assign]
    for name, value in wrong.items():
        setattr(server, name, value)
    work(GOOD)
    assert "results" in server.ends[0]


def test_no_more_is_begun_than_is_offered(server: Hostile, work: Work, tmp_path: Path) -> None:
    server.most = 5
    work(*(GOOD | {"unit": unit, "slot": unit} for unit in range(1, 5)))
    assert not (tmp_path / "deep/er/work/runs").exists()
