"""What happens with time: leases run out, sites are forgotten, the scaling hint goes through its phases."""

from collections.abc import Sequence

from tradewind.core.divisible import partitions, urgency
from tradewind.core.divisible.records import Site
from tradewind.core.divisible.turn import Turn
from tradewind.policies.divisible import scaling
from tradewind.policies.divisible.scaling import Load, Reach

AT_ONCE = 200
"""Leases that are ended in one beat; the others follow with the next ones."""


def is_due(turn: Turn) -> bool:
    """Whether time should be looked at again; any call may do it."""
    return turn.book.pulse() is None or turn.now - turn.pulse.looked >= turn.settings.beat


def beat(turn: Turn) -> None:
    """Look at the time, and do what it calls for."""
    pulse = turn.pulse
    gap = turn.now - pulse.looked
    if gap > turn.settings.outage:
        pulse.paused += gap  # nobody could have reported meanwhile
    pulse.looked = turn.now
    busy, queued = turn.book.totals()
    pulse.area += (busy + queued) * min(gap, turn.settings.outage)
    for partition in turn.book.expired(turn.service_time, AT_ONCE):
        partitions.lose(turn, partition)
    urgency.note(turn)
    _scale(turn)
    turn.book.put_pulse(pulse)


def _scale(turn: Turn) -> None:
    """Ask sites for slots: more as soon as work waits, fewer when a measured step is over."""
    pulse, settings = turn.pulse, turn.settings
    busy, queued = turn.book.totals()
    is_over = turn.now - pulse.since >= settings.step
    is_short = not settings.is_original_hint and queued > 0 and busy + queued > pulse.need.slots
    if not (is_over or is_short):
        return
    active = turn.book.sites(turn.now - settings.inactive)
    achievable = sum(site.achievable for site in active)
    if is_over and not pulse.is_settling:
        slots = sum(site.slots for site in active)
        load = Load(
            pulse.area / max(1, turn.now - pulse.since),
            busy,
            queued,
            pulse.dispatched,
            pulse.created,
            slots,
            achievable,
        )
        pulse.need = (scaling.original if settings.is_original_hint else scaling.ours)(pulse.need, load)
    elif is_short:
        pulse.need = scaling.grown(pulse.need, busy + queued, achievable)
    if is_over:
        pulse.since = turn.now
        pulse.is_settling = not pulse.is_settling
        pulse.area = pulse.dispatched = pulse.created = 0
        for id in turn.book.forgotten(turn.now - settings.forgotten):
            turn.book.drop_site(id)
    _hint(turn, active)


def _hint(turn: Turn, active: Sequence[Site]) -> None:
    spread = scaling.spread_original if turn.settings.is_original_hint else scaling.spread
    hints = spread(turn.pulse.need.slots, [Reach(site.achievable, site.speed) for site in active])
    for site, hint in zip(active, hints, strict=True):
        if site.hint != hint:
            site.hint = hint
            turn.book.put_site(site)
