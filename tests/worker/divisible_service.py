"""A service of divisible jobs as a process of its own, for tests: `python divisible_service.py FOLDER PORT FACTOR`."""

import sys
from dataclasses import replace
from pathlib import Path

import uvicorn

from tradewind.core.divisible.settings import Settings
from tradewind.model.units import SECOND
from tradewind.server.divisible.app import alone
from tradewind.server.divisible.office import open_office


def main(folder: Path, store: str, port: int, factor: float) -> None:
    settings = replace(Settings().scaled(factor), start=60 * SECOND, silence=5 * SECOND, outage=3 * SECOND)
    office = open_office(store or folder / "store.db", folder, settings, durability="relaxed")
    uvicorn.run(alone(office, "admin"), host="127.0.0.1", port=port, log_level="error", access_log=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[4] if len(sys.argv) > 4 else "", int(sys.argv[2]), float(sys.argv[3]))
