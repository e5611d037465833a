"""Generated workflows beside the published instances they imitate; skipped where these are not at hand."""

import gzip
import random
import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tradewind.model.units import in_seconds
from tradewind.model.workflow import File, Task, Workflow, arrange
from tradewind.sim.generators import generate

DAX = Path(__file__).parents[2].parent / "shared" / "data" / "dax"
PUBLISHED = {
    "cybershake": ("CyberShake_30", "CyberShake_50", "CyberShake_100", "CyberShake_300_gen", "CyberShake_1000"),
    "epigenomics": (
        "Epigenomics_24",
        "Epigenomics_46",
        "Epigenomics_100",
        "Epigenomics_300_gen",
        "Epigenomics_1000_gen",
    ),
    "ligo": ("Inspiral_30", "Inspiral_50", "Inspiral_100", "Inspiral_300_gen", "Inspiral_1000"),
    "montage": ("Montage_25", "Montage_50", "Montage_100", "Montage_300_gen", "Montage_1000"),
    "sipht": ("Sipht_30", "Sipht_60", "Sipht_100", "Sipht_300_gen", "Sipht_1000_gen"),
}
CASES = [(family, instance) for family, instances in PUBLISHED.items() for instance in instances]
SEEDS = range(8)
SCALED = {"mConcatFit", "mBgModel", "mImgTbl", "mAdd", "mShrink", "mJPEG", "ZipSeis", "ZipPSA"}
"""Names whose run times grow with the workflow: compared where the size is the same."""

pytestmark = pytest.mark.skipif(not DAX.is_dir(), reason="published instances are not at hand")


@dataclass(frozen=True)
class Shape:
    levels: int
    names_by_level: frozenset[tuple[int, str]]
    width: float
    degree: float
    shares: dict[str, float]


@cache
def published(instance: str) -> Workflow:
    """A published instance, read without the product's own loader."""
    jobs: dict[str, Task] = {}
    parents: dict[str, list[str]] = defaultdict(list)
    with gzip.open(DAX / f"{instance}.xml.gz") as stream:
        for element in ET.parse(stream).getroot():  # noqa: S314
            kind = element.tag.rpartition("}")[2]
            if kind == "job":
                name = element.attrib["name"].removesuffix("_chr21")
                files = tuple(
                    File(use.attrib["file"], int(use.attrib["size"]))
                    for use in element
                    if use.attrib["link"] == "output"
                )
                runtime = round(float(element.attrib["runtime"]) * 1e6)
                jobs[element.attrib["id"]] = Task(element.attrib["id"], name, runtime=runtime, outputs=files)
            elif kind == "child":
                parents[element.attrib["ref"]] += [parent.attrib["ref"] for parent in element]
    places = {job: place for place, job in enumerate(jobs)}
    return arrange(instance, list(jobs.values()), [[places[parent] for parent in parents[job]] for job in jobs])


@cache
def generated(family: str, tasks: int, seed: int) -> Workflow:
    return generate(family, tasks, random.Random(seed))


def shape(workflow: Workflow) -> Shape:
    levels = workflow.levels()
    count = len(workflow.tasks)
    names = Counter(task.name for task in workflow.tasks)
    return Shape(
        levels=max(levels) + 1,
        names_by_level=frozenset(zip(levels, (task.name for task in workflow.tasks), strict=True)),
        width=max(Counter(levels).values()) / count,
        degree=sum(map(len, workflow.parents)) / count,
        shares={name: tasks / count for name, tasks in names.items()},
    )


def alike(family: str, instance: str) -> list[Shape]:
    """Shapes of generated workflows with the size and, where that varies, the number of levels of an instance."""
    real = published(instance)
    levels = max(real.levels())
    made = [generated(family, len(real.tasks), seed) for seed in range(60 if family == "epigenomics" else len(SEEDS))]
    return [shape(workflow) for workflow in made if max(workflow.levels()) == levels]


@pytest.mark.parametrize(("family", "instance"), CASES)
def test_levels_are_the_same_and_hold_the_same_names(family: str, instance: str) -> None:
    real = shape(published(instance))
    made = alike(family, instance)
    assert made
    assert {one.levels for one in made} == {real.levels}
    assert {one.names_by_level for one in made} == {real.names_by_level}


