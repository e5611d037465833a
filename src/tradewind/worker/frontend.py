"""The frontend of a site: registers, fetches partitions, runs a process for each, obeys the scaling hint, drains.

It only calls, and is never called: outbound HTTPS is all it needs. Whatever it does not get through it tries again,
with growing pauses; what its programs have delivered is safe whatever happens to it.
"""

import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tradewind.worker import slots
from tradewind.worker.client import Backoff, CallError, Client, UnreachableError
from tradewind.worker.slots import Slot

Say = Callable[[str], None]

_LOOK = 0.1
"""Seconds between two looks at processes."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a worker was started with."""

    server: str
    token: str
    slots: int
    most: int
    folder: Path
    command: tuple[str, ...] = ()
    """Run for each partition; none: what the job says."""
    hook: str = ""
    """Run with the number of slots wanted whenever it changes, to start or stop machines."""
    grace: float = 30.0
    """Seconds that programs have to deliver and end when the worker is stopped."""
    keeps: bool = False
    """Whether the folders of partitions stay."""


@dataclass(slots=True)
class Frontend:
    """A site at work."""

    plan: Plan
    say: Say
    client: Client = field(init=False)
    site: str = ""
    wanted: int = 0
    """Slots that this site has."""
    is_draining: bool = False
    _busy: list[Slot] = field(default_factory=list)
    _ended: list[tuple[Slot, str]] = field(default_factory=list)
    """Partitions whose end the service has not been told yet."""
    _backoff: Backoff = field(default_factory=Backoff)
    _quiet_until: float = 0.0
    _next_update: float = 0.0
    _next_poll: float = 0.0
    _key: str = ""
    _update_every: float = 30.0
    _poll_every: float = 5.0

    def __post_init__(self) -> None:
        self.client = Client(self.plan.server, self.plan.token)
        self.wanted = self.plan.slots

    def run(self) -> None:
        """Until drained."""
        try:
            while not (self.is_draining and not self._busy and not self._ended):
                self.step()
                if not self.is_draining:
                    time.sleep(_LOOK)
                else:
                    self._end_all()
            self._calmly(lambda: self.client.once("DELETE", f"/worker/v1/sites/{self.site}") if self.site else None)
        finally:
            for slot in self._busy:
                slot.kill()
            self.client.close()

    def drain(self) -> None:
        """Take no more work, let programs deliver, and end."""
        self.is_draining = True

    def step(self) -> None:
        """Look at everything once."""
        self._reap()
        if time.monotonic() < self._quiet_until:
            return
        self._tell_ends()
        if self.is_draining:
            return
        now = time.monotonic()
        if now >= self._next_update:
            self._calmly(self._update)
        if now >= self._next_poll and len(self._busy) < self.wanted and self.site:
            self._calmly(self._fetch)

    def _calmly(self, work: Callable[[], Any]) -> None:
        """Call; if nobody answers, stay quiet for a while."""
        try:
            work()
            self._backoff.reset()
        except UnreachableError as error:
            wait = self._backoff.pause()
            self._quiet_until = time.monotonic() + wait
            self.say(f"{error}; trying again in {wait:.1f} s")

    def _update(self) -> None:
        """Register, or tell that we are there; and hear how many slots there should be."""
        if not self.site:
            self.site = self.client.once("GET", "/worker/v1/site")["site"]
            self.say(f"this is site {self.site!r}, with {self.wanted} slots")
        body = {"slots": self.wanted, "max_slots": self.plan.most}
        told = self.client.once("PUT", f"/worker/v1/sites/{self.site}", body)
        self._update_every, self._poll_every = told["update_every"], told["poll_every"]
        self._next_update = time.monotonic() + self._update_every
        self._scale(told["hint"])

    def _scale(self, hint: int) -> None:
        """Have as many slots as the service wants, but keep one, and those at work."""
        wanted = min(self.plan.most, max(1, hint, len(self._busy)))
        if wanted == self.wanted:
            return
        self.say(f"{wanted} slots instead of {self.wanted}, {len(self._busy)} at work")
        self.wanted = wanted
        self._next_update = 0.0
        if self.plan.hook:
            environment = {**os.environ, "TRADEWIND_SLOTS": str(wanted)}
            subprocess.Popen([self.plan.hook, str(wanted)], env=environment)  # noqa: S603  the user's own

    def _fetch(self) -> None:
        self._key = self._key or secrets.token_hex(8)  # the same until there is an answer
        body = {"key": self._key, "slots": self.wanted - len(self._busy)}
        try:
            told = self.client.once("POST", f"/worker/v1/sites/{self.site}/fetch", body)
        except CallError as refused:
            if refused.status != 404:
                raise
            self._next_update = 0.0  # forgotten: register again
            return
        self._key = ""
        self._next_poll = time.monotonic() + self._poll_every
        self._scale(told["hint"])
        for handed in told["partitions"]:
            self._begin(handed)

    def _begin(self, handed: dict[str, Any]) -> None:
        command = list(self.plan.command or handed["command"])
        folder = self.plan.folder / f"{handed['job']}-{handed['partition']}"
        if not command:
            self._refuse(handed, "neither the job nor this worker has a command")
            return
        try:
            given = self._input(handed, folder)
            self._busy.append(slots.begin(handed, self.plan.server, command, folder, given))
            self.say(f"partition {handed['partition']} of job {handed['job']} started")
        except (OSError, CallError, UnreachableError) as error:
            self._refuse(handed, str(error))

    def _refuse(self, handed: dict[str, Any], why: str) -> None:
        """Give a partition back that cannot be started."""
        self.say(f"partition {handed['partition']} of job {handed['job']}: {why}")
        path, body = f"{handed['path']}/finish", {"failure": why[:2000]}
        self._calmly(lambda: self.client.once("POST", path, body, handed["lease"]))

    def _input(self, handed: dict[str, Any], folder: Path) -> Path | None:
        if not handed["input"]:
            return None
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "input").write_bytes(self.client.transfer("GET", handed["input"]))
        return folder / "input"

    def _reap(self) -> None:
        for slot in list(self._busy):
            failure = slot.failure()
            if failure is not None:
                self._busy.remove(slot)
                self._ended.append((slot, failure))
                self._next_poll = 0.0

    def _tell_ends(self) -> None:
        """Say that processes have ended; a program that said so itself makes this one superfluous, but no error."""
        while self._ended:
            slot, failure = self._ended[0]
            try:
                self.client.once("POST", f"{slot.path}/finish", {"failure": failure[:2000]}, slot.lease)
            except UnreachableError as error:
                wait = self._backoff.pause()
                self._quiet_until = time.monotonic() + wait
                self.say(f"{error}; trying again in {wait:.1f} s")
                return
            except CallError:
                pass  # nobody knows of it any more
            self._ended.pop(0)
            self.say(f"partition {slot.partition} of job {slot.job} ended{f': {failure}' if failure else ''}")
            if not self.plan.keeps and not failure:
                shutil.rmtree(slot.folder, ignore_errors=True)

    def _end_all(self) -> None:
        """Ask programs to end, and make them after a while."""
        for slot in self._busy:
            slot.drain()
        until = time.monotonic() + self.plan.grace
        while self._busy and time.monotonic() < until:
            self._reap()
            time.sleep(_LOOK)
        for slot in self._busy:
            slot.kill()
        self._reap()
        deadline = time.monotonic() + self.plan.grace
        while self._ended and time.monotonic() < deadline:
            if time.monotonic() >= self._quiet_until:
                self._tell_ends()
            time.sleep(_LOOK)
        self._ended.clear()


def run_worker(plan: Plan, say: Say) -> None:
    """Work until SIGTERM or SIGINT."""
    frontend = Frontend(plan, say)

    def stop(_number: int, _frame: Any) -> None:
        say("draining")
        frontend.drain()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    frontend.run()
