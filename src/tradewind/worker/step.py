"""A step of a workflow that is a divisible job, on the machine that the step has: `python -m tradewind.worker.step`.

One process sees to it: it keeps the job in a store of its own in the step's checkpoint folder, answers partitions on
loopback and runs one on each cpu of the step. Whatever is killed, nothing that was delivered is lost: the next attempt
finds the store and goes on. On a server with sites (see `step_on_sites`) those do the work instead.
"""

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tradewind.core.divisible import jobs, partitions, sites
from tradewind.core.divisible.records import Job, Partition, Spec
from tradewind.core.divisible.settings import Settings
from tradewind.core.divisible.turn import Turn
from tradewind.live.divisible import coding, merging, verbs
from tradewind.live.divisible import statements as sql
from tradewind.live.divisible.book import SqlBook
from tradewind.live.divisible.objects import LocalObjects
from tradewind.live.divisible.open import open_desk
from tradewind.live.divisible.words import SHELL, at_home, homes
from tradewind.model.units import SECOND, Duration, seconds
from tradewind.worker import reducing, slots
from tradewind.worker.endpoint import Endpoint
from tradewind.worker.slots import Slot

SITE = JOB = "step"
_LOOK = 0.05
"""Seconds between two looks at processes."""
_TOLD = 10.0
"""Seconds between two words on how far it is."""
_GRACE = 3.0
"""Seconds that partitions have to deliver when the step is stopped."""
_MANY = 10**6


class StepError(Exception):
    """A divisible job that failed."""


class Local:
    """A divisible job on the slots of its step."""

    def __init__(self, given: Mapping[str, Any], folder: Path, kept: Path, count: int) -> None:
        kept.mkdir(parents=True, exist_ok=True)
        self.given = given
        self.folder = folder
        self.count = count
        self.is_draining = False
        self.desk = open_desk(kept / "job.db", settings_for(given["within"]))
        self.objects = LocalObjects(kept / "objects", self.desk.do(_secret), "/objects")
        self.endpoint = Endpoint(self.desk, self.objects)
        self._busy: list[Slot] = []
        self._fetches = 0
        self._told = time.monotonic()

    def run(self) -> Iterable[bytes]:
        """Until the job is over; its result, piece by piece."""
        command = self.folder / "command.sh"
        command.write_text(at_home(command.read_text(), homes()))
        self.desk.do(self._open)
        try:
            while True:
                self._reap()
                job = self._fetch()
                if job.is_over:
                    break
                if self.is_draining:
                    raise SystemExit(128 + signal.SIGTERM)
                self._tell(job)
                self._rest(1.0 if len(self._busy) == self.count else 4 * _LOOK)
        finally:
            self._end_all()
            self.endpoint.close()
        if job.state != "done":
            raise StepError(job.message)
        return self._reduced(job)

    def drain(self) -> None:
        """Let partitions deliver, and end."""
        self.is_draining = True

    def close(self) -> None:
        """Let go of the store."""
        self.desk.close()

    def _open(self, turn: Turn) -> None:
        """Submit the job, or go on with it: no partition of an earlier attempt lives any more."""
        job = turn.book.job_of(JOB)
        if job is None:
            job = jobs.submit(turn, JOB, spec_of(self.given, self.count))
        jobs.resume(turn, job)
        sites.register(turn, SITE, self.count, self.count)
        assert isinstance(turn.book, SqlBook)  # noqa: S101  a desk has no other
        for row in turn.book.session.fetch(sql.PARTITIONS_OF, job=job.number, after=-1, limit=_MANY):
            partition = coding.partition_of(row)
            if partition.is_live:
                partitions.finish(turn, job, partition)

    def _fetch(self) -> Job:
        """Begin partitions on free slots; the job as it stands."""
        free = 0 if self.is_draining else self.count - len(self._busy)
        leases = [os.urandom(16).hex() for _ in range(free)]
        self._fetches += 1
        key = f"{os.getpid()} {self._fetches}"

        def work(turn: Turn) -> tuple[Job, list[tuple[Job, Partition]]]:
            job = verbs.job_of(turn, JOB)
            is_wanted = free and job.queued and not job.is_over
            return job, sites.fetch(turn, sites.known(turn, SITE), key, leases) if is_wanted else []

        job, handed = self.desk.do(work)
        self._busy += [self._begin(job, partition) for job, partition in handed]
        return job

    def _begin(self, job: Job, partition: Partition) -> Slot:
        handed = {
            "job": job.id,
            "partition": partition.number,
            "path": f"/jobs/{job.id}/partitions/{partition.number}",
            "lease": partition.lease,
            "iterations": job.iterations,
        }
        command = [SHELL, str(self.folder / "command.sh")]
        place = self.folder / "partitions" / str(partition.number)
        return slots.begin(handed, self.endpoint.address, command, place, self.folder / "inputs.json")

    def _rest(self, longest: float) -> None:
        """Wait for a process to end, but not for long."""
        until = time.monotonic() + longest
        while time.monotonic() < until and not self.is_draining:
            if any(slot.process.poll() is not None for slot in self._busy):
                return
            time.sleep(_LOOK)

    def _reap(self) -> None:
        for slot in list(self._busy):
            failure = slot.failure()
            if failure is not None:
                self._busy.remove(slot)
                self._finish(slot, failure)

    def _finish(self, slot: Slot, failure: str) -> None:
        self.desk.do(lambda turn: verbs.finish(turn, slot.job, slot.partition, slot.lease, failure))
        if not failure:
            shutil.rmtree(slot.folder, ignore_errors=True)
        else:
            _say(f"partition {slot.partition}: {failure}")

    def _tell(self, job: Job) -> None:
        if time.monotonic() - self._told > _TOLD:
            self._told = time.monotonic()
            outlook = jobs.outlook(job, self.desk.clock()).words
            _say(f"{job.delivered:,} of {job.iterations:,} iterations; {outlook}")

    def _end_all(self) -> None:
        """Ask partitions to deliver what they have, and end them."""
        for slot in self._busy:
            slot.drain()
        until = time.monotonic() + _GRACE
        while time.monotonic() < until and not all(slot.process.poll() is not None for slot in self._busy):
            time.sleep(_LOOK)
        for slot in self._busy:
            slot.kill()
        self._reap()

    def _reduced(self, job: Job) -> Iterable[bytes]:
        reducer = self.given["reducer"]
        if reducer in merging.REDUCERS:
            return merging.merged(self.desk, job.number, reducer, self.objects)
        with merging.pieces(self.desk, job.number) as found:
            files = reducing.lay_out((piece.result for piece in found), self.objects.read, self.folder / "results")
        return [reducing.reduce_files(reducing.command_of(reducer, self.given["reduce"]), files, self.folder)]


