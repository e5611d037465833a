"""Elastic units and their shares as plain values, and back: what a restart needs to go on exactly where things stood.

The ledger is saved with the elastic unit, and what each running share holds with the share. Sums over shares are not
saved: they are counted again from the shares that run on.
"""

from typing import TYPE_CHECKING, Any

from tradewind.core.elastic.division import Division, Share
from tradewind.core.elastic.events import make_share, new_division
from tradewind.core.elastic.ranges import size
from tradewind.core.work import Unit
from tradewind.model.elastic import Range
from tradewind.policies.divisible.speed import Speed

if TYPE_CHECKING:
    from tradewind.core.unit_events import UnitEvents

Plain = dict[str, Any]
"""Values that JSON knows."""

_SUMS = ("submitted", "asked", "initial", "made", "failures", "silent", "rated", "is_late", "is_over")
_COUNTS = (
    "number",
    "rating",
    "delivered",
    "deliveries",
    "done",
    "told",
    "measured",
    "elapsed",
    "heard",
    "reports",
    "interval",
    "is_leaving",
)


def saved_division(division: Division) -> Plain:
    """Return how an elastic unit is divided."""
    saved: Plain = {name: getattr(division, name) for name in _SUMS}
    saved["ledger"] = division.ledger.saved()
    return saved


def saved_share(unit: Unit, share: Share) -> Plain:
    """Return what is known of a share; of one that does not run, only whose it is."""
    saved: Plain = {"of": share.division.unit.id}
    if unit.machine is not None:
        saved |= {name: getattr(share, name) for name in _COUNTS}
        saved["held"] = share.held
        saved["speed"] = list(share.speed)
    return saved


def restore_division(core: "UnitEvents", unit: Unit, saved: Plain) -> Division:
    """Divide a unit as it was."""
    spec = unit.task.elastic
    if spec is None:
        raise ValueError(f"unit {unit.id} is not elastic")
    unit.elastic = division = new_division(core, unit, spec)
    for name in _SUMS:
        setattr(division, name, saved[name])
    division.ledger.restore(saved["ledger"])
    division.computed = division.ledger.delivered
    return division


def restore_share(unit: Unit, division: Division, saved: Plain) -> None:
    """Let a unit be the share that it was; it holds nothing until it is found to run on."""
    if unit.is_ended:
        unit.elastic = Share(division)
        return
    share = make_share(unit, division)
    if "held" not in saved:
        return
    for name in _COUNTS:
        setattr(share, name, saved[name])
    share.speed = Speed(*saved["speed"])
    share.held = _ranges(saved["held"])
    share.count = size(share.held)


def restore_hold(unit: Unit) -> None:
    """Let a share run on with what it held, or return that if its machine is gone."""
    share = unit.elastic
    if not isinstance(share, Share):
        return
    if unit.machine is not None:
        share.kind = unit.machine.kind
        share.division.resume(share)
    elif share.held:
        share.division.ledger.take_back(share.held)
        share.begin(share.number, share.interval)


def _ranges(saved: list[list[int]]) -> list[Range]:
    return [(begin, end) for begin, end in saved]
