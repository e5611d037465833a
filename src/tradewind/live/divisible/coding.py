"""Records of divisible jobs as rows: what is searched for in columns, the rest as one text."""

from dataclasses import fields
from typing import Any

import orjson

from tradewind.core.divisible.records import Job, Partition, Pulse, Site, Spec, Wanted
from tradewind.policies.divisible.scaling import Need
from tradewind.policies.divisible.speed import Speed

_IN_COLUMNS = frozenset({"id", "number", "spec", "state", "due", "queued", "live", "ended"})
_SUMS = tuple(field.name for field in fields(Job) if field.name not in _IN_COLUMNS)
_PARTITION = tuple(field.name for field in fields(Partition) if field.name not in ("job", "number", "until"))
_SITE = tuple(field.name for field in fields(Site) if field.name not in ("id", "updated"))
_PULSE = tuple(field.name for field in fields(Pulse))


def job_row(job: Job) -> tuple[Any, ...]:
    """As it stands in the table."""
    spec = job.spec
    return (
        job.number,
        job.id,
        spec.tenant,
        job.state,
        spec.priority,
        job.due,
        job.queued,
        job.live,
        job.ended,
        _text(spec),
        _values(job, _SUMS),
    )


def job_of(row: Any) -> Job:
    """What a row says."""
    number, id, _tenant, state, _priority, due, queued, live, ended, spec, sums = row
    given = orjson.loads(spec)
    for place, name in enumerate(Spec._fields):
        if name in ("weights", "command"):
            given[place] = tuple(given[place])
    values = {name: _whole(value) for name, value in zip(_SUMS, orjson.loads(sums), strict=False)}
    return Job(
        id=id, number=number, spec=Spec(*given), state=state, due=due, queued=queued, live=live, ended=ended, **values
    )


def partition_row(partition: Partition) -> tuple[Any, ...]:
    """As it stands in the table; only those under a lease can run out."""
    until = partition.until if partition.is_live else None
    return partition.job, partition.number, until, _values(partition, _PARTITION)


def partition_of(row: Any) -> Partition:
    """What a row says."""
    job, number, until, state = row
    values = dict(zip(_PARTITION, orjson.loads(state), strict=False))  # older ones know less
    values["held"] = [(begin, end) for begin, end in values["held"]]
    values["speed"] = Speed(*values["speed"])
    return Partition(job=job, number=number, until=until or 0, **values)


def site_row(site: Site) -> tuple[Any, ...]:
    """As it stands in the table."""
    return site.id, site.updated, _values(site, _SITE)


def site_of(row: Any) -> Site:
    """What a row says."""
    id, updated, state = row
    values = dict(zip(_SITE, orjson.loads(state), strict=True))
    values["tenants"] = tuple(values["tenants"])
    values["fetched"] = tuple((job, number) for job, number in values["fetched"])
    return Site(id=id, updated=updated, **values)


def pulse_text(pulse: Pulse) -> str:
    """As it stands in the table."""
    return _values(pulse, _PULSE)


def pulse_of(text: str) -> Pulse:
    """What a row says."""
    values = dict(zip(_PULSE, orjson.loads(text), strict=False))  # older ones know less
    values["need"] = Need(*values["need"])
    values["wanted"] = tuple(Wanted(*row) for row in values.get("wanted", ()))
    values["area"] = _whole(values["area"])
    return Pulse(**values)


def _values(record: object, names: tuple[str, ...]) -> str:
    return _text([getattr(record, name) for name in names])


def _text(value: Any) -> str:
    try:
        return orjson.dumps(value, default=list).decode()
    except TypeError:  # a sum beyond 64 bits
        return orjson.dumps([_plain(each) for each in value], default=list).decode()


def _plain(value: Any) -> Any:
    return f"={value}" if isinstance(value, int) and abs(value) >= 2**63 else value


def _whole(value: Any) -> Any:
    return int(value[1:]) if isinstance(value, str) and value.startswith("=") else value
