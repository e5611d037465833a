"""Lets other processes steer the session that runs in a folder; see `control` for how they find it."""

import asyncio
import hmac
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from tradewind.core.why import why
from tradewind.live.control import FILE, HOST, WRONG, address
from tradewind.live.driver import Driver
from tradewind.live.facts import Cancel, Drain, Fact, Redate, Remove, Reprioritise, Suspend, Unsuspend
from tradewind.model.units import in_seconds

_MOST_REASONS = 100
_PATIENCE = 10.0
"""Seconds in which a request must be complete."""


class Control:
    """Lets other processes steer a driver."""

    def __init__(self, folder: Path, driver: Driver, wake: Callable[[], None]) -> None:
        self._file = folder / FILE
        self._driver = driver
        self._wake = wake
        self._secret = os.urandom(16).hex()
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Listen from now on."""
        self._server = await asyncio.start_server(self._serve, HOST, 0)
        port = self._server.sockets[0].getsockname()[1]
        part = self._file.with_name(f"{FILE}.{os.getpid()}")
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(orjson.dumps({"port": port, "secret": self._secret, "pid": os.getpid()}))
        part.replace(self._file)

    def close(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.close()
        found = address(self._file.parent)
        if found is not None and found["secret"] == self._secret:
            self._file.unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(_PATIENCE):
                request = orjson.loads(await reader.readuntil(b"\n"))
            writer.write(orjson.dumps(self._answer(request), option=orjson.OPT_APPEND_NEWLINE))
            await writer.drain()
        writer.close()

    def _answer(self, request: Any) -> Mapping[str, Any]:
        shown = str(request.get("secret", "")) if isinstance(request, dict) else ""
        if not hmac.compare_digest(shown.encode(), self._secret.encode()):
            return {"error": WRONG}
        try:
            return self._do(str(request["verb"]), request)
        except (KeyError, TypeError, ValueError) as error:
            return {"error": f"cannot be understood: {error!r}"}

    def _do(self, verb: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        if verb == "explain":
            return {"waiting": self._reasons(int(request["run"]), request.get("unit"))}
        if verb in ("drain", "remove"):
            return self._with_machine(verb, int(request["machine"]))
        run = int(request["run"])
        if run not in self._driver.state.runs:
            return {"error": "it is not running"}
        value = request.get("value")
        self._tell(_FACTS[verb](run, None if value is None else int(value)))
        return {}

    def _with_machine(self, verb: str, machine: int) -> Mapping[str, Any]:
        if machine not in self._driver.state.machines:
            return {"error": f"no machine {machine} is held"}
        self._tell(Drain(machine) if verb == "drain" else Remove(machine))
        return {}

    def _tell(self, fact: Fact) -> None:
        self._driver.tell(fact)
        self._wake()

    def _reasons(self, run: int, unit: int | None) -> list[dict[str, Any]]:
        state = self._driver.state
        found = state.runs.get(run)
        units = (each for each in (found.units if found is not None else ()) if not each.is_ended)
        wanted = units if unit is None else (each for each in units if each.id == unit)
        reasons = ((each, why(state, each)) for each in islice(wanted, _MOST_REASONS))
        return [
            {
                "task": each.id,
                "cause": str(reason.cause),
                "text": reason.text,
                "until": None if reason.until is None else in_seconds(reason.until),
            }
            for each, reason in reasons
        ]


_FACTS: Mapping[str, Callable[[int, int | None], Fact]] = {
    "cancel": lambda run, _: Cancel(run),
    "kill": lambda run, _: Cancel(run, is_urgent=True),
    "suspend": lambda run, _: Suspend(run),
    "resume": lambda run, _: Unsuspend(run),
    "priority": lambda run, value: Reprioritise(run, value or 0),
    "deadline": Redate,
}
