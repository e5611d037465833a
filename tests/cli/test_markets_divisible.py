"""What markets would save for divisible tasks."""

import json
from pathlib import Path

from typer.testing import CliRunner

from tradewind.cli import application

TEXT = """\
tasks:
  sim: {runtime: 8h, cpus: 2, divisible: {iterations: 4800, initial: 2, maximum: 50, within: 1h}}
"""


def test_shares_on_regular_machines_are_never_preempted_and_waste_next_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "work.yaml").write_text(TEXT)
    arguments = ["simulate", str(tmp_path / "work.yaml"), "--market", "harvest:C2", "--json", "-"]
    done = CliRunner().invoke(application(), arguments)
    assert done.exit_code == 0, done.output
    regular = next(each for each in json.loads(done.stdout)["markets"] if each["machines"] == "regular")
    assert regular["preempted"] == 0
    assert regular["wasted"] < 0.01
