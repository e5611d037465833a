"""How long it takes to write and load a large workflow in each format."""

import random
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

from tradewind.formats.load import load_workflow
from tradewind.formats.write import write_native, write_wfformat
from tradewind.sim.generators import generate


def run(*, quick: bool) -> list[dict[str, Any]]:
    """CPU seconds to generate, write and load a Montage workflow."""
    tasks = 10_000 if quick else 100_000
    begin = process_time()
    workflow = generate("montage", tasks, random.Random(1))
    made = process_time() - begin
    rows = []
    with TemporaryDirectory() as folder:
        for name, write in (("wfformat", write_wfformat), ("native", write_native)):
            path = Path(folder) / name
            begin = process_time()
            text = write(workflow)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
            written = process_time() - begin
            begin = process_time()
            loaded = load_workflow(path)
            rows.append(
                {
                    "format": name,
                    "tasks": len(loaded.tasks),
                    "megabytes": round(path.stat().st_size / 1e6, 1),
                    "generate_s": round(made, 2),
                    "write_s": round(written, 2),
                    "load_s": round(process_time() - begin, 2),
                }
            )
    return rows
