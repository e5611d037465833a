"""The bytes of a file: unpacked, bounded, and as text.

Everything that can be wrong before a format is known is found here: the file is missing, is a folder, may not be read,
is cut short, or would unpack to more than memory holds.
"""

import zlib
from dataclasses import dataclass
from pathlib import Path

from tradewind.formats.errors import FormatError

LARGEST = 2 * 1024**3
"""How many bytes a file may have once it is unpacked."""

_GZIP = b"\x1f\x8b"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """A file that was read."""

    file: str
    """As the user named it."""
    text: str


def read_source(path: str | Path, *, largest: int = LARGEST) -> Source:
    """Read a file as text, unpacking it where it is compressed."""
    file = str(path)
    return source_of(_read(path, file, largest), file, largest=largest)


def source_of(raw: bytes, file: str, *, largest: int = LARGEST) -> Source:
    """Bytes as text, unpacked where they are compressed."""
    return Source(file, _decode(unpack(raw, file, largest=largest), file))


def unpack(raw: bytes, file: str, *, largest: int = LARGEST) -> bytes:
    """What a gzip file holds, member after member; other bytes as they are."""
    if not raw.startswith(_GZIP):
        return raw
    parts: list[bytes] = []
    size = 0
    rest = raw
    while rest.startswith(_GZIP):
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            try:
                part = member.decompress(rest, _CHUNK)
            except zlib.error as error:
                raise FormatError(file, f"the gzip data are damaged ({error})") from None
            rest = member.unconsumed_tail
            size += len(part)
            if size > largest:
                raise FormatError(file, f"unpacks to more than {largest:,} bytes", remedy="split the file")
            parts.append(part)
            if not part and not member.eof:
                raise FormatError(file, "the gzip data end too early", remedy="the file was cut short; fetch it again")
        rest = member.unused_data.lstrip(b"\0")
    if rest:
        raise FormatError(file, "something that is no gzip data follows the gzip data")
    return b"".join(parts)


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
    except (OSError, ValueError) as error:  # ValueError: a zero byte or half a character in the path
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
        raise FormatError(file, "holds zero bytes; this is no text file", line=line)
    if not text.strip():
        raise FormatError(file, "is empty")
    return text
