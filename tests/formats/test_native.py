"""Native workflow, machines and scenario files, and the one loader."""

import gzip
import json
import random

import pytest
from hypothesis import given
from paperwork import Write, workflows

from tradewind.formats import (
    FormatError,
    check_feasible,
    load,
    load_machines,
    load_scenario,
    load_workflow,
)
from tradewind.formats.load import load_text
from tradewind.formats.native import workflow_from
from tradewind.formats.source import Source, unpack
from tradewind.formats.write import write_native
from tradewind.formats.yaml_text import read_yaml
from tradewind.model.machine import Billing, BootLag, MachineType, Market
from tradewind.model.requirement import Requirement, amounts
from tradewind.model.scenario import Arrivals, Estimates, Faults, Generated, Given, Noise
from tradewind.model.tenant import Tenant
from tradewind.model.units import HOUR, MINUTE, SECOND, money
from tradewind.model.workflow import File, Retry, Task, Workflow

WORKFLOW = """\
# a comment
name: reads
priority: 3
deadline: 2h
tasks:
  trim:
    runtime: 5m
    outputs: [{name: t.fq, size: 2GB}]
    run: |
      trim reads.fq
  align_2:
    needs: [trim]
    runtimes: {small: 1h, large: 90}
    capabilities: [gpu, avx]
    cpus: 8
    memory: 1GiB
    amounts: {licences: 1}
    inputs: [t.fq]
    retries: 2
    timeout: 3h
  align_1:
    name: aligner
    needs: [trim, align_2]
    retries: {attempts: 5, delay: 10s, factor: 1.5, max_delay: 1m}
"""


def test_reads_all_a_workflow_can_say(write: Write) -> None:
    workflow = load_workflow(write("w.yaml", WORKFLOW))
    assert workflow == Workflow(
        name="reads",
        priority=3,
        deadline=2 * HOUR,
        parents=((), (0,), (0, 1)),
        tasks=(
            Task("trim", "trim", runtime=5 * MINUTE, outputs=(File("t.fq", 2 * 10**9),), command="trim reads.fq\n"),
            Task(
                "align_2",
                "align",
                requirement=Requirement(frozenset({"gpu", "avx"}), amounts(cpus=8, memory=1024**3, licences=1)),
                runtimes={"small": HOUR, "large": 90 * SECOND},
                inputs=(File("t.fq"),),
                retry=Retry(attempts=3),
                timeout=3 * HOUR,
            ),
            Task("align_1", "aligner", retry=Retry(attempts=5, delay=10 * SECOND, factor=1.5, max_delay=MINUTE)),
        ),
    )


def test_reads_a_list_of_tasks_in_any_order_from_json(write: Write) -> None:
    rows = [{"id": "b", "needs": ["a"]}, {"id": "a"}]
    workflow = load_workflow(write("pair.json", json.dumps({"tasks": rows})))
    assert [task.id for task in workflow.tasks] == ["a", "b"]
    assert workflow.name == "pair"


def test_merges_mappings_and_repeats_aliases(write: Write) -> None:
    text = "tasks:\n  a: &a {cpus: 2, run: x}\n  b:\n    <<: *a\n    run: y\n  c: *a\n  d:\n    <<: [{cpus: 3}, *a]\n"
    tasks = {task.id: task for task in load_workflow(write("w.yaml", text)).tasks}
    assert {name: (dict(task.requirement.amounts)["cpus"], task.command) for name, task in tasks.items()} == {
        "a": (2, "x"),
        "b": (2, "y"),
        "c": (2, "x"),
        "d": (3, "x"),
    }


def test_takes_words_for_text_as_yaml_1_2_does(write: Write) -> None:
    tasks = load_workflow(write("w.yaml", "tasks:\n  no: {run: 1:30}\n  2024-01-01: {run: 'yes'}\n")).tasks
    assert [(task.id, task.command) for task in tasks] == [("no", "1:30"), ("2024-01-01", "yes")]