@pytest.mark.parametrize(("family", "instance"), CASES)
def test_width_degree_and_shares_of_names_are_close(family: str, instance: str) -> None:
    real = shape(published(instance))
    made = alike(family, instance)
    assert statistics.mean(one.width for one in made) == pytest.approx(real.width, abs=0.04)
    assert statistics.mean(one.degree for one in made) == pytest.approx(real.degree, rel=0.08)
    for name, share in real.shares.items():
        slack = 0.06 if name == "Thinca" else 0.04  # published instances of like size have from 3 to 14 groups
        assert statistics.mean(one.shares[name] for one in made) == pytest.approx(share, abs=slack), name


def samples(workflows: list[Workflow]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = defaultdict(list)
    for workflow in workflows:
        for task in workflow.tasks:
            times[task.name].append(in_seconds(task.runtime or 0))
    return times


def distance(some: list[float], others: list[float]) -> float:
    """Kolmogorov and Smirnov's: the largest gap between two cumulative distributions."""
    places = sorted({*some, *others})
    gap = 0.0
    some, others = sorted(some), sorted(others)
    i = j = 0
    for place in places:
        while i < len(some) and some[i] <= place:
            i += 1
        while j < len(others) and others[j] <= place:
            j += 1
        gap = max(gap, abs(i / len(some) - j / len(others)))
    return gap


@pytest.mark.parametrize("family", ["cybershake", "ligo", "montage", "sipht"])
def test_run_times_per_name_are_distributed_alike(family: str) -> None:
    """Means within 10 % from 40 tasks on and 25 % below; distance below 0.1 plus what chance alone does at 1 %."""
    real = samples([published(instance) for instance in PUBLISHED[family]])
    made = samples([generated(family, len(published(i).tasks), seed) for i in PUBLISHED[family] for seed in SEEDS])
    assert real.keys() == made.keys()
    for name in real.keys() - SCALED:
        few = len(real[name]) < 40
        assert statistics.mean(made[name]) == pytest.approx(statistics.mean(real[name]), rel=0.25 if few else 0.1), name
        if statistics.pstdev(real[name]) > 0:
            chance = 1.63 * (1 / len(real[name]) + 1 / len(made[name])) ** 0.5
            assert distance(real[name], made[name]) < 0.1 + chance, name


@pytest.mark.parametrize("family", ["cybershake", "montage"])
def test_run_times_that_grow_with_the_workflow_lie_where_the_published_ones_do(family: str) -> None:
    """Single tasks: the published run time lies within the range that generated ones span, give or take 15 %."""
    for instance in PUBLISHED[family]:
        real = samples([published(instance)])
        made = samples([generated(family, len(published(instance).tasks), seed) for seed in range(60)])
        for name in real.keys() & SCALED:
            (time,) = real[name]
            assert min(made[name]) * 0.85 <= time <= max(made[name]) * 1.15, (instance, name)


def test_run_times_of_epigenomics_follow_chunks_and_reference() -> None:
    """Seconds per lane within 25 %; mapping, which hangs on the reference, within the range of generated ones."""
    real = [published(instance) for instance in PUBLISHED["epigenomics"]]
    made = [generated("epigenomics", len(workflow.tasks), seed) for workflow in real for seed in range(20)]
    for name in ("filterContams", "sol2sanger", "fastq2bfq"):
        assert lane_seconds(made, name) == pytest.approx(lane_seconds(real, name), rel=0.25), name
    for name in ("map", "pileup"):
        means = [statistics.mean(samples([workflow])[name]) for workflow in made]
        for workflow in real:
            assert min(means) * 0.85 < statistics.mean(samples([workflow])[name]) < max(means) * 1.15, name


def lane_seconds(workflows: list[Workflow], name: str) -> float:
    """Mean time that all tasks of a name take for one lane."""
    return statistics.mean(
        sum(samples([workflow])[name]) / len(samples([workflow])["fastqSplit"]) for workflow in workflows
    )


@pytest.mark.parametrize("family", ["cybershake", "ligo", "montage"])
def test_written_bytes_are_close(family: str) -> None:
    """Within 25 %, with three instances of different size."""
    for instance in PUBLISHED[family][-3:]:
        real = written(published(instance))
        made = statistics.mean(written(generated(family, len(published(instance).tasks), seed)) for seed in SEEDS)
        if family != "cybershake":  # there the number of cuts is anyone's guess
            assert made == pytest.approx(real, rel=0.25), instance
        else:
            assert real / 4 < made < real * 4, instance


def written(workflow: Workflow) -> int:
    return sum(file.size for task in workflow.tasks for file in task.outputs)
