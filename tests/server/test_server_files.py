"""Logs and artefacts over REST."""

import http.client
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from server_rig import HANGS, Site, awaited, submitted

from tradewind.live.artefacts import ArtefactError, Artefacts


class Case:
    """A run whose first task has left files."""

    def __init__(self, site: Site) -> None:
        self.client = site.client()
        self.run = submitted(self.client, HANGS)["id"]
        tasks = self.client.get(f"/runs/{self.run}/tasks").json()["items"]
        self.task = f"/runs/{self.run}/tasks/{tasks[0]['number']}"
        self.at = f"{self.task}/attempts/last"
        self.folder = site.context.artefacts.root / self.run / "hang.1"
        for _ in range(2_000):
            if self.client.get(self.at).status_code == 200 and (self.folder / "out").exists():
                break
            time.sleep(0.005)


@pytest.fixture(scope="module")
def case(site: Site) -> Case:
    made = Case(site)
    (made.folder / "1-trim").mkdir()
    (made.folder / "1-trim" / "err").write_text("one\ntwo\nthree\n")
    (made.folder / "data.bin").write_bytes(bytes(range(256)) * 4)
    (made.folder / "ünï cödé.txt").write_text("x")
    (made.folder / "out-link").symlink_to("/etc/passwd")
    (made.folder / "folder-link").symlink_to("/etc")
    os.mkfifo(made.folder / "pipe")
    return made


def test_files_are_listed_and_fetched(case: Case) -> None:
    files = {file["path"]: file["bytes"] for file in case.client.get(f"{case.at}/artefacts").json()["items"]}
    assert files == {"1-trim/err": 14, "data.bin": 1024, "out": 13, "ünï cödé.txt": 1}
    for path, size in files.items():
        answer = case.client.get(f"{case.at}/artefacts/{path}")
        assert (answer.status_code, len(answer.content)) == (200, size)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-disposition"].startswith("attachment")
    logs = case.client.get(f"{case.at}/logs").json()["items"]
    assert [log["name"] for log in logs] == ["1-trim/err", "out"]
    assert case.client.get(f"{case.at}/logs/out").text == "this is hang\n"
    assert case.client.get(f"{case.at}/logs/1-trim/err", params={"tail": 2}).text == "two\nthree\n"
    assert case.client.get(f"{case.at}/logs/data.bin").status_code == 404
    assert case.client.get(f"{case.task}/attempts/1").json()["outcome"] == "running"
    assert case.client.get(f"{case.task}/attempts/2").status_code == 404
    assert case.client.get(f"{case.task}/attempts/x").status_code == 422


@pytest.mark.parametrize(
    ("asked", "status", "first", "length"),
    [
        ("bytes=0-9", 206, 0, 10),
        ("bytes=1000-", 206, 1000, 24),
        ("bytes=-4", 206, 1020, 4),
        ("bytes=1020-99999", 206, 1020, 4),
        ("bytes=1024-", 416, 0, 0),
        ("bytes=9-3", 416, 0, 0),
        ("bytes=a-b", 416, 0, 0),
        ("lines=1-2", 416, 0, 0),
        ("bytes=0-1,5-6", 416, 0, 0),
    ],
)
def test_ranges(case: Case, asked: str, status: int, first: int, length: int) -> None:
    answer = case.client.get(f"{case.at}/artefacts/data.bin", headers={"Range": asked})
    assert answer.status_code == status
    if status == 206:
        whole = bytes(range(256)) * 4
        assert answer.content == whole[first : first + length]
        assert answer.headers["content-range"] == f"bytes {first}-{first + length - 1}/1024"
    else:
        assert answer.headers["content-range"] == "bytes */1024"


