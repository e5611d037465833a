import json
from collections.abc import Mapping
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from tradewind.cli import reproduce as module
from tradewind.experiments.claims import Claim, Report
from tradewind.experiments.request import Reproduction, Request

app = typer.Typer()
app.command()(module.reproduce)

asked: list[Request] = []


def fake(request: Request) -> Reproduction:
    asked.append(request)
    request.progress(1, 2, "half")
    picture = request.out / "fig.svg"
    picture.write_text("<svg/>")
    claims = [Claim("1", "pigs fly", "yes", "no", holds=False)]
    return Reproduction(Report("fake", request.seed, claims), (picture,))


@pytest.fixture(autouse=True)
def _fake_paper(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    papers: Mapping[str, object] = {"fake": fake}
    monkeypatch.setattr(module, "PAPERS", papers)
    monkeypatch.chdir(tmp_path)
    asked.clear()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def test_a_claim_that_does_not_hold_is_no_error() -> None:
    result = run("fake", "--seed", "3", "--quick")
    assert result.exit_code == 0
    assert "pigs fly" in result.stdout
    assert asked == [Request(Path("out/fake"), 3, is_quick=True, progress=asked[0].progress)]
    assert json.loads(Path("out/fake/claims.json").read_text())["seed"] == 3


def test_files_go_where_they_are_wanted() -> None:
    assert run("fake", "--json", "a/b.json", "--out", "c").exit_code == 0
    assert json.loads(Path("a/b.json").read_text())["claims"][0]["holds"] is False
    assert [path.name for path in Path("c").iterdir()] == ["fig.svg"]


def test_standard_output_is_json_alone_if_asked_for() -> None:
    result = run("fake", "--json", "-")
    assert json.loads(result.stdout)["paper"] == "fake"
    assert "pigs fly" in result.stderr


def test_an_unknown_paper_is_refused_with_a_suggestion() -> None:
    result = run("fakee")
    assert result.exit_code == 2
    assert "fakee" in result.stderr


def test_a_folder_that_cannot_be_made_comes_to_light_before_any_work() -> None:
    Path("file").touch()
    assert run("fake", "--out", "file/x").exit_code != 0
    assert not asked


def test_what_is_run_for_real_can_be_left_out_or_run_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("fake", "--no-live").exit_code == 0
    assert not asked[-1].is_live
    assert run("fake", "--live-only").exit_code == 2, "it has no such part"
    monkeypatch.setattr(module, "LIVE", {"fake"})
    assert run("fake", "--live-only").exit_code == 0
    assert not asked[-1].is_simulated
    assert run("fake", "--live-only", "--no-live").exit_code == 2


def test_help_has_examples() -> None:
    assert "tradewind reproduce pfa --quick" in run("--help").stdout
