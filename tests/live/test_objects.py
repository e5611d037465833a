"""Objects in a folder and in S3."""

from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from moto import mock_aws

from tradewind.live.objects import LocalObjects, ObjectError, S3Objects, open_objects
from tradewind.model.units import SECOND

NOW = 10**15


def test_an_address_is_good_for_one_method_one_object_and_a_while(tmp_path: Path) -> None:
    objects = LocalObjects(tmp_path, "secret")
    address = httpx.URL(objects.address("GET", "a/b", NOW, 10 * SECOND))
    expires, signature = int(address.params["expires"]), address.params["signature"]
    assert objects.is_signed("GET", "a/b", expires, signature, NOW)
    assert objects.is_signed("GET", "a/b", expires, signature, NOW + 10 * SECOND)
    assert not objects.is_signed("GET", "a/b", expires, signature, NOW + 11 * SECOND)
    assert not objects.is_signed("PUT", "a/b", expires, signature, NOW)
    assert not objects.is_signed("GET", "a/c", expires, signature, NOW)
    assert not objects.is_signed("GET", "a/b", expires + 1, signature, NOW)
    assert not LocalObjects(tmp_path, "other").is_signed("GET", "a/b", expires, signature, NOW)


@pytest.mark.parametrize("key", ["../x", "a/../../x", "/x", "a//b", ".hidden", "a/.b", "", "a\0b"])
def test_no_key_leads_out_of_the_folder(tmp_path: Path, key: str) -> None:
    with pytest.raises(ObjectError):
        LocalObjects(tmp_path, "secret").write(key, b"x")


def test_s3_signs_addresses_of_its_own(tmp_path: Path) -> None:
    with mock_aws():
        client: Any = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket="bucket")
        objects = S3Objects("bucket", "some/where", client)
        objects.write("a", b"content")
        assert objects.read("a") == b"content"
        assert objects.has("a")
        assert not objects.has("b")
        with pytest.raises(ObjectError, match="'b'"):
            objects.read("b")
        address = httpx.URL(objects.address("PUT", "c", NOW, 90 * SECOND))
        assert "some/where/c" in address.path
        assert {name.lower() for name in address.params} & {"x-amz-expires", "expires"}
        objects.write("pieces", iter([b"one", b"two"]))
        assert (objects.read("pieces"), objects.size("pieces")) == (b"onetwo", 6)
        with pytest.raises(ObjectError, match="'b'"):
            objects.size("b")
    assert isinstance(open_objects("", tmp_path, "s"), LocalObjects)


def test_what_is_relied_upon_in_s3_is_not_what_an_address_can_overwrite() -> None:
    with mock_aws():
        client: Any = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket="bucket")
        objects = S3Objects("bucket", "some/where", client)
        with pytest.raises(ObjectError, match="not been uploaded"):
            objects.keep("results/j/0/1")
        objects.write("results/j/0/1", b"first")
        kept = objects.keep("results/j/0/1")
        assert objects.keep("results/j/0/1") == kept, "a report that is sent again finds the same"
        objects.write("results/j/0/1", b"evil")  # as whoever still has the address can
        assert objects.read(kept) == b"first"
        assert objects.keep("results/j/0/1") != kept
        assert objects.read(kept) == b"first"
