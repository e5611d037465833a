"""Results of elastic units that are too large for a report, by signed addresses that expire.

On a local folder the service itself serves them; an address is good for one method on one object until a time, and
nobody can make one without the secret that lies in the store. On S3 the addresses are S3's own.

An address for writing can be used again until it expires. In a folder an object is written once. S3 would overwrite it,
so what is relied upon there is a copy, under a name that no address was ever signed for (`keep`).
"""

import hmac
import os
import secrets
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any, Literal, Protocol, TypeAlias

from tradewind.live.privacy import private_folder
from tradewind.model.errors import TradewindError
from tradewind.model.units import SECOND, Duration, Time

Method: TypeAlias = Literal["GET", "PUT"]

PREFIX = "/agent/v1/objects"
"""Where the service itself serves objects."""
GOOD_FOR: Duration = 20 * 60 * SECOND
"""How long an address can be used."""
_SPOOLED = 16 << 20
"""Bytes that are gathered in memory; more go to a file."""


class ObjectError(Exception):
    """An object that is not there, or cannot be written."""


class Objects(Protocol):
    """Where objects lie."""

    def address(self, method: Method, key: str, now: Time, good_for: Duration = GOOD_FOR) -> str:
        """A signed address; one that begins with a slash is meant on the service itself."""

    def read(self, key: str) -> bytes:
        """An object."""

    def write(self, key: str, content: bytes | Iterable[bytes]) -> None:
        """Write an object, whole or piece by piece; there may be one already."""

    def has(self, key: str) -> bool:
        """Whether an object is there."""

    def size(self, key: str) -> int:
        """Bytes of an object."""

    def keep(self, key: str) -> str:
        """The name under which what was uploaded can change no more, whoever still holds the address."""


class LocalObjects:
    """In a folder."""

    def __init__(self, folder: Path, secret: str, prefix: str = PREFIX) -> None:
        self._folder = folder
        self._secret = secret.encode()
        self._prefix = prefix

    def address(self, method: Method, key: str, now: Time, good_for: Duration = GOOD_FOR) -> str:
        """Signed with the secret."""
        expires = (now + good_for) // SECOND
        return f"{self._prefix}/{key}?expires={expires}&signature={self._sign(method, key, expires)}"

    def is_signed(self, method: str, key: str, expires: int, signature: str, now: Time) -> bool:
        """Whether an address is ours, for this method and object, and still good."""
        expected = self._sign(method, key, expires)
        return hmac.compare_digest(expected.encode(), signature.encode()) and now // SECOND <= expires

    def path(self, key: str) -> Path:
        """Where an object lies; keys cannot lead out of the folder."""
        parts = key.split("/")
        if not parts or any(not part or part.startswith(".") or "\\" in part or "\0" in part for part in parts):
            raise ObjectError(f"{key!r} is not the name of an object")
        return self._folder.joinpath(*parts)

    def read(self, key: str) -> bytes:
        """An object."""
        try:
            return self.path(key).read_bytes()
        except OSError:
            raise ObjectError(f"there is no object {key!r}") from None

    def write(self, key: str, content: bytes | Iterable[bytes]) -> None:
        """All of it or nothing."""
        path = self.path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            with draft.open("wb") as file:
                file.writelines([content] if isinstance(content, bytes) else content)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)

    def write_once(self, key: str, content: bytes) -> bool:
        """Write an object that is not there yet; False: there is another one. The same again is fine."""
        path = self.path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        draft.write_bytes(content)
        try:
            os.link(draft, path)
        except FileExistsError:
            return path.read_bytes() == content
        finally:
            draft.unlink()
        return True

    def has(self, key: str) -> bool:
        """Whether an object is there."""
        return self.path(key).is_file()

    def size(self, key: str) -> int:
        """Bytes of an object."""
        try:
            return self.path(key).stat().st_size
        except OSError:
            raise ObjectError(f"there is no object {key!r}") from None

    def keep(self, key: str) -> str:
        """Its own, for it is written once."""
        if not self.has(key):
            raise ObjectError(f"{key!r} has not been uploaded")
        return key

    def _sign(self, method: str, key: str, expires: int) -> str:
        return hmac.new(self._secret, f"{method}\n{key}\n{expires}".encode(), sha256).hexdigest()


