"""The worker protocol on loopback, for a divisible job that one process sees to: no server, no extra packages.

The same verbs over the same desk as the server's; partitions cannot tell the difference.
"""

import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tradewind.core.divisible.errors import Refused
from tradewind.core.divisible.partitions import Given
from tradewind.live.divisible import verbs
from tradewind.live.divisible.desk import Desk
from tradewind.live.divisible.objects import LocalObjects, ObjectError
from tradewind.model.units import seconds

_PARTITION = re.compile(r"/jobs/([\w.-]+)/partitions/(\d+)/(start|report|finish|uploads)")
_OBJECTS = "/objects"
_STATUSES = {"unknown": 404, "stale": 409, "invalid": 422, "conflict": 409, "denied": 401}


class _Server(ThreadingHTTPServer):
    """Partitions may be killed in the middle of a call: that is no news."""

    daemon_threads = True
    endpoint: "Endpoint"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Tell what nobody thought of."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class Endpoint:
    """Answers partitions in threads of its own until it is closed."""

    def __init__(self, desk: Desk, objects: LocalObjects) -> None:
        self.desk = desk
        self.objects = objects
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.endpoint = self
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """Where it listens."""
        host, port = self._http.server_address[:2]
        return f"http://{host if isinstance(host, str) else host.decode()}:{port}"

    def close(self) -> None:
        """Answer nobody any more."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def call(self, job: str, number: int, verb: str, lease: str, body: Any) -> Any:
        """What a verb answers."""
        if verb == "start":
            return self.desk.do(lambda turn: verbs.start(turn, job, number, lease))
        if verb == "finish":
            failure = str(body.get("failure", ""))[:2000]
            return self.desk.do(lambda turn: verbs.finish(turn, job, number, lease, failure))
        if verb == "uploads":
            key = f"results/{job}/{number}/{int(body['number'])}"
            self.desk.do(lambda turn: verbs.is_open(turn, job, number, lease))
            return {"key": key, "url": self.objects.address("PUT", key, self.desk.clock())}
        given = [_given(job, number, each) for each in body.get("deliveries", [])]
        done, elapsed = int(body["done"]), seconds(float(body["elapsed"]))
        return self.desk.do(lambda turn: verbs.report(turn, job, number, lease, done, elapsed, given))


def _given(job: str, number: int, body: Any) -> Given:
    key = str(body.get("object", ""))
    if key and key != f"results/{job}/{number}/{int(body['number'])}":
        raise ValueError("object: not the key that was given out for this delivery")
    text = json.dumps({"object": key} if key else {"inline": body.get("result")})
    ranges = [(int(begin), int(end)) for begin, end in body["ranges"]]
    return Given(int(body["number"]), ranges, text, bool(body.get("checkpoint", False)))


class _Handler(BaseHTTPRequestHandler):
    """One connection of a partition."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_POST(self) -> None:
        """A verb of a partition."""
        content = self._content()
        found = _PARTITION.fullmatch(self.path)
        if found is None:
            self._problem(404, "there is no such call")
            return
        lease = self.headers.get("Authorization", "").removeprefix("Bearer ").strip()
        try:
            told = self._endpoint.call(found[1], int(found[2]), found[3], lease, json.loads(content or b"{}"))
        except Refused as refused:
            self._problem(_STATUSES[refused.why], str(refused), "/problems/stale" if refused.why == "stale" else "")
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            self._problem(422, f"not usable: {error}")
        else:
            if self.headers.get("Accept") == "text/plain" and "ranges" in told:
                self._answer(200, verbs.answer_lines(told).encode(), "text/plain")
            else:
                self._answer(200, json.dumps(told).encode())

    def do_PUT(self) -> None:
        """A result, by its signed address."""
        content = self._content()
        address = urlsplit(self.path)
        asked = parse_qs(address.query)
        key = address.path.removeprefix(f"{_OBJECTS}/")
        objects = self._endpoint.objects
        try:
            expires, signature = int(asked["expires"][0]), asked["signature"][0]
            is_ours = objects.is_signed("PUT", key, expires, signature, self._endpoint.desk.clock())
            is_new = is_ours and objects.write_once(key, content)
        except (KeyError, ValueError, ObjectError) as error:
            self._problem(403, str(error))
        else:
            self._answer(204 if is_new else 409 if is_ours else 403, b"")

    @property
    def _endpoint(self) -> Endpoint:
        assert isinstance(self.server, _Server)  # noqa: S101  nobody else makes handlers
        return self.server.endpoint

    def _content(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _problem(self, status: int, detail: str, kind: str = "") -> None:
        told = {"type": kind or "about:blank", "status": status, "detail": detail}
        self._answer(status, json.dumps(told).encode(), "application/problem+json")

    def _answer(self, status: int, content: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads along."""
