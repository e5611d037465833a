"""Looking up what calls gave before, and remembering what they give."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tradewind.core.chains.chain import Chain
from tradewind.live.cache.digests import Digests
from tradewind.live.cache.files import adopt, are_whole, seals
from tradewind.live.cache.keys import Key, Keys
from tradewind.live.cache.known import Known, Place, Results
from tradewind.live.store.errors import StoreUnavailableError
from tradewind.live.store.port import Store
from tradewind.live.store.rows import CacheRow, DigestRow
from tradewind.model.action import Call, Derived, Json, Ref
from tradewind.model.expression import ExpressionError, MissingError, resolve
from tradewind.model.units import Duration, Time

_POSITION = re.compile(r"\[[0-9.]+\]")


class Cache:
    """What calls gave, in a store."""

    def __init__(self, store: Store, modules: Sequence[str] = ()) -> None:
        self._store = store
        self._digests = Digests(self._known_digest)
        self._keys = Keys(self._digests, modules)
        self._tenants: dict[str, bool] = {}
        """Whether anything is remembered of a tenant: for a new one no keys are made."""

    def recall(self, place: Place, chains: Sequence[Chain], now: Time) -> list[Known]:
        """What is known of each of some chains; one question for all of them, and one more for each further call."""
        known = [Known({}, chain) for chain in chains]
        open_ones = [at for at, chain in enumerate(chains) if chain.calls and self._may_know(place, chain.calls[0])]
        while open_ones:
            keys = {at: key for at in open_ones if (key := self._key(known[at].rest.calls[0], {})) is not None}
            found = self._ask(place.tenant, [key.text for key in keys.values()])
            open_ones = []
            for at, key in keys.items():
                row = found.get(key.text)
                if row is None or not are_whole(row.files):
                    continue
                try:
                    known[at] = self._taken(place, known[at], row, now)
                except (OSError, ExpressionError, MissingError):  # then it runs
                    continue
                calls = known[at].rest.calls
                if calls and self._may_know(place, calls[0]):
                    open_ones.append(at)
        return known

    def recaller(
        self, place: Place, now: Callable[[], Time], used: Callable[[Sequence[CacheRow]], None]
    ) -> Callable[[Sequence[Chain]], Sequence[Known]]:
        """What recalls chains of one place, and says what it used of that which is remembered."""

        def recall(chains: Sequence[Chain]) -> Sequence[Known]:
            found = self.recall(place, chains, now())
            used([row for known in found for row in known.rows])
            return found

        return recall

    def remember(self, place: Place, chain: Chain, results: Results, started: Time, now: Time) -> list[CacheRow]:
        """What the calls of a chain gave, to be saved; not what depended on files that changed meanwhile."""
        rows = []
        home = f"{place.folder}/"
        for call in chain.calls:
            if not is_cacheable(call) or call.id not in results:
                continue
            key = self._key(call, results)
            sealed = seals(call.outputs, results[call.id])
            if key is None or sealed is None:
                continue
            if key.modified >= started * 1000 and not all(path.startswith(home) for path in key.files):
                continue
            rows.append(_row(place, call, key, results[call.id], sealed, now - started, now))
            self._tenants[place.tenant] = True
        return rows

    def fresh_digests(self) -> list[DigestRow]:
        """Digests made since this was last asked."""
        fresh, self._digests.fresh = self._digests.fresh, []
        return fresh

    def key(self, call: Call, inputs: Mapping[str, Json]) -> Key:
        """The key of a call with its inputs as values."""
        return self._keys.of(call, inputs)

    def _may_know(self, place: Place, call: Call) -> bool:
        """Whether it makes sense to look a call up; nobody else writes to the store as long as we do."""
        if not is_cacheable(call):
            return False
        tenant = place.tenant
        if tenant not in self._tenants:
            try:
                self._tenants[tenant] = bool(self._store.cached(tenant=tenant, limit=1))
            except StoreUnavailableError:
                return False
        return self._tenants[tenant]

    def _key(self, call: Call, results: Results) -> Key | None:
        try:
            return self._keys.of(call, resolve(call.inputs, results))
        except (ExpressionError, MissingError, TypeError):  # it will be told where it matters
            return None

    def _taken(self, place: Place, known: Known, row: CacheRow, now: Time) -> Known:
        call, *others = known.rest.calls
        folder = f"{place.folder}/{known.rest.name}/cached/{_folder(call)}"
        values, sealed = adopt(call.outputs, row.results, row.files, folder)
        results = {**known.results, call.id: values}
        rest = replace(known.rest, calls=tuple(_shortened(other, {call.id: values}) for other in others))
        taken = row._replace(results=values, files=sealed, used=max(now, row.used), uses=row.uses + 1)
        return Known(results, rest, (*known.rows, taken), known.source or row.run)

    def _ask(self, tenant: str, keys: list[str]) -> dict[str, CacheRow]:
        try:
            return self._store.recall(tenant, list(dict.fromkeys(keys)))
        except StoreUnavailableError:  # then they run
            return {}

    def _known_digest(self, path: str) -> DigestRow | None:
        try:
            return self._store.digest(path)
        except StoreUnavailableError:
            return None


def is_cacheable(call: Call) -> bool:
    """Whether what a call gives can stand for running it: one without outputs is run for what it does elsewhere."""
    return call.cache and bool(call.outputs)


def step_of(program: str, call: str) -> str:
    """A call's program and step, whatever its position in loops."""
    return f"{program}/{_POSITION.sub('', call)}"


def _row(
    place: Place, call: Call, key: Key, results: Mapping[str, Json], sealed: Json, took: Duration, now: Time
) -> CacheRow:
    parts = {name: list(part) for name, part in key.parts.items()}
    step = step_of(place.program, call.id)
    return CacheRow(
        place.tenant, key.text, step, parts, place.run, call.id, dict(results), sealed, max(0, took), now, now
    )


def _folder(call: Call) -> str:
    return _POSITION.sub(lambda found: "." + found[0][1:-1].replace(".", "-"), call.id)[-150:]


def _shortened(call: Call, known: Results) -> Call:
    """A call with what is known now in the place of pointers to earlier calls."""
    return replace(call, inputs={name: _settled(value, known) for name, value in call.inputs.items()})


def _settled(value: Json, known: Results) -> Json:
    if isinstance(value, Ref):
        return resolve(value, known) if value.call in known else value
    if isinstance(value, Derived):
        names = {name: _settled(given, known) for name, given in value.names.items()}
        derived = Derived(value.template, names)
        return derived if any(map(_is_pending, names.values())) else resolve(derived, {})
    if isinstance(value, list | tuple):
        return [_settled(item, known) for item in value]
    if isinstance(value, Mapping):
        return {name: _settled(item, known) for name, item in value.items()}
    return value


def _is_pending(value: Json) -> bool:
    if isinstance(value, Ref | Derived):
        return True
    if isinstance(value, list):
        return any(map(_is_pending, value))
    return isinstance(value, Mapping) and any(map(_is_pending, value.values()))
