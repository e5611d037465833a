"""What the pages about divisible jobs show is run."""

import re
from pathlib import Path

import pytest

HOWTO = Path(__file__).parents[2] / "docs" / "howto" / "divisible-programs.md"


def test_the_ten_lines_of_the_how_to_run_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", HOWTO.read_text(), re.DOTALL)
    assert len(program.strip().splitlines()) <= 10
    exec(compile(program, "program.py", "exec"), {})  # noqa: S102  # our page
    assert capsys.readouterr().out.strip() == str(sum(number * number for number in range(1_000)))
