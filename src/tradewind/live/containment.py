"""Containment: whatever goes wrong with one run fails that run, with its reason, and never the driver.

Values are checked where they enter, as reports of an engine; what they and the expressions of a program lead to is
tried under `Blaming`, also when runs are rebuilt after a restart.
"""

from tradewind.live.facts import Fact
from tradewind.live.jobs import Job
from tradewind.live.port import Broke, Done
from tradewind.live.store.errors import StoreError
from tradewind.model.bounds import flaw, is_text, readable


def checked(fact: Fact) -> Fact:
    """A fact that can be stored and sent: an output that cannot makes the report a failure of its step."""
    if type(fact) is Done and fact.results:
        for call, outputs in fact.results.items():
            for name, value in outputs.items():
                if reason := flaw(value):
                    why = f"output {name!r} {reason}"
                    return Broke(fact.unit, fact.attempt, fact.machine, "error", why, call, usage=fact.usage)
    if type(fact) is Broke and not (is_text(fact.reason) and is_text(fact.tail)):
        return fact._replace(reason=readable(fact.reason), tail=readable(fact.tail))
    return fact


class Blaming:
    """Lets whatever goes wrong inside be the fault of one job; `with` it costs half of what a generator would."""

    __slots__ = ("_job",)

    def __init__(self, job: Job) -> None:
        self._job = job

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        if not isinstance(error, Exception) or isinstance(error, StoreError):
            return False
        self._job.blame(error)
        return True
