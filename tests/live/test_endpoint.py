"""The endpoint of a session: connections that are open when it ends are no news."""

import asyncio
from typing import Any

from tradewind.live.endpoint import Endpoint


def test_an_open_connection_is_let_go_without_a_word_when_the_session_ends() -> None:
    told: list[Any] = []

    async def session() -> asyncio.StreamWriter:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
        endpoint = Endpoint()
        await endpoint.open()
        host, port = endpoint.address.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"POST /agent/v1/shares/1.1/report HTTP/1.1\r\n")
        await writer.drain()
        await asyncio.sleep(0)
        while not any(task.get_coro().__qualname__ == "Endpoint._serve" for task in asyncio.all_tasks()):  # type: ignore[union-attr]
            await asyncio.sleep(0)
        writer.transport.abort()
        endpoint.close()
        return writer

    asyncio.run(session())
    assert told == []
