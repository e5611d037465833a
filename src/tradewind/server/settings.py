"""Settings of a server: from `tradewind.toml`, variables `TRADEWIND_SECTION__KEY` and flags; the last one counts."""

import os
import tomllib
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from tradewind.model.errors import TradewindError
from tradewind.model.units import DAY, HOUR, MINUTE, SECOND, Duration, Money, parse_duration, parse_money

FILE = "tradewind.toml"
_PREFIX = "TRADEWIND_"


class SettingsError(TradewindError):
    """Settings that cannot be used."""


def _duration(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return round(value * SECOND)
    return parse_duration(value) if isinstance(value, str) else value


def _money(value: Any) -> Any:
    return parse_money(str(value)) if isinstance(value, int | float | str) and not isinstance(value, bool) else value


Span = Annotated[Duration, BeforeValidator(_duration)]
"""Text such as `90s`, or a number of seconds."""
Amount = Annotated[Money, BeforeValidator(_money)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ServerSection(_Section):
    """Where it listens, what it keeps, and how much it takes."""

    host: str = "127.0.0.1"
    port: int = Field(8642, ge=0, le=65535)
    folder: Path = Path(".tradewind")
    """Holds the folders of all runs, and the store if none is named."""
    store: str = ""
    """Path or address of the store; empty: `store.db` in the folder."""
    durability: Literal["strict", "relaxed"] = "strict"
    auth: bool = True
    """False: everybody is an administrator; only where the host is a loopback address."""
    largest_submission: int = Field(256 << 20, gt=0)
    """Bytes."""
    largest_request: int = Field(1 << 20, gt=0)
    """Bytes of anything else."""
    rate: float = Field(1000.0, gt=0)
    """Requests per second and token."""
    burst: int = Field(2000, gt=0)
    failed_rate: float = Field(5.0, gt=0)
    """Requests per second and address that no token allows."""
    patience: float = Field(20.0, gt=0)
    """Seconds that a request may take to arrive, and one more for each 16 KB of it."""
    most_pending: int = Field(256, gt=0)
    """Requests that may be in the middle of arriving before their senders are known; the oldest makes room."""
    heartbeat: float = Field(15.0, gt=0)
    """Seconds between two signs of life in a stream of events."""
    grace: float = Field(5.0, ge=0)
    """Seconds that clients have to end when the server stops, and tasks that are ended."""
    modules: tuple[str, ...] = ()
    """Folders where the modules of functions are looked for first."""


class MachinesSection(_Section):
    """What may be rented."""

    file: Path | None = None
    """Machine types; none: this host, used fully."""
    accept_unknown: bool = False
    """Whether work that no known machine type can do waits for a machine to join; False: it is refused."""
    outlive: bool = True
    """Whether tasks go on when the server ends, for the next one to take over; False: they end with it."""
    unattended: Span = HOUR
    """After how long without a server a machine ends itself, once nothing runs on it."""


class PolicySection(_Section):
    """What decides."""

    name: str = "demand"
    interval: Span = SECOND
    quantum: Span = 30 * SECOND
    """After how long a machine makes way for a tenant with less than its share."""
    parameters: dict[str, Any] = {}


class TenantsSection(_Section):
    """What a new tenant gets unless told otherwise."""

    budget: Amount | None = None
    interval: Span = MINUTE
    weight: float = Field(1.0, gt=0)
    max_active_runs: int | None = Field(None, ge=0)
    max_tasks: int | None = Field(None, ge=0)
    max_machines: int | None = Field(None, ge=0)


class ArtefactsSection(_Section):
    """Where the files of attempts go once they have ended."""

    url: str = ""
    """Any address that fsspec knows, such as `s3://bucket/prefix`; empty: they stay in the folder."""


class DivisibleSection(_Section):
    """Divisible steps: where inputs and results of shares are kept, and how long a share may be silent."""

    objects: str = ""
    """`s3://bucket/prefix`, or a folder; empty: `objects` in the server's folder."""
    silence: Span = 30 * SECOND
    """A share whose report is overdue by this long is lost, and its iterations go to others."""


class AgentsSection(_Section):
    """Agents: machines elsewhere that call in."""

    silence: Span = 30 * SECOND
    """An agent that has not called for this long has left; what it ran runs again elsewhere."""
    largest_file: int = Field(10 << 30, gt=0)
    """Bytes of a file that an attempt on an agent leaves."""


class RetentionSection(_Section):
    """How long what has ended is kept."""

    days: float | None = Field(None, gt=0)
    """None: for ever."""
    keep: int = Field(100, ge=0)
    """How many of the newest ended runs are kept whatever their age."""
    every: Span = DAY // 24
    """How often old runs are looked for."""


class Settings(_Section):
    """All settings of a server."""

    server: ServerSection = ServerSection()
    machines: MachinesSection = MachinesSection()
    policy: PolicySection = PolicySection()
    tenants: TenantsSection = TenantsSection()
    artefacts: ArtefactsSection = ArtefactsSection()
    divisible: DivisibleSection = DivisibleSection()
    agents: AgentsSection = AgentsSection()
    retention: RetentionSection = RetentionSection()

    def checked(self) -> "Settings":
        """The same, if access control is on or nobody else can get here."""
        if not self.server.auth and not is_loopback(self.server.host):
            raise SettingsError(
                f"without access control the server must listen on a loopback address, not {self.server.host!r}; "
                "use --host 127.0.0.1, or leave out --no-auth"
            )
        return self

    @property
    def store(self) -> str:
        """Where the store is."""
        return self.server.store or str(self.server.folder / "store.db")


def is_loopback(host: str) -> bool:
    """Whether only processes of this host can reach an address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def load_settings(
    file: Path | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, Mapping[str, Any]] | None = None,
) -> Settings:
    """Settings from a file (by default `tradewind.toml` here, if there is one), variables and flags."""
    merged = _from_file(file)
    for section, values in (
        *_from_environment(os.environ if environment is None else environment),
        *(flags or {}).items(),
    ):
        if not isinstance(merged.setdefault(section, {}), dict):
            raise SettingsError(f"{section}: expected were fields, not a value")
        merged[section] |= values
    try:
        return Settings.model_validate(merged).checked()
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise SettingsError(f"settings: {told}") from None


def _from_file(file: Path | None) -> dict[str, Any]:
    path = file or Path(FILE)
    if file is None and not path.exists():
        return {}
    try:
        with path.open("rb") as opened:
            return tomllib.load(opened)
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: {error}") from None


def _from_environment(environment: Mapping[str, str]) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for name, value in sorted(environment.items()):
        section, mark, key = name.removeprefix(_PREFIX).lower().partition("__")
        if name.startswith(_PREFIX) and mark and section in Settings.model_fields:
            found.append((section, {key: value}))
    return found
