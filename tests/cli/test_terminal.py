"""What others have written cannot take over a terminal."""

import io
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.cli import logs, output, terminal, watching
from tradewind.cli.places import Form

HOSTILE = "ok\x1b]0;pwned\x07\x1b[2J\x9b1A\r\u202egnp\x00\x7f"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Logs:
    """A run with one log."""

    def __init__(self, text: str) -> None:
        self._data = text.encode()

    def log_files(self, *_: Any) -> list[dict[str, Any]]:
        return [{"name": "out", "bytes": len(self._data)}]

    def read_log(self, *_: Any) -> bytes:
        return self._data


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, text: str, **how: Any) -> str:
    monkeypatch.setattr(sys, "stdout", stream)
    reader = logs.Reader(Logs(text), "r", errors_only=False, tail=None, **how)  # type: ignore[arg-type]
    reader.show({"number": 1, "name": "t"}, 1, prefix=f"{HOSTILE}| ")
    return stream.getvalue()


@given(st.text())
def test_no_control_character_is_left(text: str) -> None:
    assert all(letter in "\n\t" or letter.isprintable() or not letter.isascii() for letter in terminal.visible(text))
    assert "\x1b" not in terminal.visible(text)
    assert "\n" not in terminal.cell(text)


def test_names_in_tables_and_messages_are_written_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    output.show([{"name": HOSTILE}], [output.field("name")], Form.TABLE)
    output.show_one({"name": HOSTILE}, Form.TABLE)
    output.show_failures({"reason": HOSTILE, "failures": [{"name": HOSTILE, "attempt": 1, "reason": HOSTILE}]})
    output.show_outputs({"x": HOSTILE})
    watching.say(HOSTILE)
    told = "".join(capsys.readouterr())
    assert told.count("\\x1b]0;pwned\\x07") == 7
    assert not set(HOSTILE) & set(told) & set("\x1b\x07\x9b\r\u202e\x00\x7f")


def test_logs_keep_their_colours_on_a_terminal_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    told = shown(monkeypatch, Terminal(), f"\x1b[31mred\x1b[0m 10%\r20%\r\n{HOSTILE}\n")
    assert told.splitlines()[0].endswith("| \x1b[31mred\x1b[0m 10%")
    assert "\x1b" not in told.replace("\x1b[31m", "").replace("\x1b[0m", "")
    assert not set("\x07\x9b\r\u202e\x00\x7f") & set(told)


def test_logs_are_raw_in_files_and_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert HOSTILE in shown(monkeypatch, io.StringIO(newline=""), HOSTILE)
    assert HOSTILE in shown(monkeypatch, Terminal(newline=""), HOSTILE, is_raw=True)