@pytest.mark.parametrize("shorten", [False, True])
def test_reads_packed_files_member_after_member(write: Write, shorten: bool) -> None:
    half = len(WORKFLOW) // 2
    packed = gzip.compress(WORKFLOW[:half].encode()) + gzip.compress(WORKFLOW[half:].encode())
    name = "anything" if shorten else "w.yaml.gz"
    assert load_workflow(write(name, packed)).name == "reads"


def test_what_comes_from_elsewhere_unpacks_to_no_more_than_documents_do() -> None:
    bomb = gzip.compress(b"tasks: {a: {}}\n" + b"#" * 50_000_000)
    with pytest.raises(FormatError, match=r"decompresses to more than 4,194,304 bytes"):
        load_text(bomb, "bomb")
    chance = random.Random(1)
    tasks = "".join(f"  a{number}: {{runtime: {chance.random()}}}\n" for number in range(150_000))
    packed = gzip.compress(f"tasks:\n{tasks}".encode())
    with pytest.raises(FormatError, match=r"decompresses to more than 1,000,000 bytes"):
        load_text(packed, "large", largest=1_000_000)
    pieces = [gzip.compress(text.encode(), mtime=0) for text in ("tasks:\n", tasks)]
    assert unpack(b"".join(pieces), "large") == f"tasks:\n{tasks}".encode()


def test_refuses_to_unpack_without_bound() -> None:
    with pytest.raises(FormatError, match="decompresses to more than 1,000 bytes"):
        unpack(gzip.compress(b"x" * 10_000_000), "bomb", largest=1000)


MACHINES = """\
machines:
  small: {price: 5}
  large:
    price: 0.6/h
    billing: {period: hour, rounding: minute, minimum: 10m}
    boot: {mean: 2m, deviation: 20s, declared: 1m}
    limit: 7
    capabilities: [gpu]
    cpus: 16
    memory: 64GiB
    gpus: 2
    amounts: {licences: 3}
    speed: 2
    market: spot
  odd: {price: 0.6/h, billing: 10m, boot: 30, cpus: 4, slots: 1}
"""


def test_reads_machine_types(write: Write) -> None:
    small, large, odd = load_machines(write("m.yaml", MACHINES))
    assert small == MachineType("small", price=money(5))
    assert large == MachineType(
        "large",
        price=money(0.6),
        billing=Billing(HOUR, MINUTE, 10 * MINUTE),
        boot=BootLag(2 * MINUTE, 20 * SECOND, MINUTE),
        limit=7,
        capabilities=frozenset({"gpu"}),
        slots=16,
        amounts=amounts(cpus=16, memory=64 * 1024**3, gpus=2, licences=3),
        speed=2.0,
        market=Market.SPOT,
    )
    assert (odd.price, odd.billing.period, odd.boot.mean, odd.slots) == (money(0.1), 10 * MINUTE, 30 * SECOND, 1)


def test_refuses_a_price_beyond_all_bounds(write: Write) -> None:
    with pytest.raises(FormatError, match=r"m\.yaml:1: machines\.a\.price: is too large"):
        load_machines(write("m.yaml", "machines: {a: {price: 999999999/h, billing: 10000d}}"))


SCENARIO = """\
workload:
- files: [w.yaml, w.yaml]
  arrivals: {process: poisson, every: 30s}
  tenants: [lab]
- {generate: montage, count: 3, tasks: 20, priorities: 10, arrivals: {process: trace, file: t.csv}}
machines: m.yaml
tenants:
  lab: {budget: 12.5, interval: 1h, weight: 2}
  clinic: {}
policy: {name: pfa, eager: true}
interval: 2m
seed: 42
faults: {task_failure: 0.1, machine_loss: 0.5, boot_failure: 0.2}
noise: {deviation: 0.3}
estimates: {kind: noisy, deviation: 0.4}
"""


