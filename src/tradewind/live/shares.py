"""Calls of shares: what running shares of elastic units, and processes that reduce their results, ask for.

A call shows the lease of its attempt: a digest, under a secret of the store, of the numbers of unit and attempt. So it
is checked without looking anything up, and is good for as long as the attempt runs, restarts included. A report is a
fact for the driver, and is answered once everything that follows from it is saved. `docs/share-protocol.md` describes
the calls; `tradewind.server.routes.shares` and `tradewind.live.endpoint` serve them.
"""

import asyncio
import hmac
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Annotated, Any, TypeAlias

import orjson
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from tradewind.core.elastic.division import Division, Share
from tradewind.core.state import State
from tradewind.core.work import Unit
from tradewind.live.facts import Answer, Declined, Fact, Finish, Given, Progress
from tradewind.live.notes import SIGNER
from tradewind.live.objects import ObjectError, Objects
from tradewind.live.store.port import Changes, Lease, Store
from tradewind.live.store.rows import DeliveryRow
from tradewind.model.elastic import Range
from tradewind.model.units import Duration, Time, in_seconds, seconds

Plain: TypeAlias = dict[str, Any]
Tell: TypeAlias = Callable[[Fact], None]

STALE = "/problems/stale"
"""The type of problem that says that a lease is over."""
LARGEST_RESULT = 256 << 10
"""Bytes of a result that is not uploaded."""
LARGEST_BODY = 20 << 20
"""Bytes of a report with as many results as may come with it."""
LARGEST_OBJECT = 256 << 20
"""Bytes of a result that is uploaded to the control plane itself."""
_PAGE = 500
_NAME = re.compile(r"(\d{1,12})\.(\d{1,9})")

