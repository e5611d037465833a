"""A service of divisible jobs as a process: `python -m tradewind.experiments.tascaas.service FOLDER PORT FACTOR`."""

import sys
from dataclasses import replace
from pathlib import Path

import uvicorn

from tradewind.core.divisible.settings import Settings
from tradewind.model.units import SECOND
from tradewind.server.divisible.app import alone
from tradewind.server.divisible.office import open_office


def main(folder: Path, port: int, factor: float) -> None:
    """Serve with all times shortened, but for those that starting a process takes."""
    settings = replace(Settings().scaled(factor), start=30 * SECOND, silence=2 * SECOND, outage=2 * SECOND)
    office = open_office(folder / "store.db", folder, settings)
    uvicorn.run(
        alone(office, "live"), host="127.0.0.1", port=port, log_level="error", access_log=False, timeout_keep_alive=60
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
