"""Files on their way: with a submission to a server, and from its outputs back, or from those of a folder."""

import json
import os
import socket
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner, Result

from tradewind.cli import application
from tradewind.client.errors import ClientError
from tradewind.live.uploads import INPUTS, keep

FLOW = """
params:
  text: {type: file, default: in.txt}
steps:
  sort:
    run: "sort {{ params.text }} > sorted.txt; for n in 1 2; do mkdir $n; echo $n > $n/part; done"
    outputs: {all: sorted.txt, parts: "*/part", where: stdout}
outputs: {all: "{{ sort.all }}", parts: "{{ sort.parts }}", n: 3}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("server")
    (folder / "in.txt").write_text("the server's\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["server", "--port", str(port), "--no-auth", "--folder", str(folder / "kept")]
    process = subprocess.Popen(
        [sys.executable, "-m", "tradewind", *words], cwd=folder, env=dict(os.environ), stderr=subprocess.PIPE
    )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                if httpx.get(f"{url}/readyz").status_code == 200:
                    break
            except httpx.HTTPError:
                pass
            assert process.poll() is None, process.stderr and process.stderr.read()
            time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.communicate(timeout=30)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("TRADEWIND_SERVER", "TRADEWIND_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flow.yaml").write_text(FLOW)
    return tmp_path


def tradewind(*words: str) -> Result:
    return CliRunner().invoke(application(words[0]), list(words))


def test_files_travel_with_a_submission_and_outputs_come_back(server: str, here: Path) -> None:
    (here / "in.txt").write_text("b\na\n")
    done = tradewind("submit", "flow.yaml", "--wait", "--server", server)
    assert done.exit_code == 0, done.output
    run = done.stdout.split()[0]
    outputs = json.loads(tradewind("get", run, "-o", "json", "--server", server).stdout)["outputs"]
    assert httpx.get(outputs["all"]).text == "a\nb\n"
    assert [httpx.get(each).text for each in outputs["parts"]] == ["1\n", "2\n"]
    assert outputs["n"] == 3
    fetched = tradewind("download", run, "--to", "got", "--server", server)
    assert fetched.exit_code == 0, fetched.output
    found = {file.relative_to(here / "got").as_posix(): file.read_text() for file in (here / "got").rglob("*.*")}
    assert found == {"sorted.txt": "a\nb\n"}
    assert sorted(fetched.stdout.split()) == ["got/parts/0/part", "got/parts/1/part", "got/sorted.txt"]
    assert (here / "got/parts/1/part").read_text() == "2\n"
    only = tradewind("download", run, "all", "--to", "one", "--server", server)
    assert only.stdout == "one/sorted.txt\n"
    wrong = tradewind("download", run, "al", "--server", server)
    assert isinstance(wrong.exception, ClientError)
    assert "has no files in output 'al'; outputs with files: all, parts" in str(wrong.exception)


def test_download_works_for_a_folder(here: Path) -> None:
    (here / "in.txt").write_text("b\na\n")
    assert tradewind("run", "flow.yaml").exit_code == 0
    assert tradewind("download", "last", "all", "--to", "got").stdout == "got/sorted.txt\n"
    assert (here / "got/sorted.txt").read_text() == "a\nb\n"


def test_names_of_files_and_of_outputs_do_not_get_in_each_others_way(here: Path) -> None:
    """`a` and `b` give files of one name and need folders, `c` gives a file `a`, `d` one that is called `c`."""
    made = {"a": "1/x", "b": "2/x", "c": "3/a", "d": "4/c", "e": "5/*"}
    run = "; ".join(f"mkdir -p {path[0]}; printf %s {name} > {path}" for name, path in made.items())
    run = run.replace("5/*", r"$'5/\e[2Je'")
    outputs = {name: f"{{{{ s.{name} }}}}" for name in made}
    (here / "flow.yaml").write_text(json.dumps({"steps": {"s": {"run": run, "outputs": made}}, "outputs": outputs}))
    assert tradewind("run", "flow.yaml").exit_code == 0
    fetched = CliRunner().invoke(application("download"), ["download", "--to", "got"], color=True)
    assert fetched.exit_code == 0, fetched.exception
    assert fetched.stdout.split() == ["got/a/x", "got/b/x", "got/c/a", "got/d/c", "got/\\x1b[2Je"]
    assert [(here / "got" / each).read_text() for each in ("a/x", "b/x", "c/a", "d/c", "\x1b[2Je")] == list(made)


def test_a_missing_file_is_told_before_anything_is_sent(here: Path) -> None:
    refused = tradewind("submit", "flow.yaml", "--server", "http://127.0.0.1:1")
    assert f"params.text: no such file: {here / 'in.txt'}" in str(refused.exception)


def test_files_that_an_included_program_takes_by_default_do_not_travel_and_the_remedy_is_named(here: Path) -> None:
    (here / "sub").mkdir()
    (here / "sub" / "in.txt").write_text("x")
    (here / "sub" / "inner.yaml").write_text(FLOW)
    (here / "outer.yaml").write_text("steps: {i: {include: sub/inner.yaml}}\n")
    refused = tradewind("submit", "outer.yaml", "--server", "http://127.0.0.1:1")
    told = (
        f"step 'i' includes a program that reads {here / 'sub' / 'in.txt'} by default, and that file does not go along"
    )
    assert told in str(refused.exception)
    assert "pass it in the inputs of 'i', from a parameter of type `file`" in str(refused.exception)


def test_no_file_of_the_server_is_taken_for_a_relative_path(server: str) -> None:
    answer = httpx.post(f"{server}/api/v1/runs", json={"workflow": FLOW})
    assert answer.status_code == 422
    assert "no such file: in.txt" in answer.json()["detail"]


def test_paths_can_be_those_of_the_server(server: str, here: Path) -> None:
    (here / "there.txt").write_text("z\n")
    words = ("submit", "flow.yaml", "--remote-files", "--wait", "--server", server, "-p")
    assert tradewind(*words, f"text={here}/there.txt").exit_code == 0
    missing = tradewind(*words, "text=/nowhere/in.txt")
    assert missing.exit_code == 2
    assert "no such file: /nowhere/in.txt" in missing.stderr


@pytest.mark.parametrize(
    ("upload", "told"),
    [
        ({"text": {"name": "../x", "data": ""}}, "cannot be the name of a file"),
        ({"text": {"name": "ü" * 200, "data": ""}}, "is too long for the name of a file"),
        ({"text": {"name": "x", "data": "?"}}, "uploads: text:"),
        ({"other": {"name": "x", "data": ""}}, "has no parameter 'other' of type file"),
    ],
)
def test_odd_uploads_are_refused(server: str, upload: object, told: str) -> None:
    answer = httpx.post(f"{server}/api/v1/runs", json={"workflow": FLOW, "uploads": upload})
    assert answer.status_code == 422
    assert told in answer.json()["detail"]


def test_outputs_that_only_name_a_file_give_none_away(server: str, here: Path) -> None:
    (here / "secret").write_text("secret")
    step = {"run": f"echo {here / 'secret'}", "outputs": {"f": "stdout"}}
    flow = {"steps": {"a": step}, "outputs": {"f": "{{ a.f }}"}}
    (here / "flow.yaml").write_text(json.dumps(flow))
    run = tradewind("submit", "flow.yaml", "--wait", "--server", server).stdout.split()[0]
    found = httpx.get(f"{server}/api/v1/runs/{run}/results").json()
    assert (found["results"], found["files"]) == ({"f": str(here / "secret")}, {})
    assert httpx.get(f"{server}/api/v1/runs/{run}/outputs/f").status_code == 404


def test_equal_files_are_kept_once(server: str, here: Path) -> None:
    upload = {"text": {"name": "x.txt", "data": b64encode(b"same").decode()}}
    runs = [httpx.post(f"{server}/api/v1/runs", json={"workflow": FLOW, "uploads": upload}).json() for _ in range(2)]
    assert len({run["parameters"]["text"] for run in runs}) == 1


def test_files_are_for_the_servers_user_alone(tmp_path: Path) -> None:
    (tmp_path / INPUTS).mkdir(mode=0o755)
    assert Path(keep(tmp_path, "red", "x.txt", b"secret")).read_bytes() == b"secret"
    assert (tmp_path / INPUTS).stat().st_mode & 0o077 == 0