def test_reads_a_scenario_and_the_files_it_speaks_of(write: Write) -> None:
    write("w.yaml", "tasks: {a: {}}\n")
    write("m.yaml", MACHINES)
    scenario = load_scenario(write("s.yaml", SCENARIO))
    given, generated = scenario.workload
    assert isinstance(given, Given)
    assert [each.name for each in given.workflows if isinstance(each, Workflow)] == ["w", "w"]
    assert given.arrivals == Arrivals("poisson", {"every": "30s"})
    assert given.tenants == ("lab",)
    trace = Arrivals("trace", {"file": "t.csv"})
    assert generated == Generated("montage", 3, 20, trace, ("lab", "clinic"), 10)
    assert scenario.machines == load_machines("m.yaml") == load_machines("s.yaml")
    assert scenario.tenants == (Tenant("lab", money(12.5), HOUR, 2.0), Tenant("clinic"))
    assert (scenario.policy, scenario.parameters) == ("pfa", {"eager": True})
    assert (scenario.interval, scenario.seed) == (2 * MINUTE, 42)
    assert scenario.faults == Faults(0.1, 0.5, 0.2)
    assert (scenario.noise, scenario.estimates) == (Noise(0.3), Estimates("noisy", 0.4))


def test_short_forms_of_a_scenario(write: Write) -> None:
    text = "workload: [{generate: chain}]\nmachines: {a: {}}\npolicy: scf\nnoise: 0.2\nestimates: declared\n"
    scenario = load_scenario(write("s.yaml", text))
    assert (scenario.policy, scenario.noise, scenario.estimates) == ("scf", Noise(0.2), Estimates("declared"))
    assert scenario.tenants == (Tenant("default"),)


def test_a_scenario_refuses_work_that_no_machine_can_do(write: Write) -> None:
    write("w.yaml", "tasks:\n  a: {}\n  mAdd_2:\n    capabilities: [gpu]\n")
    scenario = write("s.yaml", "workload: [{file: w.yaml}]\nmachines: {a: {capabilities: [highmem, cpu]}}\n")
    with pytest.raises(FormatError) as caught:
        load_scenario(scenario)
    assert str(caught.value) == "w.yaml:3: task 'mAdd_2' needs 'gpu', but machine types offer only cpu, highmem"


@pytest.mark.parametrize(
    ("requirement", "reason"),
    [
        (Requirement(frozenset({"gpu"})), "needs 'gpu', but machine types offer only fast"),
        (Requirement(amounts=amounts(cpus=9)), "needs 9 of cpus, but machine types offer at most 8"),
        (Requirement(amounts=amounts(gpus=1)), "needs 1 of gpus, but machine types offer none"),
        (
            Requirement(frozenset({"fast"}), amounts(cpus=8)),
            "needs fast, cpus=8, but no machine type offers all of it",
        ),
    ],
)
def test_says_what_no_machine_offers(requirement: Requirement, reason: str) -> None:
    machines = [MachineType("a", amounts=amounts(cpus=8)), MachineType("b", capabilities=frozenset({"fast"}))]
    workflow = Workflow("w", (Task("t", "t", requirement), Task("u", "u", requirement)), ((), ()))
    with pytest.raises(FormatError) as caught:
        check_feasible(workflow, machines)
    assert str(caught.value) == f"w: task 't' {reason}"


def test_lists_find_the_line_of_a_task(write: Write) -> None:
    document = load(write("w.yaml", "tasks:\n- id: a\n- id: b\n"))
    assert document.line_of("b") == 3


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ("tasks: {a: {}}", [load_machines, load_scenario]),
        ("machines: {a: {}}", [load_workflow, load_scenario]),
        ("workload: [{generate: x}]\nmachines: {a: {}}", [load_workflow]),
    ],
)
def test_says_when_a_file_is_of_another_kind(write: Write, content: str, wrong: list[type]) -> None:
    file = write("x.yaml", content)
    for loader in wrong:
        with pytest.raises(FormatError, match=r"x\.yaml: contains .*, not .*; a .* has "):
            loader(file)


def test_a_scenario_that_takes_its_machines_from_itself_is_refused(write: Write) -> None:
    with pytest.raises(FormatError, match="contains a scenario, not machine types"):
        load(write("s.yaml", "workload: [{generate: x}]\nmachines: s.yaml\n"))


@given(workflows())
def test_what_is_written_reads_back_the_same(workflow: Workflow) -> None:
    assert workflow_from(read_yaml(Source("w.yaml", write_native(workflow)))) == workflow
