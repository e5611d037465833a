"""A port for a server that a test starts, and perhaps kills and starts again."""

import atexit
import socket

_HELD: list[socket.socket] = []


def held_port() -> int:
    """A port that nobody else is given for as long as the tests run, although a server of ours can listen on it.

    A socket stays bound to it and never listens: with `SO_REUSEADDR`, which servers set, Linux lets another one do so,
    and gives the port to nobody who asks for any. One that was only found to be free may be taken a moment later.
    """
    holding = socket.socket()
    holding.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holding.bind(("127.0.0.1", 0))
    _HELD.append(holding)
    return int(holding.getsockname()[1])


@atexit.register
def _let_go() -> None:
    for holding in _HELD:
        holding.close()
