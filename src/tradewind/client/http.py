"""A client of a server over HTTP.

Requests that are safe to repeat are retried if the connection is lost: everything except `POST`, and submissions, which
carry an idempotency key. If the server was never reached, or says that it is busy, every request is retried.
"""

import re
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

import tradewind
from tradewind.client import bundle, sse
from tradewind.client.backend import Event, Plain, Submission
from tradewind.client.errors import ClientError, RefusedError, UnreachableError
from tradewind.client.problems import check
from tradewind.model.places import changed

API = "/api/v1"
_PATIENCE = 10.0
_BUSY = frozenset({429, 503})
_UNREACHED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_PAGE = 1000
_FOUND = 200
"""Maximum number of search results of a server."""
_ID = re.compile(r"[0-9a-z]{7,12}-[0-9]{1,19}")
"""The form of a run id."""
_LOOK = 0.2
"""Seconds between updates of a run that changes all the time."""


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
        """`patience`: for how many seconds to retry a server that does not answer."""
        if not url.startswith(("http://", "https://")):
            raise ClientError(f"{url!r} is not a server address such as http://127.0.0.1:8642")
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
        """Return a server's answer as plain values; None if it is empty."""
        answer = self._send(method, path, json=json, params=_given(params or {}), **more)
        return answer.json() if answer.content else None

    def _send(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Return a successful answer, retrying as long as it makes sense."""
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
                    raise UnreachableError(f"{self.url}: {reason}; the request may have been processed") from None
                if is_last:
                    raise UnreachableError(f"{self.url} does not answer ({reason}); is the server running?") from None
            else:
                if answer.status_code not in _BUSY or is_last:
                    return check(answer)
                pause = max(pause, _seconds(answer.headers.get("retry-after")))
            self._sleep(pause)
            tries, waited = tries + 1, waited + pause

    def fetch(self, path: str) -> bytes:
        """Return the raw contents at a path."""
        return self._send("GET", path).content

    def items(self, path: str, limit: int, **params: Any) -> list[Plain]:
        """Return the items of a list, page by page."""
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
        """Submit a workflow; it is stored durably before this returns."""
        request = bundle.request(submission)
        found: Plain = self.ask("POST", "/runs", **request)
        return found

    def runs(
        self, *, status: str | None = None, tenant: str | None = None, name: str | None = None, limit: int = 100
    ) -> list[Plain]:
        """Return the latest runs, newest first."""
        return self.items("/runs", limit, status=status, tenant=tenant, name=name)

    def run(self, id: str) -> Plain:
        """Return a run with its parameters, cost and failures."""
        try:
            found: Plain = self.ask("GET", self._path(id))
        except RefusedError as error:
            if error.status != httpx.codes.NOT_FOUND:
                raise
            raise self._no_run(id) from None
        return found

    def _no_run(self, id: str) -> ClientError:
        return ClientError(f"there is no run {id!r} at {self.url}; `tradewind list` lists the runs")

    def _path(self, run: str, *parts: str | int) -> str:
        return "/".join(["/runs", quote(self._id(run), safe=""), *(quote(str(part)) for part in parts)])

    def _id(self, run: str) -> str:
        """Return the id of a run, given an id, a prefix or `last`."""
        if run == "last":
            latest = self.runs(limit=1)
            if not latest:
                raise ClientError("there are no runs yet")
            return str(latest[0]["id"])
        if _ID.fullmatch(run):
            return run
        matching = [each["id"] for each in self.runs(limit=_PAGE) if each["id"].startswith(run)]
        if len(matching) > 1:
            raise ClientError(f"{run!r} matches {len(matching)} runs; give more of its id")
        if not matching:
            raise self._no_run(run)
        return str(matching[0])

    def results(self, run: str) -> Plain | None:
        """Return the outputs of a finished program, by name."""
        answer = self.ask("GET", self._path(run, "results"))
        files = answer.get("files") or {}
        found: Plain | None = changed(
            answer["results"], lambda place, text: self._address(answer["run"], place) if place in files else text
        )
        return found

    def output_files(self, run: str) -> dict[str, str]:
        """Return the files among the outputs of a run: their places and names."""
        found: dict[str, str] = self.ask("GET", self._path(run, "results")).get("files") or {}
        return found

    def save_output(self, run: str, place: str, target: Path) -> None:
        """Write a file among the outputs of a run to a path."""
        target.write_bytes(self.fetch(self._path(run, "outputs", *place.split("/"))))

    def _address(self, run: str, place: str) -> str:
        return f"{self.url}/api/v1{self._path(run, 'outputs', *place.split('/'))}"

    def tasks(self, run: str, *, status: str | None = None, name: str | None = None, limit: int = 1000) -> list[Plain]:
        """Return tasks of a run, by number."""
        return self.items(self._path(run, "tasks"), limit, status=status, name=name)

    def task(self, run: str, task: int) -> Plain:
        """Return one task of a run."""
        found: Plain = self.ask("GET", self._path(run, "tasks", task))
        return found

    def attempts(self, run: str, task: int) -> list[Plain]:
        """Return the attempts of a task, including a running one."""
        return self.items(self._path(run, "tasks", task, "attempts"), _PAGE)

    def explain(self, run: str, task: int | None = None) -> Plain:
        """Explain why a run or task is waiting, and why it ran again."""
        path = self._path(run, "explain") if task is None else self._path(run, "tasks", task, "explain")
        found: Plain = self.ask("GET", path)
        return found

    def cost(self, run: str | None = None, by: str = "run") -> Plain:
        """Return the cost of a run by machine type, or the total."""
        found: Plain = (
            self.ask("GET", "/cost", params={"by": by}) if run is None else self.ask("GET", self._path(run, "cost"))
        )
        return found

    # Steering

    def cancel(self, run: str, *, force: bool = False) -> Plain:
        """Cancel a run."""
        return self._steer(run, "cancel", {"force": force})

    def retry(self, run: str) -> Plain:
        """Retry the failed tasks of a run."""
        return self._steer(run, "retry", {})

    def suspend(self, run: str) -> Plain:
        """Suspend a run: start no further tasks."""
        return self._steer(run, "suspend", {})

    def resume(self, run: str) -> Plain:
        """Resume a suspended run."""
        return self._steer(run, "resume", {})

    def _steer(self, run: str, verb: str, body: Plain) -> Plain:
        found: Plain = self.ask("POST", self._path(run, verb), json=body)
        return found

    def prioritise(self, run: str, priority: int) -> Plain:
        """Change the priority of a run."""
        found: Plain = self.ask("PUT", self._path(run, "priority"), json={"priority": priority})
        return found

    def redate(self, run: str, deadline: str | None) -> Plain:
        """Change the deadline of a run, counted from its submission, or remove it."""
        found: Plain = self.ask("PUT", self._path(run, "deadline"), json={"deadline": deadline})
        return found

    # Machines

    def machines(self, *, status: str = "held", limit: int = 1000) -> list[Plain]:
        """Return machines, newest first."""
        return self.items("/machines", limit, status=status)

    def drain(self, machine: int) -> Plain:
        """Release a machine once its tasks have finished."""
        found: Plain = self.ask("POST", f"/machines/{machine}/drain", json={})
        return found

    def remove(self, machine: int) -> Plain:
        """Release a machine immediately; its tasks run again elsewhere."""
        found: Plain = self.ask("POST", f"/machines/{machine}/remove", json={})
        return found

    # Search, logs and events

    def search(self, query: str, *, among: str = "all", limit: int = 100) -> Plain:
        """Search runs and tasks."""
        found: Plain = self.ask("GET", "/search", params={"q": query, "in": among, "limit": min(limit, _FOUND)})
        return found

    def log_files(self, run: str, task: int, attempt: int) -> list[Plain]:
        """Return the log files of an attempt, by name."""
        return self.items(self._path(run, "tasks", task, "attempts", attempt, "logs"), _PAGE)

    def read_log(self, run: str, task: int, attempt: int, name: str, begin: int = 0) -> bytes:
        """Return the contents of a log from a byte offset."""
        path = self._path(run, "tasks", task, "attempts", attempt, "logs", name)
        try:
            return self._send("GET", path, headers={"Range": f"bytes={begin}-"} if begin else {}).content
        except RefusedError as error:
            if error.status == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
                return b""
            raise

    def tail(self, run: str, task: int, attempt: int, name: str, lines: int) -> str:
        """Return the last lines of a log."""
        path = self._path(run, "tasks", task, "attempts", attempt, "logs", name)
        return self._send("GET", path, params={"tail": lines}).text

    def follow(self, run: str) -> Iterator[Plain]:
        """Yield a run each time it has changed, until it has ended."""
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
        """Yield the records of a run as they arrive, until it has ended."""
        path = self._path(run, "events")
        patience = max(self._patience, sse.PATIENCE)
        return sse.read(lambda headers: self.stream(path, headers, sse.SILENCE), after, self._sleep, patience)

    def stream(self, path: str, headers: Mapping[str, str], patience: float) -> AbstractContextManager[httpx.Response]:
        """Open a streaming answer, which ends after a number of seconds without a heartbeat."""
        timeout = httpx.Timeout(5.0, read=patience)
        return self._client.stream("GET", path, headers={"Accept": "text/event-stream", **headers}, timeout=timeout)

    def close(self) -> None:
        """Close connections."""
        self._client.close()


def _given(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def _seconds(text: str | None) -> float:
    return min(float(text), 30.0) if text and text.isdigit() else 0.0
