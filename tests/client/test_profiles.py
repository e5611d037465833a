"""Profiles, and which server is meant."""

from pathlib import Path

import pytest

from tradewind.client.errors import ClientError
from tradewind.client.open import Where, address
from tradewind.client.profiles import Profile, Profiles, config_file, load_profiles


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("TRADEWIND_SERVER", raising=False)
    monkeypatch.delenv("TRADEWIND_TOKEN", raising=False)
    return tmp_path


def save(home: Path) -> None:
    (home / "secret").write_text("tw_file\n")
    servers = {
        "team": Profile("https://team.example", token_file=str(home / "secret")),
        'o"dd': Profile("http://127.0.0.1:8642", "tw_here"),
    }
    Profiles(config_file(), servers, "team").save()


def test_what_is_saved_is_loaded_and_nobody_else_reads_it(home: Path) -> None:
    save(home)
    found = load_profiles()
    assert found.servers['o"dd'] == Profile("http://127.0.0.1:8642", "tw_here")
    assert found.named("team").read_token() == "tw_file"
    assert found.current == "team"
    assert config_file().stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("where", "environment", "meant"),
    [
        (Where(), {}, ("https://team.example", "tw_file")),
        (Where(), {"TRADEWIND_TOKEN": "tw_env"}, ("https://team.example", "tw_env")),
        (Where(profile='o"dd'), {"TRADEWIND_SERVER": "http://env"}, ("http://127.0.0.1:8642", "tw_here")),
        (Where(), {"TRADEWIND_SERVER": "http://env"}, ("http://env", "")),
        (Where(server="http://127.0.0.1:8642/"), {}, ("http://127.0.0.1:8642/", "tw_here")),
        (Where(server="http://flag"), {"TRADEWIND_SERVER": "http://env"}, ("http://flag", "")),
        (Where(folder=Path("here")), {"TRADEWIND_SERVER": "http://env"}, None),
    ],
    ids=["current", "token", "profile", "environment", "known", "flag", "folder"],
)
def test_which_server_is_meant(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    where: Where,
    environment: dict[str, str],
    meant: tuple[str, str] | None,
) -> None:
    save(home)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert address(where) == meant


def test_without_any_profile_the_folder_is_meant() -> None:
    assert address(Where()) is None


def test_mistakes_in_the_file_are_named(home: Path) -> None:
    config_file().parent.mkdir(parents=True)
    config_file().write_text("[servers.a]\nurll = 'x'\n")
    with pytest.raises(ClientError, match=r"servers\.a: expected url"):
        load_profiles()
    config_file().write_text("current = [")
    with pytest.raises(ClientError, match="cannot be read"):
        load_profiles()


def test_unknown_names_are_refused_with_those_that_are_known(home: Path) -> None:
    save(home)
    with pytest.raises(ClientError, match=r"known: o\"dd, team"):
        load_profiles().named("nobody")
