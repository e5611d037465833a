"""Which steps find no machine, told before anything runs."""

from tradewind.formats.load import load_text
from tradewind.model.machine import MachineType
from tradewind.model.program import Program
from tradewind.model.requirement import amounts
from tradewind.model.unserved import unserved

SMALL = MachineType("small", amounts=amounts(cpus=2))
TEXT = """
steps:
  fits: {run: "true", cpus: 2}
  big: {run: "true", cpus: 4}
  perhaps: {run: "true", cpus: 4, when: params.x}
  listed: {for_each: [1, 2], run: "true", cpus: 4}
  empty: {for_each: [], run: "true", cpus: 4}
  later: {for_each: params.x, run: "true", cpus: 4}
  group: {steps: {inner: {run: "true", cpus: 4}}}
  part: {include: other, when: params.x}
params: {x: [1]}
programs: {other: {steps: {deep: {run: "true", gpus: 1}}}}
"""


def test_names_steps_without_a_machine_and_whether_they_are_certain_to_come() -> None:
    program = load_text(TEXT.encode(), "flow").content
    assert isinstance(program, Program)
    found = {".".join(each.place): each.is_certain for each in unserved(program, [SMALL])}
    assert found == {
        "big": True,
        "perhaps": False,
        "listed": True,
        "empty": False,
        "later": False,
        "group.inner": True,
        "part.deep": False,
    }
    roomy = MachineType("roomy", amounts=amounts(cpus=4, gpus=1))
    assert not list(unserved(program, [SMALL, roomy]))