@pytest.mark.parametrize(
    "path",
    [
        "../2/out",
        "..",
        ".",
        "a/../../../../../store.db",
        "%2e%2e/%2e%2e/%2e%2e/store.db",
        "..%2f..%2f..%2f..%2fstore.db",
        "%252e%252e/out",
        "/etc/passwd",
        "//etc/passwd",
        "out-link",
        "folder-link/passwd",
        "pipe",
        "1-trim",
        "..\\..\\x",
        "out%00.txt",
        "no such",
    ],
)
def test_no_path_leads_out_of_the_folder(case: Case, site: Site, path: str) -> None:
    for noun in ("artefacts", "logs"):
        connection = http.client.HTTPConnection(site.url.removeprefix("http://"))  # sends a path as it is
        headers = {"Authorization": f"Bearer {site.token}"}
        connection.request("GET", f"/api/v1{case.at}/{noun}/{path.replace(' ', '%20')}", headers=headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        assert answer.status in (404, 422), (path, text)
        assert b"root:" not in text
        assert answer.headers["content-type"] == "application/problem+json"


def test_a_log_is_followed_to_its_end(site: Site) -> None:
    case = Case(site)
    out = case.folder / "out"
    seen: list[tuple[str, Any]] = []

    def write() -> None:
        with out.open("ab") as opened:
            for part in ("more ünï".encode()[:-1], "ï".encode()[-1:] + b"\n"):
                opened.write(part)
                opened.flush()
                threading.Event().wait(0.4)
        case.client.post(f"/runs/{case.run}/cancel")

    writer = threading.Thread(target=write)
    with site.client().stream("GET", f"{case.at}/logs/out", params={"follow": "true"}) as stream:
        writer.start()
        event = ""
        for line in stream.iter_lines():
            if line.startswith("event: "):
                event = line[7:]
            elif line.startswith("data: "):
                seen.append((event, json.loads(line[6:])))
    writer.join()
    assert "".join(text for event, text in seen if event == "text") == "this is hang\nmore ünï\n"
    assert seen[-1] == ("end", {"outcome": "cancelled"})
    with site.client().stream(
        "GET", f"{case.at}/logs/out", params={"follow": "true"}, headers={"Last-Event-ID": "13"}
    ) as stream:
        assert json.loads(next(line for line in stream.iter_lines() if line.startswith("data"))[6:]) == "more ünï\n"


@pytest.mark.parametrize("id", ["9" * 23, "-1", "x", "1-2"])
def test_a_log_is_not_followed_from_a_place_that_is_none(site: Site, id: str) -> None:
    case = Case(site)
    answer = site.client().get(f"{case.at}/logs/out", params={"follow": "true"}, headers={"Last-Event-ID": id})
    assert (answer.status_code, answer.json()["detail"]) == (422, "this is not the id of an event")


def test_files_are_copied_to_an_address_and_found_there(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    folder = root / "run-1" / "a.1"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "f").write_text("hello")
    (folder / "out").write_text("hi\n")
    artefacts = Artefacts(root, f"memory://{tmp_path.name}")
    assert artefacts.keep(str(folder)) == 2
    here = [(file.path, file.bytes) for file in artefacts.files(str(folder))]
    for file in (folder / "sub" / "f", folder / "out"):
        file.unlink()
    (folder / "sub").rmdir()
    folder.rmdir()
    assert [(file.path, file.bytes) for file in artefacts.files(str(folder))] == here == [("out", 3), ("sub/f", 5)]
    with artefacts.open(str(folder), "sub/f") as opened:
        assert opened.read() == b"hello"
    assert artefacts.file(str(folder), "sub/f") is not None
    assert artefacts.file(str(folder), "../a.1/out") is None
    with pytest.raises(FileNotFoundError):
        artefacts.open(str(folder), "nothing")
    artefacts.forget("run-1")
    assert artefacts.files(str(folder)) == []
    with pytest.raises(ArtefactError):
        Artefacts(root, "nonsense://x")


@pytest.fixture(scope="module", autouse=True)
def _ended(site: Site, case: Case) -> None:
    awaited(case.client, case.run, "active")