class S3Objects:
    """In a bucket; workers talk to S3 directly, without credentials."""

    def __init__(self, bucket: str, prefix: str = "", client: Any = None) -> None:
        if client is None:
            import boto3  # noqa: PLC0415  an extra, and slow to load
            from botocore.config import Config  # noqa: PLC0415

            client = boto3.client("s3", config=Config(signature_version="s3v4"))
        self._client = client
        self._bucket = bucket
        self._prefix = prefix.strip("/")

    def address(self, method: Method, key: str, now: Time, good_for: Duration = GOOD_FOR) -> str:  # noqa: ARG002
        """Signed by S3's own rules, from now on."""
        verb = "get_object" if method == "GET" else "put_object"
        where = {"Bucket": self._bucket, "Key": self._key(key)}
        address: str = self._client.generate_presigned_url(verb, Params=where, ExpiresIn=good_for // SECOND)
        return address

    def read(self, key: str) -> bytes:
        """An object."""
        try:
            found = self._client.get_object(Bucket=self._bucket, Key=self._key(key))
        except self._client.exceptions.ClientError as error:
            raise ObjectError(f"there is no object {key!r}") from error
        content: bytes = found["Body"].read()
        return content

    def write(self, key: str, content: bytes | Iterable[bytes]) -> None:
        """Write an object; what comes piece by piece is gathered in a file first."""
        if isinstance(content, bytes):
            self._client.put_object(Bucket=self._bucket, Key=self._key(key), Body=content)
            return
        with SpooledTemporaryFile(_SPOOLED) as file:
            file.writelines(content)
            file.seek(0)
            self._client.upload_fileobj(file, self._bucket, self._key(key))

    def has(self, key: str) -> bool:
        """Whether an object is there."""
        try:
            self._client.head_object(Bucket=self._bucket, Key=self._key(key))
        except self._client.exceptions.ClientError:
            return False
        return True

    def size(self, key: str) -> int:
        """Bytes of an object."""
        try:
            length: int = self._client.head_object(Bucket=self._bucket, Key=self._key(key))["ContentLength"]
        except self._client.exceptions.ClientError as error:
            raise ObjectError(f"there is no object {key!r}") from error
        return length

    def keep(self, key: str) -> str:
        """A copy, named after its content: the same upload again is the same copy."""
        source = {"Bucket": self._bucket, "Key": self._key(key)}
        try:
            etag = self._client.head_object(**source)["ETag"]
            kept = f"kept/{key}/{etag.strip(chr(34))}"
            self._client.copy_object(
                Bucket=self._bucket, Key=self._key(kept), CopySource=source, CopySourceIfMatch=etag
            )
        except self._client.exceptions.ClientError as error:
            raise ObjectError(f"{key!r} has not been uploaded, or is just being overwritten") from error
        return kept

    def _key(self, key: str) -> str:
        return f"{self._prefix}/{key}" if self._prefix else key


def open_objects(where: str, folder: Path, secret: str, prefix: str = PREFIX) -> Objects:
    """Objects in `s3://BUCKET/PREFIX`, or in a folder."""
    if where.startswith("s3://"):
        bucket, _, prefix = where.removeprefix("s3://").partition("/")
        try:
            return S3Objects(bucket, prefix)
        except ImportError as error:
            raise TradewindError(
                f"objects in S3 need another package ({error}); pip install 'tradewind[s3]'"
            ) from error
    private_folder(Path(where) if where else folder, is_ours=not where)
    return LocalObjects(Path(where) if where else folder, secret, prefix)
