"""A submission as a request: the document as it stands in its file, with the files that it includes."""

import re
import uuid
from pathlib import Path
from typing import Any

import yaml

from tradewind.client.backend import Submission
from tradewind.client.errors import ClientError

_GZIP = b"\x1f\x8b"
_INCLUDE = "include"
_LONGEST = 200
"""Characters of a name that servers take."""


def request(submission: Submission) -> dict[str, Any]:
    """What to post: JSON with the document's text, or a compressed document as it is."""
    headers = {"Idempotency-Key": submission.key or uuid.uuid4().hex}
    data = _read(submission.file)
    if data.startswith(_GZIP):
        given = {key: value for key, value in _options(submission).items() if value is not None}
        return {
            "content": data,
            "headers": headers | {"Content-Type": "application/octet-stream"},
            "params": given | {"parameter": [f"{name}={value}" for name, value in submission.parameters.items()]},
        }
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise ClientError(f"{submission.file} is not text") from None
    body: dict[str, Any] = {"workflow": text}
    if files := _included(submission.file, text) | _services(submission.file, text):
        body["files"] = files
    if submission.parameters:
        body["parameters"] = dict(submission.parameters)
    body |= {key: value for key, value in _options(submission).items() if value is not None}
    return {"json": body, "headers": headers}


def _options(submission: Submission) -> dict[str, Any]:
    return {
        "name": submission.name,
        "file": re.sub(r"[\x00-\x1f\x7f]", "?", submission.file.name)[-_LONGEST:],
        "priority": submission.priority,
        "deadline": submission.deadline,
        "tenant": submission.tenant,
        "keep_going": submission.keep_going or None,
        "cache": None if submission.uses_cache else False,
    }


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except IsADirectoryError:
        raise ClientError(f"{file} is a folder, not a workflow") from None


def _services(file: Path, text: str) -> dict[str, str]:
    """The texts of the services and macros beside a workflow of Steep."""
    if "api" not in text or "actions" not in text:
        return {}
    from tradewind.formats.steep_services import files_of_services  # noqa: PLC0415 - seldom needed

    return {str(path.relative_to(file.parent)): path.read_text() for path in files_of_services(file.parent, None)}


def _included(file: Path, text: str) -> dict[str, str]:
    """The texts of all files that a program includes, by their paths from its own folder."""
    if _INCLUDE not in text:
        return {}
    root = file.parent
    found: dict[str, str] = {}
    waiting = [(file, text)]
    while waiting:
        path, content = waiting.pop()
        for name in _names(content):
            target = path.parent / name
            key = str(target.relative_to(root)) if target.is_relative_to(root) else str(target)
            if key not in found and target.is_file():
                found[key] = target.read_text()
                waiting.append((target, found[key]))
    return found


def _names(text: str) -> list[str]:
    try:
        waiting: list[Any] = [yaml.safe_load(text)]
    except yaml.YAMLError:
        return []  # the server says what is wrong, and where
    names = []
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(value.get(_INCLUDE), str):
                names.append(value[_INCLUDE])
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return names
