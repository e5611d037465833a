"""A server for the tests of a module."""

from collections.abc import Iterator

import pytest
from server_rig import Site, running, settings_for


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running(settings_for(tmp_path_factory.mktemp("site"))) as made:
        yield made
