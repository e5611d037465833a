"""The plain protocol: the shell program of the documentation, on a real server and an agent."""

import re
import shutil
import stat
from pathlib import Path

import pytest
from agent_rig import World

DOCS = Path(__file__).parents[2] / "docs"
JOB = """
steps:
  add:
    divisible: {{iterations: 60000, run: "{program}", within: 20s, reduce: sum, partitions: 2}}
    outputs: {{total: return}}
outputs: {{total: "{{{{ add.total }}}}"}}
"""


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_shell_program_of_the_documentation_works(world: World) -> None:
    (text,) = re.findall(r"```sh\n(.*?)```", (DOCS / "share-protocol.md").read_text(), re.DOTALL)
    program = world.folder / "add.sh"
    program.write_text(text)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    world.agent(slots=2)
    run = world.submit(JOB.format(program=program))
    assert world.outputs(run)["total"] == sum(range(60_000))


def test_a_program_that_always_fails_fails_the_run(world: World) -> None:
    world.agent()
    run = world.submit(JOB.format(program="exit 3"))
    assert world.ended(run)["status"] == "failed"
    assert "exit code 3" in world.explained(run)
