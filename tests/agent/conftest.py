"""Where the rig is, and a world for each test that wants one."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from agent_rig import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    try:
        made.server.start()
        yield made
    finally:
        made.close()
