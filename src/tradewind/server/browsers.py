"""Keep web pages away from a server without access control.

A browser on the same host sends whatever a page from elsewhere tells it to: scripts, forms, sandboxed frames. It always
says so: in `Origin`, in `Sec-Fetch-Site`, or by one of the few content types that a page may send without asking first.
A page whose name was made to point to this host gives itself away by `Host`.
"""

from collections.abc import Mapping

from tradewind.server.problems import Problem
from tradewind.server.settings import is_loopback

_OURS = frozenset({"", "same-origin", "none"})
"""`Sec-Fetch-Site` of a page of our own, of an address typed in, and of programs that are no browser."""
_TYPES = frozenset(
    {
        "application/json",
        "application/yaml",
        "application/x-yaml",
        "text/yaml",
        "text/x-yaml",
        "application/octet-stream",  # compressed documents
    }
)
"""A page from elsewhere needs our consent to send any of these, and never gets it."""


def check(scheme: str, method: str, headers: Mapping[bytes, bytes]) -> None:
    """Refuse what a page from elsewhere may have caused."""
    host = _text(headers, b"host")
    if not is_loopback(_name_of(host)):
        raise Problem(403, f"without access control only this host is served, not {host[:100]!r}")
    origin = headers.get(b"origin")
    if origin is not None and origin.decode("latin-1").lower() != f"{scheme}://{host}":
        raise Problem(403, "without access control no web page from elsewhere is served")
    if _text(headers, b"sec-fetch-site") not in _OURS:
        raise Problem(403, "without access control no web page from elsewhere is served")
    declared = _text(headers, b"content-type").partition(";")[0].strip()
    has_body = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
    if (declared or has_body) and declared not in _TYPES and method not in ("GET", "HEAD"):
        raise Problem(415, "without access control send Content-Type: application/json, or application/yaml")


def _name_of(host: str) -> str:
    """A host without its port."""
    return host if host.endswith("]") else host.rsplit(":", 1)[0]


def _text(headers: Mapping[bytes, bytes], name: bytes) -> str:
    return headers.get(name, b"").decode("latin-1").strip().lower()
