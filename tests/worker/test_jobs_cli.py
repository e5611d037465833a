"""`tradewind jobs` and `tradewind sites` against a running service."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from running import Service, service, worker
from typer.testing import CliRunner, Result

from tradewind.cli import application

PROGRAM = """
import os, tradewind
with tradewind.iterations() as it:
    for chunk in it:
        it.deliver(len(chunk) * len(open(os.environ["TRADEWIND_INPUT"]).read()))
"""


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    with service(tmp_path) as made:
        monkeypatch.setenv("TRADEWIND_SERVER", made.url)
        monkeypatch.setenv("TRADEWIND_TOKEN", "admin")
        yield made


def tradewind(*arguments: str) -> Result:
    return CliRunner().invoke(application("jobs", "sites", "worker"), arguments)


def test_a_job_from_submission_to_result(running: Service, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "data").write_text("four")
    options = ("--reducer", "sum", "--partitions", "2", "--target", "10s", "--input", str(tmp_path / "data"))
    done = tradewind("jobs", "submit", "1000", *options, "--", sys.executable, str(tmp_path / "program.py"))
    assert done.exit_code == 0, done.output
    id = done.stdout.strip()
    token = tmp_path / "site.token"
    token.write_text(tradewind("sites", "token", "here").stdout)
    with worker(running.url, token):
        assert running.done(id)["state"] == "done"
        assert "here" in tradewind("sites", "list").stdout
    assert json.loads(tradewind("jobs", "results", id).stdout) == 4_000
    shown = json.loads(tradewind("jobs", "get", id, "--output", "json").stdout)
    assert (shown["state"], shown["delivered"]) == ("done", 1_000)
    assert id in tradewind("jobs", "list").stdout
    endless = tradewind("jobs", "submit", "10").stdout.strip()
    assert tradewind("jobs", "cancel", endless).stdout.strip() == "cancelled"
    tokens = running.get("/site-tokens")["items"]
    assert tradewind("sites", "revoke", tokens[0]["id"]).exit_code == 0
    assert running.get("/site-tokens")["items"] == []


def test_a_worker_says_what_it_needs(tmp_path: Path) -> None:
    assert "address of the service" in tradewind("worker").stderr
    assert "token" in tradewind("worker", "--server", "http://x").stderr
    token = tmp_path / "t"
    token.write_text("t")
    both = tradewind("worker", "--server", "http://x", "--token-file", str(token), "--function", "a:b", "--", "ls")
    assert both.exit_code == 2
    assert "--help" in tradewind("worker", "--help").stdout
