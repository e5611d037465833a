"""Make untrusted text safe for a terminal: names and logs could move the cursor, hide lines or inject input."""

import re

_COLOUR = r"\x1b\[[0-9;]*m"
_CONTROL = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
"""Control characters except newlines and tabs, bidirectional controls, and lone surrogates."""
_any = re.compile(_CONTROL)
_any_but_colours = re.compile(f"({_COLOUR})|{_CONTROL}")
_RESET = "\x1b[0m"


def visible(text: str) -> str:
    """Return the text with control characters escaped, such as `\\x1b`."""
    return text if text.isprintable() else _any.sub(_written_out, text)


def cell(text: str) -> str:
    """Return the same on a single line."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def log(text: str) -> str:
    """Return program output with its colours; text overwritten by a carriage return is kept."""
    if text.isprintable():
        return text
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    shown = _any_but_colours.sub(lambda found: found[1] or _written_out(found), lines)
    return shown + _RESET if "\x1b[" in shown else shown


def _written_out(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"
