"""Reduces the results of a job on a site: `python -m tradewind.worker.reducer run|python WHAT`, as a partition.

It holds the lease while the reducer runs; if anything dies, another site begins anew.
"""

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tradewind.worker import reducing
from tradewind.worker.client import CallError, Client

_PART = 4
"""Signs of life in a report interval."""


def main(reducer: str, reduce: str) -> None:
    """Fetch the results, reduce them, upload what comes of it."""
    client = Client(os.environ["TRADEWIND_SERVER"], os.environ["TRADEWIND_LEASE"])
    try:
        _reduce(client, os.environ["TRADEWIND_URL"], reducing.command_of(reducer, reduce))
    except CallError as refused:
        if not refused.is_stale:
            raise
    finally:
        client.close()


def _reduce(client: Client, url: str, command: list[str]) -> None:
    told = client.call("POST", f"{url}/start", {})
    if told["next"] == "end":
        return
    over = threading.Event()
    alive = threading.Thread(target=_stay, args=(url, told["interval"], over), daemon=True)
    alive.start()
    try:
        results = client.call("GET", f"{url}/results")["results"]
        addresses: dict[str, Any] = {each["object"]: each["url"] for each in results if "object" in each}
        files = reducing.lay_out(results, lambda key: client.transfer("GET", addresses[key]), Path("results"))
        content = reducing.reduce_files(command, files, Path.cwd())
        place = client.call("POST", f"{url}/uploads", {"number": 1})
        client.transfer("PUT", place["url"], content)
        client.call("POST", f"{url}/reduced", {"number": 1})
    except reducing.ReduceError as error:
        client.call("POST", f"{url}/finish", {"failure": str(error)})
        raise SystemExit(f"error: {error}") from error
    finally:
        over.set()
        alive.join()


def _stay(url: str, interval: float, over: threading.Event) -> None:
    """Say from time to time that we are there."""
    client = Client(url, os.environ["TRADEWIND_LEASE"])
    began = time.monotonic()
    while not over.wait(interval / _PART):
        try:
            client.call("POST", f"{url}/report", {"done": 0, "elapsed": time.monotonic() - began}, patience=interval)
        except Exception:
            break
    client.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
