"""A local engine for the tests of one module, with short limits."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_rig import Rig

from tradewind.live.engines.local import LocalEngine


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    root = tmp_path_factory.mktemp("engine")
    path = [str(Path(__file__).parent)]
    rig = Rig(
        lambda listener: LocalEngine(
            listener, root, grace=0.5, silence=2.0, flood=1 << 20, pause=0.1, path=path, room=0.0
        ),
        root,
    )
    yield rig
    rig.close()


@pytest.fixture(scope="module")
def machine(rig: Rig) -> int:
    return rig.machine()
