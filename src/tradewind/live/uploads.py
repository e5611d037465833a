"""Files that came with submissions, kept by what is in them: `inputs/TENANT/DIGEST/NAME`.

Equal files of a tenant are kept once, under the same path, so that the cache recognises them.
"""

import os
import re
from hashlib import sha256
from pathlib import Path

from tradewind.live.privacy import private_folder
from tradewind.model.errors import TradewindError

INPUTS = "inputs"
_LONGEST = 255
"""Bytes of a name that file systems take."""
_ODD = re.compile(r"[^\w.-]", re.ASCII)


class UploadError(TradewindError):
    """A file that cannot be kept."""


def keep(folder: Path, tenant: str, name: str, data: bytes) -> str:
    """Keep a file in a server's folder; its path."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise UploadError(f"{name!r} cannot be the name of a file")
    if len(name.encode()) > _LONGEST:
        raise UploadError(f"{name[:20] + '…'!r} is too long for the name of a file: more than {_LONGEST} bytes")
    path = folder_of(folder, tenant) / sha256(data).hexdigest() / name
    if not path.exists():
        private_folder(folder / INPUTS, is_ours=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{os.urandom(8).hex()}")
        try:
            with part.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())  # the submission that needs it is about to be durable
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    return str(path)


def folder_of(folder: Path, tenant: str) -> Path:
    """Where in a server's folder the files of a tenant are kept."""
    return folder / INPUTS / f"{_ODD.sub('_', tenant)}-{sha256(tenant.encode()).hexdigest()[:8]}"
