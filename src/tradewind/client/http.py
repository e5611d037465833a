"""A server, over HTTP.

What may safely be asked twice is asked again when a connection is lost: all but `POST`, and submissions, which carry a
key by which the server knows them. A server that was never reached, or says that it is busy, is always asked again.
"""

import re
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import quote

import httpx

import tradewind
from tradewind.client import bundle, sse
from tradewind.client.backend import Event, Plain, Submission
from tradewind.client.errors import ClientError, RefusedError, UnreachableError
from tradewind.client.problems import check

API = "/api/v1"
_PATIENCE = 10.0
_BUSY = frozenset({429, 503})
_UNREACHED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_PAGE = 1000
_FOUND = 200
"""How much a server finds at once."""
_ID = re.compile(r"[0-9a-z]{7,12}-[0-9]{1,19}")
"""What a run is called."""
_LOOK = 0.2
"""Seconds between looks at a run that changes all the time."""


class Http:
    """Runs, tasks and machines of a server."""

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        patience: float = _PATIENCE,
    ) -> None:
        """`patience`: for how many seconds a server that does not answer is asked again."""
        if not url.startswith(("http://", "https://")):
            raise ClientError(f"{url!r} is not the address of a server, such as http://127.0.0.1:8642")
        self.url = url.rstrip("/")
        self._sleep = sleep
        self._patience = patience
        headers = {"User-Agent": f"tradewind/{tradewind.__version__}"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._client = httpx.Client(
            base_url=self.url + API, headers=headers, timeout=httpx.Timeout(60.0, connect=5.0), transport=transport
        )

    def ask(
        self, method: str, path: str, *, json: Any = None, params: Mapping[str, Any] | None = None, **more: Any
    ) -> Any:
        """What a server answers, as plain values; None where it says nothing."""
        answer = self._send(method, path, json=json, params=_given(params or {}), **more)
        return answer.json() if answer.content else None

    def _send(self, method: str, path: str, **more: Any) -> httpx.Response:
        """An answer that is no refusal, tried again while there is hope."""
        if more.get("json") is None:
            more.pop("json", None)
        is_safe = method != "POST" or "Idempotency-Key" in more.get("headers", {})
        tries, waited = 0, 0.0
        while True:
            pause = sse.PAUSES[min(tries, len(sse.PAUSES) - 1)]
            is_last = waited + pause > self._patience
            try:
                answer = self._client.request(method, path, **more)
            except httpx.TransportError as error:
                reason = str(error) or type(error).__name__
                if not is_safe and not isinstance(error, _UNREACHED):
                    raise UnreachableError(f"{self.url}: {reason}; nobody knows whether it was done") from None
                if is_last:
                    raise UnreachableError(f"{self.url} does not answer ({reason}); is the server running?") from None
            else:
                if answer.status_code not in _BUSY or is_last:
                    return check(answer)
                pause = max(pause, _seconds(answer.headers.get("retry-after")))
            self._sleep(pause)
            tries, waited = tries + 1, waited + pause

    def fetch(self, path: str) -> bytes:
        """What a server has at a path, as it is."""
        return self._send("GET", path).content

    def items(self, path: str, limit: int, **params: Any) -> list[Plain]:
        """Items of a list, page by page."""
        found: list[Plain] = []
        cursor: str | None = None
        while len(found) < limit:
            size = min(_PAGE, limit - len(found))
            page = self.ask("GET", path, params={**params, "limit": size, "cursor": cursor})
            found += page["items"]
            cursor = page["next"]
            if cursor is None:
                break
        return found

    # Runs

    def submit(self, submission: Submission) -> Plain:
        """Hand in a workflow; once this returns it will not be lost."""
        request = bundle.request(submission)
        found: Plain = self.ask("POST", "/runs", **request)
        return found

    def runs(
        self, *, status: str | None = None, tenant: str | None = None, name: str | None = None, limit: int = 100
    ) -> list[Plain]:
        """The latest runs, newest first."""
        return self.items("/runs", limit, status=status, tenant=tenant, name=name)

    def run(self, id: str) -> Plain:
        """A run with its parameters, cost and failures."""
        try:
            found: Plain = self.ask("GET", self._path(id))
        except RefusedError as error:
            if error.status != httpx.codes.NOT_FOUND:
                raise
            raise _no_run(id) from None
        return found

    def _path(self, run: str, *parts: str | int) -> str:
        return "/".join(["/runs", quote(self._id(run), safe=""), *(quote(str(part)) for part in parts)])

    def _id(self, run: str) -> str:
        """The id of the run that is meant."""
        if run == "last":
            latest = self.runs(limit=1)
            if not latest:
                raise ClientError("there is no run yet")
            return str(latest[0]["id"])
        if _ID.fullmatch(run):
            return run
        matching = [each["id"] for each in self.runs(limit=_PAGE) if each["id"].startswith(run)]
        if len(matching) > 1:
            raise ClientError(f"{run!r} could be any of {len(matching)} runs; give more of its id")
        if not matching:
            raise _no_run(run)
        return str(matching[0])

    def results(self, run: str) -> Plain | None:
        """The outputs of a program that is done, by name."""
        found: Plain | None = self.ask("GET", self._path(run, "results"))["results"]
        return found

    def tasks(self, run: str, *, status: str | None = None, name: str | None = None, limit: int = 1000) -> list[Plain]:
        """Tasks of a run, by number."""
        return self.items(self._path(run, "tasks"), limit, status=status, name=name)

    def task(self, run: str, task: int) -> Plain:
        """One task of a run."""
        found: Plain = self.ask("GET", self._path(run, "tasks", task))
        return found

    def attempts(self, run: str, task: int) -> list[Plain]:
        """The attempts of a task, the one that runs included."""
        return self.items(self._path(run, "tasks", task, "attempts"), _PAGE)

    def explain(self, run: str, task: int | None = None) -> Plain:
        """Why a run or a task waits, and why it ran again."""
        path = self._path(run, "explain") if task is None else self._path(run, "tasks", task, "explain")
        found: Plain = self.ask("GET", path)
        return found

    def cost(self, run: str | None = None, by: str = "run") -> Plain:
        """What a run cost by machine type, or what everything did."""
        found: Plain = (
            self.ask("GET", "/cost", params={"by": by}) if run is None else self.ask("GET", self._path(run, "cost"))
        )
        return found

    # Steering

    def cancel(self, run: str, *, force: bool = False) -> Plain:
        """Want a run no longer."""
        return self._steer(run, "cancel", {"force": force})

    def retry(self, run: str) -> Plain:
        """Try again what failed."""
        return self._steer(run, "retry", {})

    def suspend(self, run: str) -> Plain:
        """Start nothing more of a run for now."""
        return self._steer(run, "suspend", {})

    def resume(self, run: str) -> Plain:
        """Let a suspended run go on."""
        return self._steer(run, "resume", {})

    def _steer(self, run: str, verb: str, body: Plain) -> Plain:
        found: Plain = self.ask("POST", self._path(run, verb), json=body)
        return found

    def prioritise(self, run: str, priority: int) -> Plain:
        """Give a run another priority."""
        found: Plain = self.ask("PUT", self._path(run, "priority"), json={"priority": priority})
        return found

    def redate(self, run: str, deadline: str | None) -> Plain:
        """Give a run another deadline, counted from its submission, or none."""
        found: Plain = self.ask("PUT", self._path(run, "deadline"), json={"deadline": deadline})
        return found

    # Machines

    def machines(self, *, status: str = "held", limit: int = 1000) -> list[Plain]:
        """Machines, newest first."""
        return self.items("/machines", limit, status=status)

    def drain(self, machine: int) -> Plain:
        """Let a machine go once what runs on it has ended."""
        found: Plain = self.ask("POST", f"/machines/{machine}/drain", json={})
        return found

    def remove(self, machine: int) -> Plain:
        """Let a machine go at once; what runs on it will run elsewhere."""
        found: Plain = self.ask("POST", f"/machines/{machine}/remove", json={})
        return found

    # Search, logs and events

    def search(self, query: str, *, among: str = "all", limit: int = 100) -> Plain:
        """Runs and tasks found by words."""
        found: Plain = self.ask("GET", "/search", params={"q": query, "in": among, "limit": min(limit, _FOUND)})
        return found

    def log_files(self, run: str, task: int, attempt: int) -> list[Plain]:
        """What an attempt has written, by name."""
        return self.items(self._path(run, "tasks", task, "attempts", attempt, "logs"), _PAGE)

    def read_log(self, run: str, task: int, attempt: int, name: str, begin: int = 0) -> bytes:
        """What stands in a log from some byte on."""
        path = self._path(run, "tasks", task, "attempts", attempt, "logs", name)
        try:
            return self._send("GET", path, headers={"Range": f"bytes={begin}-"} if begin else {}).content
        except RefusedError as error:
            if error.status == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
                return b""
            raise

    def tail(self, run: str, task: int, attempt: int, name: str, lines: int) -> str:
        """The last lines of a log."""
        path = self._path(run, "tasks", task, "attempts", attempt, "logs", name)
        return self._send("GET", path, params={"tail": lines}).text

    def follow(self, run: str) -> Iterator[Plain]:
        """A run each time it has changed, until it has ended."""
        id = self._id(run)
        now = self.run(id)
        yield now
        if now["ended"] is not None:
            return
        looked = time.monotonic()
        for event in self.events(id):
            if event.name != "end" and time.monotonic() - looked < _LOOK:
                continue
            before, now, looked = now, self.run(id), time.monotonic()
            if now != before:
                yield now
            if now["ended"] is not None:
                return

    def events(self, run: str, after: str | None = None) -> Generator[Event, None, None]:
        """The records of a run as they come, until it has ended."""
        path = self._path(run, "events")
        patience = max(self._patience, sse.PATIENCE)
        return sse.read(lambda headers: self.stream(path, headers, sse.SILENCE), after, self._sleep, patience)

    def stream(self, path: str, headers: Mapping[str, str], patience: float) -> AbstractContextManager[httpx.Response]:
        """An answer that goes on; so many seconds without a sign of life end it."""
        timeout = httpx.Timeout(5.0, read=patience)
        return self._client.stream("GET", path, headers={"Accept": "text/event-stream", **headers}, timeout=timeout)

    def close(self) -> None:
        """Let go of connections."""
        self._client.close()


def _no_run(id: str) -> ClientError:
    return ClientError(f"there is no run {id!r}; `tradewind list` shows those there are")


def _given(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def _seconds(text: str | None) -> float:
    return min(float(text), 30.0) if text and text.isdigit() else 0.0
