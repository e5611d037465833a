"""The cache as a user meets it: steps that have not changed do not run again, and one is told what has changed."""

import json
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tradewind.cli import application
from tradewind.live.store.open import open_store
from tradewind.live.store.port import RunDetail

FLOW = """
params: {text: {type: file, default: in.txt}, times: {type: int, default: 2}}
steps:
  words:
    run: "echo x >> %s; tr ' ' '\\\\n' < {{ params.text }} > words.txt"
    outputs: {file: words.txt}
  count:
    run: "echo x >> %s; wc -l < {{ words.file }}"
    outputs: {n: json}
  each:
    for_each: "range(count.n)"
    run: "echo $(( {{ item }} * {{ params.times }} ))"
    outputs: {value: json}
  total:
    python: steps:total
    inputs: {values: "{{ each.value }}"}
    outputs: {sum: return}
outputs: {sum: "{{ total.sum }}"}
"""


class Folder:
    """A folder with a workflow that leaves a mark whenever one of its first two steps runs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "in.txt").write_text("a b c\n")
        (path / "steps.py").write_text("def total(values):\n    return sum(values)\n")
        (path / "flow.yaml").write_text(FLOW % (path / "ran-words", path / "ran-count"))

    def run(self, *arguments: str) -> RunDetail:
        outcome = json.loads(self.cli("run", "flow.yaml", "--json", *arguments))
        store = open_store(self.path / ".tradewind" / "store.db")
        detail = store.run(outcome["run"])
        store.close()
        assert detail is not None
        return detail

    def ran(self, step: str) -> int:
        mark = self.path / f"ran-{step}"
        return mark.read_text().count("x") if mark.exists() else 0

    def cli(self, *words: str) -> str:
        with chdir(self.path):
            done = CliRunner().invoke(application(words[0]), list(words))
        assert done.exit_code == 0, done.output
        return done.stdout


def results_of(detail: RunDetail) -> dict[str, Any]:
    return {call: values for unit in detail.units for call, values in (unit.results or {}).items()}


def outcomes_of(detail: RunDetail) -> dict[str, str]:
    chains = {unit.number: unit.chain for unit in detail.units}
    return {chains[attempt.unit]: attempt.outcome for attempt in detail.attempts}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_what_has_not_changed_does_not_run_again(folder: Folder) -> None:
    first, second = folder.run(), folder.run()
    assert set(outcomes_of(first).values()) == {"done"}
    assert set(outcomes_of(second).values()) == {"cached"}
    assert (folder.ran("words"), folder.ran("count")) == (1, 1)
    assert results_of(second)["total"] == results_of(first)["total"] == {"sum": 6}
    assert {unit.chain for unit in first.units} == {unit.chain for unit in second.units}
    file = Path(results_of(second)["words"]["file"])
    assert second.run.id in file.parts  # files of its own, so that the first run may be removed
    assert file.read_text() == "a\nb\nc\n"
    assert not any(attempt.machine >= 0 for attempt in second.attempts)
    assert (second.run.status, second.run.ended is not None) == ("done", True)


def test_of_a_chain_only_what_follows_a_change_runs(folder: Folder) -> None:
    folder.run()
    text = (folder.path / "flow.yaml").read_text()
    (folder.path / "flow.yaml").write_text(text.replace("wc -l <", "cat"))
    (folder.path / "in.txt").write_text("2\n")
    folder.run()
    assert (folder.ran("words"), folder.ran("count")) == (2, 2)
    (folder.path / "flow.yaml").write_text(text.replace("wc -l <", "head -n 1"))
    detail = folder.run()
    assert (folder.ran("words"), folder.ran("count")) == (2, 3)
    assert results_of(detail)["count"] == {"n": 2}
    assert Path(results_of(detail)["words"]["file"]).read_text() == "2\n"


def test_a_changed_function_parameter_or_file_runs_again(folder: Folder) -> None:
    folder.run()
    (folder.path / "steps.py").write_text("def total(values):\n    return max(values)\n")
    changed = folder.run()
    assert {chain for chain, outcome in outcomes_of(changed).items() if outcome == "done"} == {"total"}
    assert results_of(changed)["total"] == {"sum": 4}
    changed = folder.run("-p", "times=3")
    done = {chain for chain, outcome in outcomes_of(changed).items() if outcome == "done"}
    assert done == {"each[1]", "each[2]", "total"} | {"each[0]"}
    (folder.path / "in.txt").write_text("a b\n")
    assert results_of(folder.run())["count"] == {"n": 2}
    assert folder.ran("words") == 2


def test_no_cache_runs_everything_and_remembers_it(folder: Folder) -> None:
    folder.run()
    assert set(outcomes_of(folder.run("--no-cache")).values()) == {"done"}
    assert folder.ran("words") == 2
    assert set(outcomes_of(folder.run()).values()) == {"cached"}


def test_a_result_whose_file_was_changed_is_made_again(folder: Folder) -> None:
    first = folder.run()
    Path(results_of(first)["words"]["file"]).write_text("x\n")
    second = folder.run()
    assert outcomes_of(second)["words"] == "done"
    assert results_of(second)["count"] == {"n": 3}


def test_steps_without_outputs_and_those_that_say_so_always_run(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    text = f"""
    steps:
      words: {{run: "echo x >> {tmp_path}/ran-words"}}
      count: {{run: "echo x >> {tmp_path}/ran-count; echo 1", outputs: {{n: json}}, cache: false}}
    """
    (tmp_path / "flow.yaml").write_text(text)
    for _ in range(2):
        folder.run()
    assert (folder.ran("words"), folder.ran("count")) == (2, 2)


def test_the_commands_show_explain_and_prune(folder: Folder) -> None:
    folder.run()
    (folder.path / "in.txt").write_text("a b\n")
    detail = folder.run("-p", "times=5")
    listed = json.loads(folder.cli("cache", "list", "-o", "json"))
    assert {row["step"] for row in listed} == {"flow/words", "flow/count", "flow/each", "flow/total"}
    assert all({"key", "run", "call", "made", "used", "uses", "took"} <= set(row) for row in listed)
    told = folder.cli("cache", "explain", detail.run.id, "words")
    assert f"value 1 of the command has changed inside: {folder.path}/in.txt" in told
    told = folder.cli("cache", "explain", detail.run.id, "each[1]")
    assert "was 2, is 5" in told
    told = folder.cli("explain", detail.run.id, "each[1]")
    assert "each[1]: it ran: closest is each[1] of run" in told
    last = folder.run("-p", "times=5")
    told = folder.cli("cache", "explain", last.run.id)
    assert f"words: taken from the cache, as in run {detail.run.id}" in told
    assert "removed 2" in folder.cli("cache", "prune", "--step", "flow/words")
    assert folder.cli("cache", "prune", "--unused-for", "1d").startswith("removed 0")
    assert folder.cli("cache", "prune", "--all").startswith("removed ")
    assert json.loads(folder.cli("cache", "list", "-o", "json")) == []


def test_the_name_of_the_workflow_does_not_matter(folder: Folder) -> None:
    flow = folder.path / "flow.yaml"
    text = flow.read_text()
    for name in ("one", "two", "one"):
        flow.write_text(f"name: {name}\n{text}")
        folder.run()
    assert (folder.ran("words"), folder.ran("count")) == (1, 1)
