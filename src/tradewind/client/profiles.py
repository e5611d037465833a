"""Profiles: named servers of a user, in `~/.config/tradewind/config.toml`.

current = "team"

[servers.team]
url = "https://tradewind.example.org"
token_file = "~/.secrets/tradewind"     # or token = "tw_…"
"""

import json
import os
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tradewind.client.errors import ClientError


@dataclass(frozen=True, slots=True)
class Profile:
    """A server with credentials."""

    url: str
    token: str = ""
    token_file: str = ""

    def read_token(self) -> str:
        """Return the token, from its file if it has one."""
        if not self.token_file:
            return self.token
        try:
            return Path(self.token_file).expanduser().read_text().strip()
        except OSError as error:
            raise ClientError(f"the token cannot be read: {error}") from None


@dataclass(slots=True)
class Profiles:
    """All profiles of a user."""

    path: Path
    servers: dict[str, Profile] = field(default_factory=dict)
    current: str = ""
    """The default profile; empty: none."""

    def named(self, name: str) -> Profile:
        """Return a profile by name."""
        if name not in self.servers:
            known = ", ".join(sorted(self.servers)) or "none"
            raise ClientError(f"no profile is named {name!r} (known: {known}); `tradewind profiles add` creates one")
        return self.servers[name]

    def of_url(self, url: str) -> Profile | None:
        """Return the profile of a server by address, if there is one."""
        return next((each for each in self.servers.values() if each.url.rstrip("/") == url.rstrip("/")), None)

    def save(self) -> None:
        """Write all profiles to a file that only the user can read."""
        lines = [f"current = {json.dumps(self.current)}"] if self.current else []
        for name, profile in sorted(self.servers.items()):
            lines += ["", f"[servers.{json.dumps(name)}]", f"url = {json.dumps(profile.url)}"]
            lines += [
                f"{key} = {json.dumps(value)}" for key in ("token", "token_file") if (value := getattr(profile, key))
            ]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_name(self.path.name + ".part")
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write("\n".join(lines) + "\n")
        part.replace(self.path)


def config_file() -> Path:
    """Return the path of the configuration file."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "tradewind" / "config.toml"


def load_profiles(path: Path | None = None) -> Profiles:
    """Return the profiles of this user; none if there is no file."""
    file = path or config_file()
    try:
        data = tomllib.loads(file.read_text())
    except FileNotFoundError:
        return Profiles(file)
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ClientError(f"{file} cannot be read: {error}") from None
    servers = {name: _profile(file, name, each) for name, each in data.get("servers", {}).items()}
    return Profiles(file, servers, str(data.get("current", "")))


def _profile(file: Path, name: str, plain: Any) -> Profile:
    known = {"url", "token", "token_file"}
    if not isinstance(plain, dict) or "url" not in plain or not plain.keys() <= known:
        raise ClientError(f"{file}: servers.{name}: expected url, and token or token_file")
    return Profile(**{key: str(value) for key, value in plain.items()})
