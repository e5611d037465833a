"""Runs of Python workflows on a server, over its REST API."""

import uuid
from collections import deque
from typing import Any

from tradewind.api.errors import RunError
from tradewind.api.place import Place
from tradewind.api.runs import brought_back
from tradewind.api.values import MARK, unpack
from tradewind.api.worker import EXCEPTION
from tradewind.client.errors import ClientError
from tradewind.client.http import Http
from tradewind.client.open import Where, server
from tradewind.formats.write_program import program_document
from tradewind.live.port import Broke, Failure
from tradewind.model.program import Program


class Remote:
    """A run on a server; it is submitted immediately."""

    def __init__(self, program: Program, place: Place) -> None:
        self._where = Where(place.server, place.profile)
        body = {"workflow": program_document(program)}
        with server(self._where, "submit") as http:
            headers = {"Idempotency-Key": uuid.uuid4().hex}
            self.id: str = http.ask("POST", "/runs", json=body, headers=headers)["id"]

    def wait(self) -> Any:
        """Wait for the run to end."""
        with server(self._where, "submit") as http:
            last = deque(http.follow(self.id), maxlen=1).pop()
            if last["status"] == "done":
                found = http.ask("GET", f"/runs/{self.id}/results")["results"]["result"]
                return unpack(_fetched(found, http, self.id))
            raise self._problem(http, last["status"])

    def cancel(self) -> None:
        """Cancel the run."""
        with server(self._where, "cancel") as http:
            http.cancel(self.id)

    def _problem(self, http: Http, status: str) -> BaseException:
        failed = http.run(self.id).get("failures") or []
        if not failed:
            return RunError(f"the run {self.id} has {status}")
        first = failed[0]
        path = f"/runs/{self.id}/tasks/{first['task']}/attempts/{first['attempt']}/artefacts"
        try:
            names = [item["path"] for item in http.ask("GET", path)["items"]]
            left = next((name for name in names if name.rpartition("/")[2] == EXCEPTION), None)
            data = None if left is None else http.fetch(f"{path}/{left}")
        except ClientError:
            data = None
        report = Broke(first["task"], first["attempt"], -1, "error", first["reason"], first["name"])
        return brought_back(Failure(first["name"], f"run {self.id} of {http.url}", report), data)


def _fetched(value: Any, http: Http, run: str) -> Any:
    """Replace the paths of files on the server in a packed value by their contents."""
    if isinstance(value, list):
        return [_fetched(item, http, run) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get(MARK) == "file":
        return {MARK: "pickle", "of": _content(value["of"], http, run)}
    return {key: _fetched(item, http, run) for key, item in value.items()}


def _content(path: str, http: Http, run: str) -> str:
    """Return the contents of an output file of the run, found by the end of its path."""
    import base64  # noqa: PLC0415 - large results are rare

    _, _, rest = path.partition(f"/{run}/")
    chain, _, _ = rest.partition("/")[0].rpartition(".")  # strips the attempt number
    name = path.rpartition("/")[2]
    for task in http.tasks(run):
        if chain not in (task["name"], task["name"].replace("[", ".").replace("]", "")):
            continue
        base = f"/runs/{run}/tasks/{task['number']}/attempts/last/artefacts"
        for item in http.ask("GET", base)["items"]:
            if item["path"].rpartition("/")[2] == name:
                return base64.b64encode(http.fetch(f"{base}/{item['path']}")).decode()
    raise RunError(f"the run {run} has no file {name}")