def spec_of(given: Mapping[str, Any], count: int) -> Spec:
    """The job that a step describes, on so many slots."""
    initial = min(given["initial"] or count, given["maximum"])
    return Spec(
        iterations=given["iterations"],
        initial=initial,
        maximum=given["maximum"],
        target=None if given["within"] is None else seconds(given["within"]),
        balancer=given["balancer"],
    )


def settings_for(within: float | None) -> Settings:
    """Reports as often as a short job needs; a process costs less than a slot of somebody else."""
    floor: Duration = 10 * SECOND if within is None else min(10 * SECOND, max(SECOND // 5, seconds(within) // 100))
    return Settings(floor=floor)


def _say(words: str) -> None:
    sys.stderr.write(f"{words}\n")
    sys.stderr.flush()


def _secret(turn: Turn) -> str:
    assert isinstance(turn.book, SqlBook)  # noqa: S101  a desk has no other
    return turn.book.secret


def main(text: str) -> None:
    """Do the job that is described, and leave its result in the file `result`."""
    given = json.loads(text)
    folder = Path.cwd()
    kept = Path(os.environ["TRADEWIND_CHECKPOINT_DIR"])
    step = Local(given, folder, kept, int(os.environ.get("TRADEWIND_CPUS", "1")))
    signal.signal(signal.SIGTERM, lambda _number, _frame: step.drain())
    draft = folder / ".result"
    try:
        with draft.open("wb") as file:
            file.writelines(step.run())
    except (StepError, reducing.ReduceError) as error:
        raise SystemExit(f"error: {error}") from error
    finally:
        step.close()
    draft.replace(folder / "result")


if __name__ == "__main__":
    main(sys.argv[1])
