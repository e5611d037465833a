"""What the pages about divisible jobs show is run."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HOWTO = Path(__file__).parents[2] / "docs" / "howto" / "divisible-programs.md"


def test_the_ten_lines_of_the_how_to_run_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", HOWTO.read_text(), re.DOTALL)
    assert len(program.strip().splitlines()) <= 10
    exec(compile(program, "program.py", "exec"), {})  # noqa: S102  # our page
    assert capsys.readouterr().out.strip() == str(sum(number * number for number in range(1_000)))


def test_the_divisible_step_of_the_page_on_workflows_runs(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "workflows.md").read_text()
    section = page[page.index("### Divisible steps") :]
    (program,) = re.findall(r"```python\n# pricing.py\n(.*?)```", section, re.DOTALL)
    (workflow,) = re.findall(r"```yaml\n(# price.yaml\n.*?)```", section, re.DOTALL)
    (tmp_path / "pricing.py").write_text(program)
    (tmp_path / "price.yaml").write_text(workflow)
    command = [sys.executable, "-m", "tradewind", "run", "price.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (out,) = tmp_path.glob(".tradewind/runs/*/report.*/out")
    price, told = out.read_text().split(" ", 1)
    assert told.strip() == "from 20000 paths"
    names: dict[str, Any] = {}
    exec(compile(program, "pricing.py", "exec"), names)  # noqa: S102  # our page
    assert float(price) == pytest.approx(names["paid"](range(20_000), 105)["paid"] / 20_000)
