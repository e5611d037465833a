"""The frontend of a site: registers, fetches partitions, runs a process for each, obeys the scaling hint, drains.

It only calls, and is never called: outbound HTTPS is all it needs. Whatever it does not get through it tries again,
with growing pauses; what its programs have delivered is safe whatever happens to it.
"""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tradewind.live.divisible.words import located
from tradewind.model.errors import TradewindError
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
    reduces: bool = False
    """Whether what jobs reduce their results with is run here, although they have no say in what partitions run."""


@dataclass(slots=True)
class Frontend:
    """A site at work."""

    plan: Plan
    say: Say
    home: Path = field(default_factory=Path.cwd)
    """Where it was started: programs and modules are looked for there."""
    client: Client = field(init=False)
    site: str = ""
    wanted: int = 0
    """Slots that this site has."""
    is_draining: bool = False
    refusal: str = ""
    """Why the service does not let this site in; empty: it does."""
    _busy: list[Slot] = field(default_factory=list)
    _ended: list[tuple[Slot, str]] = field(default_factory=list)
    """Partitions whose end the service has not been told yet."""
    _backoff: Backoff = field(default_factory=Backoff)
    _quiet_until: float = 0.0
    _next_update: float = 0.0
    _next_poll: float = 0.0
    _key: str = ""
    _hook: "subprocess.Popen[bytes] | None" = None
    _hooked: int = 0
    """Slots that the hook has been told of."""
    _update_every: float = 30.0
    _poll_every: float = 5.0

    def __post_init__(self) -> None:
        self.client = Client(self.plan.server, self.plan.token)
        self.wanted = self._hooked = self.plan.slots

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
        self._call_hook()
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
        """Call; if nobody answers, stay quiet for a while. A site that is let in no more takes no more work."""
        try:
            work()
            self._backoff.reset()
        except UnreachableError as error:
            self._wait(str(error))
        except CallError as refused:
            if refused.status in (401, 403):
                self.refusal = str(refused)
                self.drain()
            else:
                self._wait(f"refused: {refused}")

    def _wait(self, why: str) -> None:
        wait = self._backoff.pause()
        self._quiet_until = time.monotonic() + wait
        self.say(f"{why}; trying again in {wait:.1f} s")

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

    def _call_hook(self) -> None:
        """Tell the hook how many slots there should be; if it is still at work, when it has ended."""
        if not self.plan.hook or self._hooked == self.wanted:
            return
        if self._hook is not None and self._hook.poll() is None:
            return
        self._hooked = self.wanted
        environment = {**os.environ, "TRADEWIND_SLOTS": str(self.wanted)}
        try:
            self._hook = subprocess.Popen([self.plan.hook, str(self.wanted)], env=environment)  # noqa: S603  the user's own
        except OSError as error:
            self.say(f"the hook cannot be run: {error}")

    def _fetch(self) -> None:
        self._key = self._key or secrets.token_hex(8)  # the same until there is an answer
        reduces = self.plan.reduces or not self.plan.command
        body = {"key": self._key, "slots": self.wanted - len(self._busy), "reduces": reduces}
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
        command = self._command(handed)
        folder = self.plan.folder / f"{handed['job']}-{handed['partition']}"
        if not command:
            self._refuse(handed, "neither the job nor this worker has a command")
            return
        try:
            given = self._input(handed, folder)
            self._busy.append(slots.begin(handed, self.plan.server, command, folder, given, self.home))
            self.say(f"partition {handed['partition']} of job {handed['job']} started")
        except UnreachableError as error:
            self.say(str(error))
            self._refuse(handed, "")  # the job is not to blame
        except (OSError, CallError) as error:
            self._refuse(handed, str(error))

    def _command(self, handed: dict[str, Any]) -> list[str]:
        """What is run for a partition, in a folder of its own.

        A word that names a file of the folder where the worker was started stands for that file, and `{python}` for
        the worker's own interpreter.
        """
        for reducer, reduce in (handed.get("reduce") or {}).items():
            return [sys.executable, "-m", "tradewind.worker.reducer", reducer, reduce]
        command = list(self.plan.command or handed["command"])
        return [sys.executable if word == "{python}" else word for word in located(command, [self.home])]

    def _refuse(self, handed: dict[str, Any], why: str) -> None:
        """Give a partition back that cannot be started."""
        self.say(f"partition {handed['partition']} of job {handed['job']} goes back: {why or 'no input'}")
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
                self._wait(str(error))
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
        self._tell_ends()
        while self._ended and time.monotonic() < deadline:
            time.sleep(_LOOK)
            if time.monotonic() >= self._quiet_until:
                self._tell_ends()
        self._ended.clear()


def run_worker(plan: Plan, say: Say) -> None:
    """Work until SIGTERM or SIGINT, or until the service lets this site in no more."""
    frontend = Frontend(plan, say)

    def stop(_number: int, _frame: Any) -> None:
        say("draining")
        frontend.drain()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    frontend.run()
    if frontend.refusal:
        raise TradewindError(f"the service refuses this site: {frontend.refusal}; give it a new token")
