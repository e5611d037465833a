"""Files made on the spot."""

from pathlib import Path

import pytest
from paperwork import Write


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a file into the current folder and gives its name, so that messages have no path in them."""
    monkeypatch.chdir(tmp_path)

    def to_file(name: str, content: str | bytes) -> Path:
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return Path(name)

    return to_file