Whole: TypeAlias = Annotated[int, Field(ge=0, le=10**15)]
Number: TypeAlias = Annotated[int, Field(ge=1, le=10**12)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class DeliveryBody(_Body):
    """Results of some iterations."""

    number: Number
    """1, 2, 3, … within the attempt."""
    ranges: Annotated[list[tuple[Whole, Whole]], Field(min_length=1, max_length=64)]
    result: Any = None
    """The result itself."""
    object: Annotated[str, StringConstraints(max_length=300)] = ""
    """Or the `key` of an uploaded one."""
    checkpoint: bool = False
    """Whether it stands for everything that this attempt has delivered so far."""


class ReportBody(_Body):
    """How far a share is."""

    done: Whole
    """Iterations done since its start, delivered or not."""
    elapsed: Annotated[float, Field(ge=0, le=10**10)]
    """Seconds spent working since its start, by its own clock."""
    ahead: Whole = 0
    """Iterations that it goes on with before it has the answer."""
    deliveries: Annotated[list[DeliveryBody], Field(max_length=64)] = []


class FinishBody(_Body):
    """How a share ends."""

    failure: Annotated[str, StringConstraints(max_length=2_000)] = ""
    """Why it could not go on; empty: it has nothing left to do."""


class UploadBody(_Body):
    """Which result is to be uploaded."""

    number: Number
    """Of the delivery."""


class ShareCallError(Exception):
    """A call that is refused, with its status and the type of its problem document."""

    def __init__(self, status: int, detail: str, type: str = "about:blank") -> None:
        super().__init__(detail)
        self.status = status
        self.type = type


class Shares:
    """Answers calls of shares; belongs to the event loop of its driver."""

    def __init__(
        self,
        state: State,
        store: Store,
        objects: Objects,
        secret: str,
        clock: Callable[[], Time],
        tell: Tell,
    ) -> None:
        self.objects = objects
        self.clock = clock
        self._state = state
        self._store = store
        self._secret = secret.encode()
        self._tell = tell
        self._waiting: set[asyncio.Future[Answer | Declined]] = set()

    def lease(self, unit: int, attempt: int) -> str:
        """Return the secret that calls of an attempt show."""
        return f"twl_{hmac.new(self._secret, f'share {unit}.{attempt}'.encode(), sha256).hexdigest()[:40]}"

    def is_lease(self, name: str, shown: str) -> bool:
        """Whether this is the lease of a share."""
        found = _NAME.fullmatch(name)
        expected = "" if found is None else self.lease(int(found[1]), int(found[2]))
        return hmac.compare_digest(expected.encode(), shown.encode("utf-8", "replace")) and found is not None

    def close(self) -> None:
        """Refuse those who still wait for an answer: they ask again later."""
        for answer in self._waiting:
            if not answer.done():
                answer.set_exception(ShareCallError(503, "the control plane is stopping; try again"))

    async def start(self, name: str) -> Plain:
        """Begin a share, or ask again what it is to do."""
        return await self._report(name, 0, 0, 0, ())

    async def report(self, name: str, body: ReportBody) -> Plain:
        """Take how far a share is, and its results."""
        unit = self._running(name)
        names: Mapping[str, str] = {}
        if any(each.object for each in body.deliveries):
            names = await asyncio.to_thread(self._keep, f"{unit.id}.{unit.attempt}", body.deliveries)
        given = tuple(_given(each, names) for each in body.deliveries)
        return await self._report(name, body.done, seconds(body.elapsed), body.ahead, given)

    def upload(self, name: str, body: UploadBody) -> Plain:
        """Return a signed address to which the result of a delivery can be uploaded, and its key."""
        unit = self._running(name)
        key = _key(f"{unit.id}.{unit.attempt}", body.number)
        return {"key": key, "url": self.objects.address("PUT", key, self.clock())}

    def finish(self, name: str, body: FinishBody) -> Plain:
        """Take a share's word that it ends; what it holds goes back as soon as its process has ended."""
        unit = self._running(name)
        self._tell(Finish(unit.id, unit.attempt, body.failure))
        return {"state": "finished"}

    async def results(self, name: str, after: str = "") -> Plain:
        """Return a page of the results of an elastic unit, for the process that reduces them."""
        unit = self._found(name)
        if not isinstance(unit.elastic, Division):
            raise ShareCallError(409, "only the process that reduces results may read them")
        start = _place(after)
        rows = await asyncio.to_thread(self._store.deliveries, unit.run.id, unit.id, after=start, limit=_PAGE)
        last = rows[-1] if len(rows) == _PAGE else None
        following = None if last is None else f"{last.share}.{last.attempt}.{last.number}"
        return {"results": [self._shown(row) for row in rows], "next": following}

    def _shown(self, row: DeliveryRow) -> Plain:
        shown = {
            "share": f"{row.share}.{row.attempt}",
            "first": row.ranges[0][0],
            "checkpoint": row.checkpoint,
            **orjson.loads(row.result),
        }
        if "object" in shown:
            shown["url"] = self.objects.address("GET", shown["object"], self.clock())
        return shown

    async def _report(self, name: str, done: int, elapsed: Duration, ahead: int, given: tuple[Given, ...]) -> Plain:
        unit = self._running(name)
        future: asyncio.Future[Answer | Declined] = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            self._tell(Progress(unit.id, unit.attempt, done, elapsed, ahead, given, partial(_settle, future)))
            answer = await future
        finally:
            self._waiting.discard(future)
        if isinstance(answer, Declined):
            raise ShareCallError(409, answer.reason, STALE if answer.is_stale else "about:blank")
        return answer_shape(answer)

    def _found(self, name: str) -> Unit:
        """The unit whose attempt a call is about; refused if that does not run."""
        found = _NAME.fullmatch(name)
        unit = None if found is None else self._state.units.get(int(found[1]))
        if found is None or unit is None or unit.machine is None or unit.attempt != int(found[2]):
            raise ShareCallError(409, "the lease is over; others do what the share held", STALE)
        return unit

    def _running(self, name: str) -> Unit:
        unit = self._found(name)
        if not isinstance(unit.elastic, Share):
            raise ShareCallError(409, "this is no share of an elastic unit")
        return unit

    def _keep(self, name: str, deliveries: Sequence[DeliveryBody]) -> dict[str, str]:
        """Under which names what was uploaded for a report can change no more; what was not is refused."""
        found = {}
        for each in deliveries:
            if not each.object:
                continue
            if each.object != _key(name, each.number):
                raise ShareCallError(422, "object: not the key that was given out for this delivery")
            try:
                found[each.object] = self.objects.keep(each.object)
            except ObjectError as error:
                raise ShareCallError(409, str(error)) from error
        return found


def secret_of(store: Store, lease: Lease | None = None) -> str:
    """The secret of a store, made if there is none yet."""
    known = store.note(SIGNER)
    if known is None:
        known = secrets.token_hex(32)
        store.save(Changes(notes={SIGNER: known}), lease)
    return str(known)


def _settle(future: "asyncio.Future[Answer | Declined]", answer: Answer | Declined) -> None:
    if not future.done():  # else whoever asked has gone
        future.set_result(answer)


def _key(name: str, number: int) -> str:
    return f"results/{name}/{number}"


def _place(after: str) -> tuple[int, int, int]:
    parts = after.split(".")
    if not after:
        return -1, 0, 0
    if len(parts) != 3 or not all(part.isdecimal() and len(part) < 16 for part in parts):
        raise ShareCallError(422, "after: not the `next` of an earlier answer")
    return int(parts[0]), int(parts[1]), int(parts[2])


def _given(body: DeliveryBody, names: Mapping[str, str]) -> Given:
    content = {"object": names[body.object]} if body.object else {"inline": body.result}
    try:
        text = orjson.dumps(content).decode()
    except TypeError as error:
        raise ShareCallError(422, f"the result cannot be kept ({error})") from error
    if len(text) > LARGEST_RESULT:
        raise ShareCallError(413, f"a result of more than {LARGEST_RESULT >> 10} KB must be uploaded")
    ranges: list[Range] = [(begin, end) for begin, end in body.ranges]
    return Given(body.number, tuple(ranges), text, body.checkpoint)


def answer_shape(answer: Answer) -> Plain:
    """What a share is told."""
    return {
        "next": answer.next,
        "ranges": answer.ranges,
        "interval": in_seconds(answer.interval),
        "deliveries": answer.deliveries,
        "silence": in_seconds(answer.silence),
    }


def answer_lines(told: Plain) -> str:
    """The same line by line, for shells."""
    lines = [f"next {told['next']}", f"deliveries {told['deliveries']}"]
    lines += [f"{name} {told[name]:g}" for name in ("interval", "silence")]
    lines += [f"range {begin} {end}" for begin, end in told["ranges"]]
    return "\n".join(lines) + "\n"
