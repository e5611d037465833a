"""Settings of a server, and its command."""

import re
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tradewind.cli import application
from tradewind.model.units import DAY, MINUTE, SECOND, UNIT
from tradewind.server.settings import ServerSection, Settings, SettingsError, is_loopback, load_settings


def test_flags_come_before_variables_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "tradewind.toml"
    file.write_text(
        '[server]\nport = 1\nhost = "::1"\nheartbeat = 3\n[policy]\nname = "pfa"\ninterval = "1m"\n'
        '[tenants]\nbudget = "2.5"\n[retention]\ndays = 7\n'
    )
    variables = {"TRADEWIND_SERVER__PORT": "2", "TRADEWIND_SERVER__HEARTBEAT": "4", "TRADEWIND_OTHER": "x", "PATH": "/"}
    found = load_settings(file, environment=variables, flags={"server": {"port": 3}})
    assert (found.server.port, found.server.heartbeat, found.server.host) == (3, 4.0, "::1")
    assert (found.policy.name, found.policy.interval, found.tenants.budget) == ("pfa", MINUTE, 5 * UNIT // 2)
    assert found.retention.days == 7
    assert found.retention.every == DAY // 24


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[server]\nprot = 1\n", r"server\.prot"),
        ("[server]\nport = 99999\n", r"server\.port"),
        ("[serve]\nport = 1\n", "serve"),
        ("server = 3\n", "server"),
        ("[server\n", "tradewind.toml"),
        ('[policy]\ninterval = "soon"\n', "policy.interval"),
    ],
)
def test_settings_that_cannot_be_used_are_told(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "tradewind.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=told):
        load_settings(file, environment={})


def test_the_settings_of_the_how_to_are_good() -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto" / "run-a-server.md").read_text()
    (block,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    found = Settings.model_validate(tomllib.loads(block))
    assert found.server == ServerSection()  # what is shown is what holds if nothing is said
    assert found.policy.interval == SECOND


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org", "", "127.0.0.1.example.org"])  # noqa: S104
def test_access_control_is_off_on_loopback_only(host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(SettingsError, match="loopback"):
        load_settings(None, environment={}, flags={"server": {"host": host, "auth": False}})
    assert not load_settings(None, environment={}, flags={"server": {"host": "127.0.0.1", "auth": False}}).server.auth


def test_the_first_token_is_shown_once(tmp_path: Path) -> None:
    command = ["server", "--init", "--folder", str(tmp_path)]
    first = CliRunner().invoke(application("server", "demo"), command)
    assert first.exit_code == 0, first.output
    assert first.output.startswith("admin token: tw_")
    again = CliRunner().invoke(application("server", "demo"), command)
    assert "tw_" not in again.output


def test_wrong_use_is_told(tmp_path: Path) -> None:
    wrong = CliRunner().invoke(
        application("server", "demo"), ["server", "--init", "-P", "x", "--folder", str(tmp_path)]
    )
    assert wrong.exit_code == 2
