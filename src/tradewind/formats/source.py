"""Read the bytes of a file: decompressed, bounded and decoded as text.

Problems that do not depend on the format are found here: a file that is missing, a folder, unreadable or truncated, or
that would decompress to more than memory can hold.
"""

import zlib
from dataclasses import dataclass
from pathlib import Path

from tradewind.formats.errors import FormatError

LARGEST = 2 * 1024**3
"""Maximum size of a decompressed file, in bytes."""

_GZIP = b"\x1f\x8b"
_CHUNK = 1 << 20
_SLICE = 64 << 10
_SMALL = 4 << 20
_RATIO = 64


@dataclass(frozen=True, slots=True)
class Source:
    """A file that was read."""

    file: str
    """The path as given by the user."""
    text: str


def read_source(path: str | Path, *, largest: int = LARGEST) -> Source:
    """Read a file as text, decompressing it if necessary."""
    file = str(path)
    return source_of(_read(path, file, largest), file, largest=largest)


def source_of(raw: bytes, file: str, *, largest: int = LARGEST) -> Source:
    """Decode bytes as text, decompressing them if necessary."""
    return Source(file, _decode(unpack(raw, file, largest=largest), file))


def unpack(raw: bytes, file: str, *, largest: int = LARGEST) -> bytes:
    """Decompress a gzip file, member by member, up to a limit; return other bytes as they are."""
    if not raw.startswith(_GZIP):
        return raw
    parts: list[bytes] = []
    size = at = 0
    while raw.startswith(_GZIP, at):
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            given = raw[at : at + _SLICE]
            try:
                part = member.decompress(given, _CHUNK)
            except zlib.error as error:
                raise FormatError(file, f"the gzip data is damaged ({error})") from None
            at += len(given) - len(member.unconsumed_tail) - len(member.unused_data)
            size += len(part)
            if size > largest:
                raise FormatError(file, f"decompresses to more than {largest:,} bytes", remedy="split the file")
            parts.append(part)
            if not given and not part and not member.eof:
                raise FormatError(
                    file, "the gzip data ends too early", remedy="the file is truncated; download it again"
                )
        while raw.startswith(b"\0", at):
            at += 1
    if at < len(raw):
        raise FormatError(file, "the gzip data is followed by other data")
    return b"".join(parts)


def most_unpacked(packed: int, largest: int) -> int:
    """Return the maximum decompressed size of an uploaded document; zip bombs have a much higher ratio."""
    return min(largest, max(_SMALL, _RATIO * packed))


def _read(path: str | Path, file: str, largest: int) -> bytes:
    try:
        with Path(path).open("rb") as opened:
            raw = opened.read(largest + 1)
    except FileNotFoundError:
        raise FormatError(file, "no such file") from None
    except IsADirectoryError:
        raise FormatError(file, "is a folder, not a file") from None
    except PermissionError:
        raise FormatError(file, "may not be read", remedy="check its permissions") from None
    except (OSError, ValueError) as error:  # ValueError: a zero byte or a lone surrogate in the path
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise FormatError(file, f"cannot be read ({reason})") from None
    if len(raw) > largest:
        raise FormatError(file, f"has more than {largest:,} bytes", remedy="split the file")
    return raw


def _decode(raw: bytes, file: str) -> str:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        remedy = "save the file as UTF-8"
        raise FormatError(file, f"byte 0x{raw[error.start]:02x} is not UTF-8 text", line=line, remedy=remedy) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise FormatError(file, "contains zero bytes; this is not a text file", line=line)
    if not text.strip():
        raise FormatError(file, "is empty")
    return text
