"""All workflows of the shared data, against the table that describes them."""

import re
from collections import Counter
from pathlib import Path

import pytest
from paperwork import DATA, needs_data

from tradewind.formats import FormatErrors, load_workflow
from tradewind.formats.json_text import read_json
from tradewind.formats.native import workflow_from
from tradewind.formats.source import Source
from tradewind.formats.wfformat import workflow_from_wfformat
from tradewind.formats.write import write_native, write_wfformat
from tradewind.formats.yaml_text import read_yaml

BROKEN = "Epigenomics_997"


def described() -> list[tuple[Path, tuple[int, ...]]]:
    """Files and their tasks, edges, levels and width as the data's own description states them."""
    if not DATA.is_dir():
        return []
    rows = re.findall(
        r"^\| (\S+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|", (DATA / "README.md").read_text(), re.MULTILINE
    )
    files = {path.name.split(".")[0]: path for folder in ("dax", "wfinstances") for path in (DATA / folder).iterdir()}
    return [(files[name], tuple(map(int, numbers))) for name, *numbers in rows if name in files]


@needs_data
def test_the_description_covers_all_files() -> None:
    assert len(described()) == 26 + 29


@needs_data
@pytest.mark.parametrize(("path", "numbers"), described(), ids=lambda value: getattr(value, "name", ""))
def test_counts_are_those_of_the_table_and_survive_a_round_trip(path: Path, numbers: tuple[int, ...]) -> None:
    workflow = load_workflow(path, lenient=BROKEN in path.name)
    levels = workflow.levels()
    edges = sum(map(len, workflow.parents))
    assert (len(workflow.tasks), edges, max(levels) + 1, max(Counter(levels).values())) == numbers
    assert all(task.runtime and task.runtime > 0 for task in workflow.tasks)
    assert workflow_from(read_yaml(Source("w.yaml", write_native(workflow)))) == workflow
    again = workflow_from_wfformat(read_json(Source("w.json", write_wfformat(workflow).decode())))
    if "wfinstances" in str(path):
        assert again == workflow
    else:
        assert again.parents == workflow.parents
        assert [(task.id, task.name, task.runtime) for task in again.tasks] == [
            (task.id, task.name, task.runtime) for task in workflow.tasks
        ]


@needs_data
def test_negative_times_and_sizes_are_told_with_their_lines() -> None:
    with pytest.raises(FormatErrors) as caught:
        load_workflow(DATA / "dax" / f"{BROKEN}.xml.gz")
    assert caught.value.count == 57 + 209
    assert caught.value.line == 30
    first, *_, last = str(caught.value).splitlines()
    assert first.endswith(":30: ID00000.size: '-6585019' is negative; --lenient reads it as zero")
    assert last == "and 246 more"


@needs_data
@pytest.mark.parametrize(
    ("file", "kinds"),
    [
        ("montage-chameleon-2mass-005d-001", 8),
        ("epigenomics-chameleon-ilmn-4seq-50k-001", 8),
        ("bwa-chameleon-small-001", 5),
    ],
)
def test_recorded_tasks_of_one_kind_share_a_name(file: str, kinds: int) -> None:
    workflow = load_workflow(DATA / "wfinstances" / f"{file}.json.gz")
    assert len({task.name for task in workflow.tasks}) == kinds
