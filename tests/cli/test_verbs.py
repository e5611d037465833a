"""The verbs on the command line: what people see, what programs read, and how they end."""

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import typer
import yaml
from fake_server import RUN, FakeServer, problem
from typer.testing import CliRunner, Result

from tradewind.cli import COMMANDS, application, outline
from tradewind.client import http
from tradewind.client.errors import ClientError, NoServerError
from tradewind.client.profiles import config_file
from tradewind.formats.load import load_program
from tradewind.live.host import this_host
from tradewind.live.session import Session, Settings
from tradewind.model.tenant import Tenant
from tradewind.policies.registry import build

FLOW = """
name: flow
steps:
  first: {run: "echo one"}
  each: {for_each: [0, 1], needs: [first], run: "echo item {{ item }}; echo bad >&2; test {{ item }} -ne 1"}
"""


def tradewind(command: str) -> Result:
    words = shlex.split(command)
    return CliRunner().invoke(application(words[0]), words)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a run has failed."""
    folder = tmp_path_factory.mktemp("verbs")
    (folder / "flow.yaml").write_text(FLOW)
    settings = Settings(folder, (this_host(),), Tenant("default"), build("fixed", {"machines": "1"}))
    assert Session(settings).run(load_program(folder / "flow.yaml"), {}).status == "failed"
    return folder


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("TRADEWIND_SERVER", "TRADEWIND_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> FakeServer:
    """A server that every client finds under any address."""
    fake = FakeServer()
    make: Callable[..., httpx.Client] = httpx.Client

    def client(**options: object) -> httpx.Client:
        return make(**(options | {"transport": fake.transport}))

    monkeypatch.setattr(http, "httpx", SimpleNamespace(**(vars(httpx) | {"Client": client})))
    monkeypatch.setenv("TRADEWIND_SERVER", "http://server:1")
    return fake


def test_every_command_explains_itself_with_examples() -> None:
    shown = CliRunner().invoke(application(), ["--help"]).output
    for name in COMMANDS:
        assert f" {name} " in shown
    for command in ("list", "get", "watch", "logs", "explain", "cancel", "retry", "suspend", "resume", "priority"):
        assert "tradewind " in tradewind(f"{command} --help").output
    for group, verbs in (
        ("nodes", "list drain remove"),
        ("tenants", "list set remove"),
        ("tokens", "list create revoke"),
    ):
        for verb in verbs.split():
            assert f"tradewind {group} {verb}" in tradewind(f"{group} {verb} --help").output


def commands(app: typer.Typer) -> Iterator[list[str]]:
    """All commands of an application, as words."""
    waiting: list[tuple[list[str], Any]] = [([], typer.main.get_command(app))]
    while waiting:
        words, command = waiting.pop()
        yield words
        waiting += [([*words, name], each) for name, each in getattr(command, "commands", {}).items()]


def test_the_help_names_no_type_behind_flags() -> None:
    app = application()
    for words in commands(app):
        shown = CliRunner().invoke(app, [*words, "--help"])
        assert shown.exit_code == 0
        assert "<bool" not in shown.output, words
        assert not re.search(r"--?\w+ +<list", shown.output), words


def test_the_list_of_commands_says_of_each_what_it_says_itself() -> None:
    listed, loaded = (CliRunner().invoke(app, ["--help"]).output for app in (outline(), application()))
    assert sorted(listed.splitlines()) == sorted(loaded.splitlines())


@pytest.mark.parametrize("verb", ["list", "get", "get --tasks", "explain", "cost last", "nodes list --status all"])
def test_answers_are_the_same_in_every_form(folder: Path, verb: str) -> None:
    plain = tradewind(f"{verb} --folder {folder}")
    assert plain.exit_code == 0, plain.output
    assert "\x1b" not in plain.output, "colours are for terminals"
    as_json = json.loads(tradewind(f"{verb} -o json --folder {folder}").stdout)
    assert as_json == yaml.safe_load(tradewind(f"{verb} -o yaml --folder {folder}").stdout)
    assert len(tradewind(f"{verb} -o wide --folder {folder}").output) >= len(plain.output)


def test_a_table_has_a_row_for_each_run(folder: Path) -> None:
    head, row = tradewind(f"list --folder {folder}").output.splitlines()
    assert head.split()[:4] == ["ID", "NAME", "STATUS", "DONE"]
    assert row.split()[1:4] == ["flow", "failed", "2/3"]


def test_logs_are_shown_with_names_or_alone(folder: Path) -> None:
    everything = tradewind(f"logs last --folder {folder}").output
    assert "first   | one\n" in everything
    assert "each[0] | item 0\n" in everything
    assert tradewind(f"logs last each[1] --folder {folder}").output == "item 1\nbad\n"
    assert tradewind(f"logs last each[1] --err --tail 1 -f --folder {folder}").output == "bad\n"
    assert tradewind(f"logs last --status failed --folder {folder}").output == "item 1\nbad\n"
    wrong = tradewind(f"logs last each --folder {folder}")
    assert "matches 2 tasks" in str(wrong.exception)


def test_explain_names_what_failed(folder: Path) -> None:
    assert "ended as error: exit code 1" in tradewind(f"explain last each[1] --folder {folder}").output


def test_watching_ends_with_the_code_of_run(folder: Path) -> None:
    watched = tradewind(f"watch last --folder {folder}")
    assert watched.exit_code == 1
    assert "has failed after" in watched.stderr
    events = tradewind(f"watch last --events --json --folder {folder}")
    assert {"start", "failed", "ended"} <= {json.loads(line)["event"] for line in events.stdout.splitlines()}


def test_search_counts(folder: Path) -> None:
    found = tradewind(f"search is:task status:failed --folder {folder}")
    assert "each[1]" in found.stdout
    assert "0 runs and 1 tasks" in found.stderr


def test_a_report_is_written(folder: Path, home: Path) -> None:
    assert tradewind(f"report last --out {home / 'deep' / 'r.html'} --folder {folder}").exit_code == 0
    text = (home / "deep" / "r.html").read_text()
    assert "exit code 1" in text
    assert "bad" in text
    log = home / "log.jsonl.gz"
    (home / "w.yaml").write_text("name: w\ntasks: {a: {runtime: 1m}, b: {runtime: 1m, needs: [a]}}")
    assert tradewind(f"simulate w.yaml --events {log}").exit_code == 0
    assert tradewind(f"report {log} --workflow w.yaml").exit_code == 0
    assert "<svg" in (home / "log.html").read_text()


def test_a_log_in_parquet_is_reported(home: Path) -> None:
    pytest.importorskip("pyarrow")
    (home / "w.yaml").write_text("name: w\ntasks: {a: {runtime: 1m}, b: {runtime: 1m, needs: [a]}}")
    for log in ("one.parquet", "two.jsonl"):
        assert tradewind(f"simulate w.yaml --events {log}").exit_code == 0
        assert tradewind(f"report {log} --workflow w.yaml --out {log}.html").exit_code == 0
    one, two = ((home / f"{log}.html").read_text() for log in ("one.parquet", "two.jsonl"))
    assert one.replace("one.parquet", "two.jsonl") == two


def test_completion_knows_commands_and_options() -> None:
    def completed(words: str) -> list[str]:
        place = str(len(words.split()) - 1)
        environment = {"_TRADEWIND_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": place}
        return CliRunner().invoke(application(), [], prog_name="tradewind", env=environment).stdout.split()

    assert completed("tradewind su") == ["submit", "suspend"]
    assert completed("tradewind nodes dr") == ["drain"]
    assert completed("tradewind list --stat") == ["--status"]


def test_a_report_of_nothing_is_refused(folder: Path, home: Path) -> None:
    (home / "empty.jsonl").write_text("")
    assert "contains no run" in str(tradewind("report empty.jsonl").exception)
    assert tradewind(f"report last --workflow x.yaml --folder {folder}").exit_code == 2
    for name in ("one", "two"):
        (home / f"{name}.yaml").write_text(f"name: {name}\ntasks: {{a: {{runtime: 1m}}}}")
    assert tradewind("simulate one.yaml --events log.jsonl").exit_code == 0
    assert "no run of 'two', only of one" in str(tradewind("report log.jsonl --workflow two.yaml").exception)


def test_without_a_server_submit_says_what_to_do(home: Path) -> None:
    (home / "w.yaml").write_text("steps: {a: {run: 'true'}}")
    refused = tradewind("submit w.yaml")
    assert isinstance(refused.exception, NoServerError)
    assert "tradewind run w.yaml" in str(refused.exception)
    assert tradewind("submit w.yaml --wait --priority 3").exit_code == 2
    for command in ("tenants list", "tokens list"):
        assert "needs a server" in str(tradewind(command).exception)


def test_profiles_are_added_used_and_removed(home: Path) -> None:
    assert tradewind("profiles add team http://team:1 --token tw_a").exit_code == 0
    assert tradewind("profiles add other http://other:1").exit_code == 0
    assert [line.split()[:2] for line in tradewind("profiles list").output.splitlines()[1:]] == [
        ["other", "http://other:1"],
        ["*", "team"],
    ]
    assert "tw_a" not in tradewind("profiles list").output
    assert tradewind("profiles use other").exit_code == 0
    assert isinstance(tradewind("profiles use nobody").exception, ClientError)
    assert tradewind("profiles remove other").exit_code == 0
    assert json.loads(tradewind("profiles list -o json").output)[0]["current"] is False
    assert tradewind("profiles add bad nowhere").exit_code == 2


def test_a_run_started_here_is_found_here_whatever_profile_is_current(server: FakeServer, home: Path) -> None:
    (home / "w.yaml").write_text(
        "steps: {a: {run: 'echo yes; test -e mended'}}\n".replace("mended", str(home / "mended"))
    )
    ran = tradewind("run w.yaml")
    assert ran.exit_code == 1
    advice = re.search(r"`tradewind (retry (\S+))`", ran.output)
    assert advice is not None
    note = "looked in .tradewind; use --server http://server:1 for that server\n"
    for command in (f"get {advice[2]}", f"logs {advice[2]}", f"explain {advice[2]}"):
        shown = tradewind(command)
        assert (shown.exit_code, shown.stderr.startswith(note)) == (0, True), shown.output
    (home / "mended").touch()
    again = tradewind(advice[1])
    assert (again.exit_code, again.stderr.startswith(note)) == (0, True), again.output
    assert not server.requests


def test_the_last_run_is_the_youngest_of_both_and_options_decide(server: FakeServer, home: Path) -> None:
    (home / "w.yaml").write_text("steps: {a: {run: 'true'}}\n")
    assert tradewind("run w.yaml").exit_code == 0
    server.on("GET", "/runs", {"items": [RUN], "next": None})
    server.on("GET", f"/runs/{RUN['id']}", RUN)
    assert json.loads(tradewind("get -o json").stdout)["name"] == "w"
    server.on("GET", "/runs", {"items": [RUN | {"submitted": 4e9}], "next": None})
    shown = tradewind("get -o json")
    assert json.loads(shown.stdout)["name"] == "align"
    assert shown.stderr == "looked at http://server:1; use --here for .tradewind\n"
    assert json.loads(tradewind("get --here -o json").stdout)["name"] == "w"
    assert "align" in tradewind("list").stdout
    assert [row["name"] for row in json.loads(tradewind("list --here -o json").stdout)] == ["w"]
    assert "give only one of them" in str(tradewind("get --here --server http://server:1").exception)
    server.trouble = [httpx.ConnectError("down")] * 20
    assert json.loads(tradewind("get -o json").stdout)["name"] == "w"


def test_a_run_that_is_nowhere_says_where_it_was_looked_for(server: FakeServer, home: Path) -> None:
    (home / "w.yaml").write_text("steps: {a: {run: 'true'}}\n")
    assert tradewind("run w.yaml").exit_code == 0
    shown = tradewind("get 9zzz-1")
    assert "there is no run '9zzz-1' at http://server:1" in str(shown.exception)
    assert shown.stderr.startswith("looked at http://server:1; use --here for .tradewind\n")


def test_submit_and_wait_has_the_exit_codes_of_run(server: FakeServer, home: Path) -> None:
    (home / "w.yaml").write_text("steps: {a: {run: 'true'}}")
    server.on("POST", "/runs", RUN, 201)
    for status, due, never, code in (
        ("done", None, False, 0),
        ("failed", None, False, 1),
        ("cancelled", None, False, 1),
        ("done", 1005.0, False, 4),
        ("failed", 1005.0, True, 5),
    ):
        ended = RUN | {"status": status, "ended": 1010.0, "deadline": due, "impossible": never}
        server.on("GET", "/runs/1abc234-7", ended)
        waited = tradewind("submit w.yaml --wait -p a=1")
        assert waited.exit_code == code, waited.output
        assert waited.stdout == "1abc234-7\n"
    server.trouble = [problem(422, "Impossible", "no machine offers gpu", type="/problems/impossible")]
    refused = tradewind("submit w.yaml --wait")
    assert refused.exit_code == 5
    assert "no machine offers gpu" in refused.stderr
    server.trouble = [problem(422, "Bad", "wrong")]
    assert tradewind("submit w.yaml").exit_code == 2
    assert tradewind("submit w.yaml -p nonsense").exit_code == 2


def test_what_a_run_on_a_server_gives_is_shown(server: FakeServer) -> None:
    server.on("GET", "/runs/1abc234-7", RUN | {"status": "done", "ended": 1010.0})
    server.on("GET", "/runs/1abc234-7/results", {"run": "1abc234-7", "results": {"file": "/srv/r.txt", "n": [1, 2]}})
    assert tradewind("get 1abc234-7").stdout.endswith("outputs\n  file: /srv/r.txt\n  n: [1,2]\n")


@pytest.mark.parametrize(
    ("command", "method", "path", "body"),
    [
        ("cancel 1abc234-7 --force", "POST", "/runs/1abc234-7/cancel", {"force": True}),
        ("retry 1abc234-7", "POST", "/runs/1abc234-7/retry", {}),
        ("suspend 1abc234-7", "POST", "/runs/1abc234-7/suspend", {}),
        ("resume 1abc234-7", "POST", "/runs/1abc234-7/resume", {}),
        ("priority 1abc234-7 -- -5", "PUT", "/runs/1abc234-7/priority", {"priority": -5}),
    ],
)
def test_steering_a_server(server: FakeServer, command: str, method: str, path: str, body: object) -> None:
    server.on(method, path, RUN, 202)
    told = tradewind(command)
    assert told.exit_code == 0, told.output
    assert "align" in told.output
    assert server.bodies() == [body]


MACHINE = {"number": 3, "machine_type": "small", "tenant": "lab", "status": "draining", "acquired": 1.0}
MACHINE |= {"paid_until": 2.0, "released": None, "because": "work", "cost": 0.5}
TENANT = {"name": "lab", "budget": 2.0, "interval": 60.0, "weight": 1.0, "max_active_runs": None, "max_tasks": 5}
TENANT |= {"max_machines": 1234, "spent": 0.5, "spent_total": 7.0, "remaining": 1.5, "created": 1.0}
TOKEN = {"id": "k3x9", "name": "ada", "tenant": "lab", "role": "user", "created": 1.0, "expires": None, "used": None}


def test_machines_tenants_and_tokens_of_a_server(server: FakeServer) -> None:
    server.on("POST", "/machines/3/drain", MACHINE, 202)
    assert "draining" in tradewind("nodes drain 3").output
    server.on("GET", "/tenants", {"items": [TENANT], "next": None})
    assert "1.5" in tradewind("tenants list").output
    server.on("PUT", "/tenants/lab", TENANT)
    assert tradewind("tenants set lab --budget 2 --interval 1m --runs none --tasks 5").exit_code == 0
    assert server.bodies()[-1] == {"budget": 2.0, "interval": "1m", "max_active_runs": None, "max_tasks": 5}
    assert tradewind("tenants set lab --machines 7").exit_code == 0
    assert server.bodies()[-1] == {"max_machines": 7}
    assert "1,234" in tradewind("tenants list -o wide").output
    assert tradewind("tenants set lab --runs many").exit_code == 2
    server.on("GET", "/tokens", {"items": [TOKEN], "next": None})
    assert "never" in tradewind("tokens list").output
    server.on("POST", "/tokens", TOKEN | {"token": "tw_new"}, 201)
    assert tradewind("tokens create ada --tenant lab --expires 30d").stdout == "tw_new\n"
    server.answers["DELETE", "/tokens/k3x9"] = lambda _: httpx.Response(204)
    assert tradewind("tokens revoke k3x9").exit_code == 0


def test_cost_of_a_server(server: FakeServer) -> None:
    items = [{"key": "small", "cost": 1.25, "charged": 2.0, "refunded": 0.75}]
    server.on("GET", "/cost", {"by": "machine_type", "total": 1.25, "items": items})
    assert tradewind("cost").output.splitlines()[1:] == ["small  1.25", "total 1.25"]


def test_every_command_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()
    named = {word for cell in re.findall(r"^\| (`.*?`) \|", page, re.MULTILINE) for word in re.findall(r"`(\w+)", cell)}
    assert set(COMMANDS) <= named


def test_profiles_of_the_how_to_work() -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto" / "use-a-server.md").read_text()
    for command in re.findall(r"^\$ tradewind (profiles .*)$", page, re.MULTILINE):
        assert tradewind(command).exit_code == 0
    [shown] = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert tomllib.loads(config_file().read_text()) == tomllib.loads(shown)


def test_the_log_of_a_simulation_is_reported_as_the_how_to_says(home: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto" / "use-a-server.md").read_text()
    assert tradewind("generate montage --tasks 30 -o montage.yaml").exit_code == 0
    commands = re.findall(r"^\$ tradewind ((?:simulate|report) .*)$", page, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        assert tradewind(command).exit_code == 0
    assert "mProject" in (home / "montage.html").read_text()


def test_tokens_of_agents_are_listed_with_the_ids_that_revoke_them(server: FakeServer) -> None:
    token = {"id": "4be1", "agent": "cluster", "tenants": ["ada"], "owner": None, "created": 0.0, "expires": None}
    server.on("GET", "/agent-tokens", {"items": [token], "next": None})
    shown = tradewind("agents tokens").stdout
    assert "4be1" in shown
    assert "cluster" in shown
    assert json.loads(tradewind("agents tokens -o json").stdout) == [token]
