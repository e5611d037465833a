"""How other processes reach the session that runs in a folder: a line of JSON there, a line of JSON back.

A session listens on a port of this host (see `steered`) and leaves its number, with a secret, in a file that only its
user can read. Where nobody answers, nobody runs: a file left behind by a crash does no harm.
"""

import socket
from pathlib import Path
from typing import Any

import orjson

from tradewind.model.errors import TradewindError

FILE = "session.json"
HOST = "127.0.0.1"
WRONG = "wrong secret"
_PATIENCE = 30.0


class ControlError(TradewindError):
    """The session in a folder does not do what it is asked."""


def ask(folder: Path, verb: str, **values: Any) -> dict[str, Any] | None:
    """What the session that runs in a folder answers; None: none runs there."""
    where = address(folder)
    if where is None:
        return None
    try:
        with socket.create_connection((HOST, where["port"]), timeout=_PATIENCE) as connection:
            line = orjson.dumps({"secret": where["secret"], "verb": verb, **values}, option=orjson.OPT_APPEND_NEWLINE)
            connection.sendall(line)
            answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    except OSError:
        return None
    found: dict[str, Any] = orjson.loads(answer) if answer else {"error": "it has just ended"}
    if found.get("error") == WRONG:
        return None  # somebody else uses the port by now
    if "error" in found:
        raise ControlError(f"{verb}: {found['error']}")
    return found


def address(folder: Path) -> dict[str, Any] | None:
    """Where the session of a folder listens, or did once; None: nowhere."""
    try:
        found: dict[str, Any] = orjson.loads((folder / FILE).read_bytes())
    except (OSError, ValueError):
        return None
    return found if {"port", "secret"} <= found.keys() else None
