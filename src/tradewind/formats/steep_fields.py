"""Read typed values from Steep files, and report problems with their place.

Older releases of Steep wrote fields with underscores (`data_type`), newer ones in camel case (`dataType`); both are
read.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tradewind.formats.complaints import told
from tradewind.formats.errors import Place, Problems, did_you_mean
from tradewind.model.action import Limits
from tradewind.model.program import NO_RETRIES, Retries
from tradewind.model.units import DAY, HOUR, MINUTE, SECOND, Duration
from tradewind.model.workflow import Retry

UNLIMITED = 1_000_000
"""Attempts for actions that Steep would retry forever."""

_UNITS: Mapping[str, Duration] = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds", "milli", "millis"), SECOND // 1000),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), SECOND),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), MINUTE),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), HOUR),
    **dict.fromkeys(("d", "day", "days"), DAY),
}
_PAIR = re.compile(r"\s*(\d+)\s*([a-z]+)\s*", re.IGNORECASE)
_UNDERSCORE = re.compile(r"_([a-z])")


class Fields:
    """A reader of the fields of one file."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems

    def mapping(self, place: Place, value: Any, known: Sequence[str]) -> dict[str, Any]:
        """Return a mapping with only known fields, in either spelling."""
        if not isinstance(value, dict):
            self.problems.add(place, "is missing" if value is None else f"must be a mapping, not {told(value)}")
            return {}
        found: dict[str, Any] = {}
        for key, inner in value.items():
            name = _UNDERSCORE.sub(lambda match: match[1].upper(), key) if key not in known else key
            if name in known:
                found[name] = inner
            else:
                remedy = did_you_mean(key, known) or f"known are {', '.join(known)}"
                self.problems.add((*place, key), "unknown field", remedy)
        return found

    def rows(self, place: Place, value: Any) -> list[tuple[Place, Any]]:
        """Return the items of a list with their places; nothing is an empty list."""
        if value is None:
            return []
        if not isinstance(value, list):
            self.problems.add(place, f"must be a list, not {told(value)}")
            return []
        return [((*place, at), item) for at, item in enumerate(value)]

    def text(self, place: Place, value: Any, *, default: str | None = None) -> str:
        """Return text; without a default it is required."""
        if value is None and default is not None:
            return default
        if isinstance(value, str) and value.strip():
            return value
        self.problems.add(place, "is missing" if value is None else f"must be text, not {told(value)}")
        return ""

    def words(self, place: Place, value: Any) -> tuple[str, ...]:
        """Return a list of texts; a single text is accepted, too."""
        given = [value] if isinstance(value, str) else value
        return tuple(self.text(spot, item) for spot, item in self.rows(place, given))

    def choice(self, place: Place, value: Any, choices: Sequence[str]) -> str:
        """Return one of several words."""
        word = self.text(place, value)
        if word and word not in choices:
            self.problems.add(place, f"{told(word)} is not supported", f"choose from {', '.join(choices)}")
        return word

    def number(self, place: Place, value: Any, default: float) -> float:
        """Return a number."""
        if value is None:
            return default
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        self.problems.add(place, f"must be a number, not {told(value)}")
        return default

    def duration(self, place: Place, value: Any) -> Duration | None:
        """Return a duration as Steep writes it, `1h 30m`; a bare number means milliseconds."""
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value * (SECOND // 1000)
        text, at, total = value if isinstance(value, str) else "", 0, 0
        while found := _PAIR.match(text, at):
            unit = _UNITS.get(found[2].lower())
            if unit is None:
                break
            total, at = total + int(found[1]) * unit, found.end()
        if not text or at < len(text):
            self.problems.add(place, f"must be a duration, not {told(value)}", "write it like 1h 30m")
            return None
        return total

    def timeout(self, place: Place, value: Any) -> Duration | None:
        """Return a time-out: a duration, or a policy that contains one."""
        if isinstance(value, dict):
            policy = self.mapping(place, value, ("timeout", "errorOnTimeout"))
            if policy.get("errorOnTimeout", True) is not True:
                given = told(policy["errorOnTimeout"])
                remedy = "leave it out, or set it to true: a time-out is an error, and is retried like other errors"
                self.problems.add((*place, "errorOnTimeout"), f"{given} is not supported", remedy)
            return self.duration((*place, "timeout"), policy.get("timeout"))
        return self.duration(place, value)

    def limits(self, place: Place, row: Mapping[str, Any]) -> tuple[Limits, Duration | None]:
        """Return the time limits of one attempt (run time and silence), and of all attempts."""
        run, silence, total = (
            self.timeout((*place, name), row.get(name)) for name in ("maxRuntime", "maxInactivity", "deadline")
        )
        return Limits(run, silence), total

    def retries(self, place: Place, value: Any) -> Retries:
        """Return a retry policy, which applies to every cause of failure."""
        if value is None:
            return NO_RETRIES
        row = self.mapping(place, value, ("maxAttempts", "delay", "exponentialBackoff", "maxDelay"))
        attempts = self.number((*place, "maxAttempts"), row.get("maxAttempts"), 1)
        if attempts != int(attempts) or attempts < -1 or attempts == 0:
            self.problems.add(
                (*place, "maxAttempts"), f"{attempts:g} attempts are not supported", "give -1 or more than 0"
            )
            attempts = 1
        factor = self.number((*place, "exponentialBackoff"), row.get("exponentialBackoff"), 1)
        longest = self.duration((*place, "maxDelay"), row.get("maxDelay"))
        retry = Retry(
            UNLIMITED if attempts == -1 else int(attempts),
            delay=self.duration((*place, "delay"), row.get("delay")) or 0,
            factor=max(1.0, float(factor)),
            max_delay=365 * DAY if longest is None else longest,
        )
        return Retries(retry, retry, retry)
