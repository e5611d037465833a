"""The whole server with its objects in S3: workers use signed addresses, and hold no credentials."""

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from full_server import TIMES, FullServer, started
from moto.server import ThreadedMotoServer
from running import wait_for, worker

UPLOADS = """
import os, tradewind
assert "AWS_SECRET_ACCESS_KEY" not in os.environ, "a worker has no credentials"
given = open(os.environ["TRADEWIND_INPUT"]).read()
with tradewind.iterations(chunk=50) as it:
    for chunk in it:
        it.upload((given * len(chunk)).encode())
"""


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in (
        ("AWS_ENDPOINT_URL", f"http://{host}:{port}"),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
    ):
        monkeypatch.setenv(name, value)
    client: Any = boto3.client("s3")
    client.create_bucket(Bucket="bucket")
    try:
        yield client
    finally:
        client.close()
        server.stop()


def test_input_and_results_lie_in_s3_and_what_was_delivered_stays(
    tmp_path: Path, bucket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = FullServer(tmp_path, settings=f'{TIMES}objects = "s3://bucket/tradewind"\n')
    (tmp_path / "uploads.py").write_text(UPLOADS)
    with started(made):
        given = made.ask("POST", "/inputs")
        assert "X-Amz-Expires=1200" in given["url"]
        assert httpx.put(given["url"], content=b"ab").status_code == 200
        body = {"iterations": 200, "target": 20, "input": given["key"], "initial": 2, "maximum": 2}
        job = made.ask("POST", "/jobs", body | {"command": [sys.executable, str(tmp_path / "uploads.py")]})["id"]
        assert httpx.put(given["url"], content=b"evil").status_code == 200, "S3 itself would take it"
        token = made.site_token("a")
        for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
            monkeypatch.delenv(name)
        with worker(made.url, token):
            wait_for(lambda: made.ask("GET", f"/jobs/{job}")["state"] not in ("queued", "running"), within=90)
        assert made.ask("GET", f"/jobs/{job}")["state"] == "done"
        for found in bucket.list_objects_v2(Bucket="bucket", Prefix="tradewind/results/")["Contents"]:
            bucket.put_object(Bucket="bucket", Key=found["Key"], Body=b"evil")  # as with an address used again
        told = made.ask("GET", f"/jobs/{job}/results")
        assert httpx.get(told["url"]).content == b"ab" * 200
